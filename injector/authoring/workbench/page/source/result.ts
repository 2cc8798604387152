// What the template makes of the pod: the difference, the config files, the decision, and the cases.

import { unifiedMergeView } from "@codemirror/merge";
import { EditorState } from "@codemirror/state";
import { EditorView, lineNumbers } from "@codemirror/view";
import type { Offer } from "./choices";
import { common, language } from "./editors";
import { Tabs, byId, element } from "./elements";

interface Step { step: string; saw: string; fits: boolean; overruled: boolean }
interface Value { name: string; value: unknown; from: string }
interface Problem { rule: string; message: string; help: string; file: string; line: number; column: number }
/** What `injector/preview` answers; without `after` nothing could be rendered, and the problems say why. */
export interface Preview extends Offer {
  effect?: string; reason?: string; message?: string; before?: string; after?: string; files?: Record<string, string>;
  trail?: Step[]; warnings?: string[]; parameters?: Value[]; problems: Problem[];
}
interface Case { name: string; file: string; outcome: string; problems: Problem[]; missingPrograms: string[] }
/** What `injector/cases` answers. */
export interface Cases { templates: { cases: Case[]; problems: Problem[] }[]; passed: number; failed: number }

export class Result {
  private readonly tabs = new Tabs(byId("result-tabs"), byId("views"));
  private readonly difference = this.tabs.add("Difference");
  private readonly files = this.tabs.add("Config files");
  private readonly decision = this.tabs.add("Decision");
  private readonly warnings = this.tabs.add("Warnings");
  private readonly cases = this.tabs.add("Cases");
  private readonly results = element("div", { role: "status" });
  private drawn = "";
  private view: EditorView | undefined;

  constructor(runCases: () => void, private readonly go: (file: string, line: number, column: number) => void) {
    this.cases.append(element("button", { id: "run-cases", type: "button", click: runCases }, "Run the cases"), this.results);
    this.results.append(element("p", { class: "none" }, "The cases in tests/ have not run yet."));
  }

  /** Show what was rendered. Where nothing could be, the last good result stays, and the verdict says so. */
  show(preview: Preview): void {
    const { before, after, trail = [], warnings = [], parameters = [], files = {}, problems } = preview;
    const [problem] = problems;
    if (before === undefined || after === undefined || (problem !== undefined && before === after)) {
      this.fail(problem === undefined ? "Nothing was rendered" : spoken(problem));
      return;
    }
    const { message = "", reason = "", effect = "" } = preview;
    byId("verdict").textContent = verdict(effect, reason, message);
    byId("verdict").className = effect;
    this.tabs.label("Warnings", warnings.length > 0 ? `Warnings (${warnings.length})` : "Warnings");
    this.warnings.replaceChildren(list(warnings, "No warnings."));
    this.decision.replaceChildren(decision(trail, effect), element("h3", {}, "Parameters"), values(parameters));
    this.files.replaceChildren(...configFiles(files));
    const drawn = JSON.stringify([before, after]);
    if (drawn !== this.drawn) this.draw(withShortReceipt(before), withShortReceipt(after));
    this.drawn = drawn;
  }

  fail(message: string): void {
    const old = this.drawn === "" ? "" : "\nBelow is the last pod that could be rendered.";
    byId("verdict").textContent = `${message}${old}`;
    byId("verdict").className = "stale";
  }

  showCases({ templates, passed, failed }: Cases): void {
    const cases = templates.flatMap((template) => template.cases);
    const broken = templates.flatMap((template) => template.problems);
    this.results.replaceChildren(
      element("p", {}, cases.length === 0 ? "There are no cases in tests/." : `${passed} of ${passed + failed} cases pass.`),
      ...broken.map((problem) => element("pre", {}, spoken(problem))),
      element("ul", {}, ...cases.map((each) => element("li", { class: each.outcome },
        `${each.outcome}: ${each.name}`, ...each.problems.map((problem) => this.failure(problem)),
        ...each.missingPrograms.map((name) => element("p", { class: "none" }, `${name} is not installed: a config file was not checked with it.`))))));
  }

  private failure(problem: Problem): HTMLElement {
    const { file, line, column } = problem;
    return element("p", {}, element("button", { type: "button", class: "place", click: () => this.go(file, line, column) },
      `${file}:${line}:${column}`), ` ${spoken({ ...problem, file: "" })}`);
  }

  private draw(before: string, after: string): void {
    const scroll = this.view?.scrollDOM.scrollTop ?? 0;
    this.view?.destroy();
    if (before === after) {
      this.view = undefined;
      this.difference.replaceChildren(element("p", { class: "none" }, "The pod stays as it is."));
      return;
    }
    this.difference.replaceChildren();
    this.view = new EditorView({
      parent: this.difference,
      state: EditorState.create({
        doc: after,
        extensions: [
          common("The pod after the injection, with what was added and removed"), lineNumbers(), language("pod.yaml"),
          EditorState.readOnly.of(true),
          unifiedMergeView({
            original: before, mergeControls: false, gutter: true, diffConfig: { scanLimit: 20000 }, collapseUnchanged: { margin: 4, minSize: 8 },
          }),
        ],
      }),
    });
    this.view.scrollDOM.scrollTop = scroll;
  }
}

function list(texts: string[], none: string): HTMLElement {
  if (texts.length === 0) return element("p", { class: "none" }, none);
  return element("ul", {}, ...texts.map((text) => element("li", {}, text)));
}

/** The receipt is one long line of JSON, for the injector and not for people. */
function withShortReceipt(text: string): string {
  return text.replace(/^(\s*[^\s:]+\/receipt: .{24}).*$/m, "$1 …");
}

function decision(steps: Step[], effect: string): HTMLElement {
  if (steps.length === 0) return element("p", { class: "none" }, "No decision was made.");
  const last = steps.findLast((step) => step.fits && !step.overruled);
  const rows = steps.map((step) => element("tr", step === last ? { class: `decides ${effect}` } : {},
    element("td", {}, step.fits ? (step.overruled ? "overruled" : "yes") : "no"),
    element("th", { scope: "row" }, step.step), element("td", {}, step === last ? `${step.saw} – this decides` : step.saw)));
  return table(["Fits", "Step", "What was seen"], rows, "Decision");
}

function values(rows: Value[]): HTMLElement {
  if (rows.length === 0) return element("p", { class: "none" }, "None.");
  return table(["Parameter", "Value", "From"], rows.map((row) => element("tr", {}, element("th", { scope: "row" }, row.name),
    element("td", {}, element("code", {}, JSON.stringify(row.value))), element("td", {}, row.from))), "Parameters");
}

function table(heads: string[], rows: HTMLElement[], label: string): HTMLElement {
  return element("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": label },
    element("table", {},
      element("thead", {}, element("tr", {}, ...heads.map((text) => element("th", { scope: "col" }, text)))),
      element("tbody", {}, ...rows)));
}

function spoken({ file, line, column, message, help }: Problem): string {
  const place = file === "" || line === 0 ? "" : `${file}:${line}:${column}: `;
  return help === "" ? `${place}${message}` : `${place}${message}; ${help}`;
}

function verdict(effect: string, reason: string, message: string): string {
  return effect === "inject" ? message : `${reason}: ${message.replace(`${reason}: `, "")}`;
}

function configFiles(files: Record<string, string>): HTMLElement[] {
  const names = Object.keys(files);
  if (names.length === 0) return [element("p", { class: "none" }, "This template has no config files.")];
  return names.map((name) => element("section", {}, element("h3", {}, name),
    element("pre", { tabindex: 0, role: "region", "aria-label": name }, files[name] ?? "")));
}
