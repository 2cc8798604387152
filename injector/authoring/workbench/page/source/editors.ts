// The template's files in editors. What an editor knows of them comes from the language server alone.

import {
  autocompletion, closeBrackets, closeBracketsKeymap, closeCompletion, completionKeymap, selectedCompletion,
} from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { jinja } from "@codemirror/lang-jinja";
import { yaml } from "@codemirror/lang-yaml";
import {
  HighlightStyle, bracketMatching, indentOnInput, indentService, indentUnit, syntaxHighlighting,
} from "@codemirror/language";
import { type Diagnostic, lintKeymap, nextDiagnostic, setDiagnostics } from "@codemirror/lint";
import {
  LSPClient, LSPPlugin, Workspace, type WorkspaceFile, findReferencesKeymap, hoverTooltips, jumpToDefinitionKeymap,
  renameKeymap, serverCompletion,
} from "@codemirror/lsp-client";
import { highlightSelectionMatches, searchKeymap } from "@codemirror/search";
import { type ChangeSpec, EditorState, type Extension, Prec, RangeSetBuilder, type Text } from "@codemirror/state";
import {
  Decoration, EditorView, drawSelection, highlightActiveLine, keymap, lineNumbers,
} from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { type Tabs, ask, byId, element } from "./elements";

interface Position { line: number; character: number }
interface Range { start: Position; end: Position }
export interface LspDiagnostic {
  range: Range; severity?: number; code?: string; source?: string; message: string;
  codeDescription?: { href: string }; data?: unknown;
}
interface TextEdit { range: Range; newText: string }
interface CodeAction {
  title: string; edit?: { changes?: Record<string, TextEdit[]> }; isPreferred?: boolean; diagnostics?: LspDiagnostic[];
}

/** A file in its editor: `etag` is that of the content on disk that it is based on, "" for a new file. */
export class OpenFile implements WorkspaceFile {
  version = 0;
  saved: Text;
  conflict = false;
  problems: LspDiagnostic[] = [];
  fixes: CodeAction[] = [];

  constructor(readonly path: string, readonly uri: string, readonly languageId: string, public doc: Text,
              readonly view: EditorView, public etag: string, public lineEnd: string) {
    this.saved = etag === "" ? EditorState.create().doc : doc;
  }

  getView(): EditorView { return this.view; }
  /** The text as it is on disk once it is saved: an editor has only one kind of line end. */
  get text(): string { return this.view.state.doc.toString().replaceAll("\n", this.lineEnd || "\n"); }
  get modified(): boolean { return this.etag === "" || !this.view.state.doc.eq(this.saved); }
}

const highlighting = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], class: "hl-key" },
  { tag: [tags.string, tags.special(tags.string)], class: "hl-string" },
  { tag: [tags.number, tags.bool, tags.null, tags.atom], class: "hl-value" },
  { tag: [tags.keyword, tags.operatorKeyword, tags.controlKeyword], class: "hl-keyword" },
  { tag: [tags.comment, tags.lineComment, tags.blockComment], class: "hl-comment" },
]);

/** Styles of the editors; the colours are those of the page. */
const theme = EditorView.theme({
  "&": { color: "var(--text)", backgroundColor: "var(--background)", height: "100%", fontSize: "0.875rem" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.5" },
  ".cm-gutters": { color: "var(--muted)", backgroundColor: "var(--background)", borderRight: "1px solid var(--border)" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "var(--surface)" },
  ".cm-cursor": { borderLeftColor: "var(--text)", borderLeftWidth: "2px" },
  "&.cm-focused .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "color-mix(in srgb, var(--accent) 25%, var(--background)) !important" },
  "&.cm-focused": { outline: "2px solid var(--accent)", outlineOffset: "-2px" },
  ".cm-tooltip, .cm-panels": { color: "var(--text)", backgroundColor: "var(--surface)", border: "1px solid var(--border)" },
  ".cm-tooltip-autocomplete > ul > li[aria-selected]": { color: "var(--background)", backgroundColor: "var(--accent)" },
  ".cm-panels": { fontSize: "0.875rem" },
  ".cm-button": { color: "var(--text)", backgroundImage: "none", backgroundColor: "var(--background)", border: "1px solid var(--border)" },
  ".cm-textfield": { color: "var(--text)", backgroundColor: "var(--background)", border: "1px solid var(--border)" },
  ".cm-diagnosticText": { whiteSpace: "pre-wrap" },
  ".cm-diagnosticAction": { color: "var(--background)", backgroundColor: "var(--accent)" },
  ".cm-deletedChunk": { backgroundColor: "var(--removed)" },
  "&.cm-merge-b .cm-changedLine, .cm-insertedLine": { backgroundColor: "var(--added)" },
  // a line that is new says so by its colour
  "&.cm-merge-b .cm-changedText": { background: "none" },
  ".cm-collapsedLines": { color: "var(--text)", background: "var(--surface)" },
});

const nonce = document.querySelector<HTMLMetaElement>("meta[name=nonce]")?.content ?? "";

/** A line that is wrapped goes on to the right of where its text begins, which may be as many blanks as `farthest`. */
const farthest = 20;
const hangingIndent = [
  EditorView.theme(Object.fromEntries([...Array(farthest + 1).keys()].map((blanks) => [
    `.hanging-${blanks}`, { paddingLeft: `calc(${blanks + 2}ch + 6px)`, textIndent: `-${blanks + 2}ch` }]))),
  EditorView.decorations.of((view) => {
    const lines = new RangeSetBuilder<Decoration>();
    for (const { from, to } of view.visibleRanges) {
      for (let line = view.state.doc.lineAt(from); ; line = view.state.doc.line(line.number + 1)) {
        const blanks = Math.min(/^[ -]*/.exec(line.text)?.[0].length ?? 0, farthest);
        lines.add(line.from, line.from, Decoration.line({ class: `hanging-${blanks}` }));
        if (line.to >= to) break;
      }
    }
    return lines.finish();
  }),
];

/** What every editor of the page has, to write in or only to read. */
export function common(label: string): Extension {
  return [
    EditorView.cspNonce.of(nonce), theme, syntaxHighlighting(highlighting), EditorView.lineWrapping, hangingIndent,
    EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0" }),
  ];
}

export function language(path: string): Extension {
  const base = /\.(ya?ml|json)(\.j2)?$/.test(path) ? yaml() : undefined;
  if (!path.endsWith(".j2")) return [base ?? [], indentation];
  // the language alone: what comes with it completes words that no template knows, and closes `{%` a second time
  const { language } = jinja(base && { base });
  return [language, language.data.of({ indentOnInput: /^\s*\{%-?\s*end(if|for|macro|call|set)$/ }), indentation];
}

/** Where a line begins: after `key:` deeper, also where nothing is below it yet; what is of Jinja does not change it. */
const indentation = indentService.of((context, position) => {
  if (context.simulatedBreak === null) return undefined;
  const [, blanks = "", dashes = "", text = ""] = /^( *)((?:- +)*)(.*?)(?:\s+#.*)?\s*$/.exec(context.lineAt(position, -1).text) ?? [];
  const column = blanks.length + dashes.length;
  if (text.endsWith(":") && !text.startsWith("#")) return column + context.unit;
  if (text.startsWith("{%") || /:\s.*\}\}/.test(text)) return column;
  return text.includes("}}") ? blanks.length : undefined;
});

/** Where what is selected to complete stands there whole already, Enter ends the line as it does without a list. */
function closeWhole(view: EditorView): boolean {
  const { head } = view.state.selection.main;
  const { label = "", apply = label } = selectedCompletion(view.state) ?? {};
  if (label !== "" && view.state.sliceDoc(head - label.length, head) === apply) closeCompletion(view);
  return false;
}

const languageIds: [RegExp, string][] = [[/\.j2$/, "jinja"], [/\.ya?ml$/, "yaml"], [/\.md$/, "markdown"]];

/** All files of a template, in the one way that the language server's client and the page see them. */
export class Files extends Workspace {
  files: OpenFile[] = [];
  changed: () => void = () => {};
  /** What each rule of the linter is about, by its name. */
  explanations: Record<string, string> = {};
  private tabs: Tabs | undefined;
  private folder = "";

  begin(tabs: Tabs, folder: string): void {
    this.tabs = tabs;
    this.folder = folder.endsWith("/") ? folder : `${folder}/`;
  }

  /** Open a file in an editor of its own. */
  add(path: string, text: string, etag: string): OpenFile {
    const panel = this.tabs?.add(path);
    const uri = this.folder + path.split("/").map(encodeURIComponent).join("/");
    const id = languageIds.find(([pattern]) => pattern.test(path))?.[1] ?? "plaintext";
    const state = EditorState.create({
      doc: text,
      extensions: [
        Prec.highest(keymap.of([{ key: "Enter", run: closeWhole }])), this.client.plugin(uri, id), common(path), lineNumbers(), history(), drawSelection(), highlightActiveLine(), bracketMatching(),
        closeBrackets(), indentOnInput(), highlightSelectionMatches(), indentUnit.of("  "), language(path), autocompletion(),
        keymap.of([
          { key: "F8", run: nextDiagnostic }, ...renameKeymap, ...jumpToDefinitionKeymap, ...findReferencesKeymap,
          ...closeBracketsKeymap, ...completionKeymap, ...lintKeymap, ...searchKeymap, ...historyKeymap, ...defaultKeymap,
        ]),
        EditorView.updateListener.of((update) => {
          if (!update.docChanged) return;
          for (const each of this.files) each.fixes = [];
          this.changed();
        }),
      ],
    });
    const view = new EditorView({ state, ...(panel === undefined ? {} : { parent: panel }) });
    const file = new OpenFile(path, uri, id, view.state.doc, view, etag, lineEnd(text));
    this.files.push(file);
    if (this.client.serverCapabilities !== null) this.client.didOpen(file);
    return file;
  }

  override getFile(uri: string): OpenFile | null {
    const wanted = decodeURIComponent(uri);
    return this.files.find((file) => decodeURIComponent(file.uri) === wanted) ?? null;
  }

  get current(): OpenFile | undefined { return this.at(this.tabs?.current ?? ""); }

  /** Show a place of a file, both numbers from 1. */
  async go(path: string, line: number, column: number): Promise<void> {
    const file = this.at(path);
    const view = file === undefined ? null : await this.displayFile(file.uri);
    if (view === null) return;
    const { from, to } = view.state.doc.line(Math.max(1, Math.min(line, view.state.doc.lines)));
    view.dispatch({ selection: { anchor: Math.min(from + Math.max(column - 1, 0), to) }, scrollIntoView: true });
    view.focus();
  }

  /** Close a file that is no longer there. */
  remove(file: OpenFile): void {
    this.files = this.files.filter((each) => each !== file);
    this.client.didClose(file.uri);
    file.view.destroy();
    this.tabs?.remove(file.path);
    this.changed();
  }

  at(path: string): OpenFile | undefined { return this.files.find((file) => file.path === path); }

  syncFiles() {
    const updates = [];
    for (const file of this.files) {
      const plugin = LSPPlugin.get(file.view);
      if (plugin === null || plugin.unsyncedChanges.empty) continue;
      updates.push({ file, prevDoc: file.doc, changes: plugin.unsyncedChanges });
      file.doc = file.view.state.doc;
      file.version += 1;
      plugin.clear();
    }
    return updates;
  }

  openFile(): void { /* `add` and `connected` open all of them, whether they show or not */ }
  closeFile(): void { /* a file stays open as long as the page */ }
  override disconnected(): void { for (const file of this.files) file.problems = []; }

  override async displayFile(uri: string): Promise<EditorView | null> {
    const file = this.getFile(uri);
    if (file === null) return null;
    this.tabs?.select(file.path);
    return file.view;
  }

  /** Take in what the language server finds in a file: underlined in its editor, with the quick fixes that it knows. */
  async show(uri: string, problems: LspDiagnostic[]): Promise<void> {
    const file = this.getFile(uri);
    if (file === null) return;
    file.problems = problems;
    file.fixes = [];
    this.underline(file);
    if (problems.length === 0) return;
    const params = { textDocument: { uri: file.uri }, range: whole(file.view.state), context: { diagnostics: problems } };
    const actions = await this.client.request<unknown, CodeAction[] | null>("textDocument/codeAction", params);
    if (file.problems !== problems) return;
    file.fixes = actions ?? [];
    this.underline(file);
  }

  /** The quick fixes for a problem: what each is called, and what makes its changes. */
  fixesFor(file: OpenFile, problem: LspDiagnostic): { name: string; apply: () => void }[] {
    return file.fixes.filter((action) => isFor(action, problem)).map((action) => ({
      // an edit is for the very texts that it was made for
      name: action.title, apply: () => { if (file.fixes.includes(action)) void this.applyAsked(action.edit?.changes ?? {}); },
    }));
  }

  private underline(file: OpenFile): void {
    const plugin = LSPPlugin.get(file.view);
    if (plugin === null) return;
    const place = (position: Position) => {
      const old = plugin.syncedDoc;  // a problem may be of the text before it, which had more
      const line = Math.min(position.line, old.lines - 1);
      const within = { line, character: Math.min(position.character, old.line(line + 1).length) };
      return plugin.unsyncedChanges.mapPos(plugin.fromPosition(within, old));
    };
    const diagnostics = file.problems.map((problem): Diagnostic => ({
      from: place(problem.range.start), to: place(problem.range.end), message: problem.message,
      severity: severity(problem), source: problem.code ?? "",
      actions: this.fixesFor(file, problem),
    }));
    file.view.dispatch(setDiagnostics(file.view.state, diagnostics));
  }

  /** Make the changes of a quick fix; where one needs a reason, ask for it. */
  private async applyAsked(changes: Record<string, TextEdit[]>): Promise<void> {
    const edits = Object.values(changes).flat();
    if (edits.some((edit) => / REASON\b/.test(edit.newText))) {
      const input = element("input", { id: "reason", required: true, autocomplete: "off" });
      const body = element("div", { class: "field" }, element("label", { for: "reason" }, "Why it is right here"), input);
      const answer = await ask("Switch a rule off", "The reason stands in the comment, for whoever reads the template next.", { yes: "Switch it off" }, body);
      if (answer !== "yes") return;
      for (const edit of edits) edit.newText = edit.newText.replace(/ REASON\b/, () => ` ${input.value.trim()}`);
    }
    this.apply(changes);
  }

  private apply(changes: Record<string, TextEdit[]>): void {
    for (const [uri, edits] of Object.entries(changes)) {
      const view = this.getFile(uri)?.view;
      const plugin = view === undefined ? null : LSPPlugin.get(view);
      if (view === undefined || plugin === null) continue;
      view.dispatch({
        changes: edits.map((edit): ChangeSpec => ({
          from: plugin.fromPosition(edit.range.start), to: plugin.fromPosition(edit.range.end), insert: edit.newText,
        })),
        userEvent: "input.fix",
      });
    }
  }
}

/** The line end of a text; "" where it has more than one kind. */
export function lineEnd(text: string): string {
  const kinds = new Set(text.match(/\r\n|\n|\r/g));
  return kinds.size > 1 ? "" : [...kinds][0] ?? "\n";
}

export function severity(problem: LspDiagnostic): "error" | "warning" | "info" | "hint" {
  return (["error", "warning", "info", "hint"] as const)[(problem.severity ?? 1) - 1] ?? "info";
}

function isFor(action: CodeAction, problem: LspDiagnostic): boolean {
  const own = action.diagnostics ?? [];
  return own.some((each) => each.code === problem.code && JSON.stringify(each.range) === JSON.stringify(problem.range));
}

function whole(state: EditorState): Range {
  const last = state.doc.line(state.doc.lines);
  return { start: { line: 0, character: 0 }, end: { line: state.doc.lines - 1, character: last.length } };
}

/** The client of the language server, with the files of a template. */
export function makeClient(
  found: (files: Files, uri: string, problems: LspDiagnostic[]) => void, checked: (files: Files, whole: boolean) => void,
): LSPClient {
  return new LSPClient({
    timeout: 20000,
    workspace: (client) => new Files(client),
    // what a server says of a pod is text: no element of it gets into the page but those that Markdown makes
    sanitizeHTML: onlyText,
    notificationHandlers: {
      "textDocument/publishDiagnostics": (client, params) => {
        found(client.workspace as Files, params.uri, params.diagnostics);
        return true;
      },
      "$/injector/checked": (client, params) => {
        checked(client.workspace as Files, params.whole);
        return true;
      },
    },
    extensions: [serverCompletion(), hoverTooltips()],
  });
}

const markdownElements = new Set(
  ["P", "CODE", "PRE", "EM", "STRONG", "UL", "OL", "LI", "A", "BR", "HR", "H1", "H2", "H3", "H4", "SPAN", "TABLE", "THEAD",
    "TBODY", "TR", "TH", "TD", "BLOCKQUOTE"],
);

function onlyText(html: string): string {
  const page = new DOMParser().parseFromString(html, "text/html");
  for (const node of [...page.body.querySelectorAll("*")]) {
    if (!markdownElements.has(node.tagName)) node.replaceWith(page.createTextNode(node.outerHTML));
    for (const { name, value } of [...node.attributes]) {
      if (!(name === "class" || (name === "href" && /^https?:/.test(value)))) node.removeAttribute(name);
    }
  }
  return page.body.innerHTML;
}

/** The name of a rule: what opens what the rule is about; for an error that no rule finds only its name. */
function ruleName(name: string, about: string | undefined): HTMLElement | string {
  if (about === undefined) return name;
  const text = element("pre", { tabindex: 0, role: "region", "aria-label": name }, about);
  return element("button", { type: "button", class: "rule", title: "What this rule is about", click: () => void ask(name, "", {}, text) }, name);
}

let listed = "";

/** The list of all problems, each with a way to its place; whether these are all depends on the last whole check. */
export function listProblems(files: Files): void {
  const problems = files.files.flatMap((file) => file.problems.map((problem) => ({ file, problem })));
  const content = JSON.stringify(problems.map(({ file, problem }) => [
    file.path, problem, files.fixesFor(file, problem).length, (problem.code ?? "") in files.explanations]));
  if (content === listed) return;
  listed = content;
  const list = byId("problems");
  const focused = [...list.querySelectorAll("button")].indexOf(document.activeElement as HTMLButtonElement);
  list.replaceChildren(...problems.map(({ file, problem }) => {
    const { line, character } = problem.range.start;
    const kind = severity(problem);
    const [message = "", ...help] = problem.message.split("\n");
    return element("li", { class: kind },
      element("button", { type: "button", class: "place", click: () => void files.go(file.path, line + 1, character + 1) },
        `${file.path}:${line + 1}:${character + 1}`),
      element("span", { class: "kind" }, ` ${kind} `), message,
      element("code", {}, " [", ruleName(problem.code ?? "", files.explanations[problem.code ?? ""]), "]"),
      ...help.map((text) => element("span", { class: "help" }, text)),
      ...files.fixesFor(file, problem).map(({ name, apply }) => element("button", { type: "button", class: "fix", click: apply }, name)));
  }));
  if (focused < 0) return;
  const buttons = list.querySelectorAll("button");
  (buttons[Math.min(focused, buttons.length - 1)] ?? files.current?.view.contentDOM)?.focus();
}
