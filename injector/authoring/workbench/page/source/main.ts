// The workbench: what is typed goes to the language server, and what the template makes of a pod comes back.

import type { LSPClient } from "@codemirror/lsp-client";
import { Choices } from "./choices";
import { type Files, type OpenFile, lineEnd, listProblems, makeClient } from "./editors";
import { Tabs, ask, byId, element } from "./elements";
import { type Cases, type Preview, Result } from "./result";
import { Conflict, Gone, connect, deleteFile, readFolder, writeFile } from "./server";

/** Milliseconds between two looks at the folder. */
const LOOK = 1000;
/** Milliseconds after a keystroke: what is typed meanwhile goes along. */
const PAUSE = 25;

class Workbench {
  private readonly client: LSPClient = makeClient((files, uri, problems) => {
    void files.show(uri, problems).then(() => listProblems(files));
    listProblems(files);
  }, (files, whole) => {
    const count = files.files.reduce((sum, file) => sum + file.problems.length, 0);
    this.checked(whole ? (count === 0 ? "none" : String(count)) : "checking");
  });
  private readonly files = this.client.workspace as Files;
  private readonly tabs = new Tabs(byId("file-tabs"), byId("files"), (path) => {
    this.files.at(path)?.view.requestMeasure();
  });
  private readonly choices = new Choices(() => this.later());
  private readonly result = new Result(
    () => void this.runCases(), (file, line, column) => void this.files.go(file, line, column));
  private folder = "";
  private timer = 0;
  private retry = 0;
  private turn = Promise.resolve();
  private waiting = 0;
  private readonly notices = new Map<string, string>();
  private asking = false;
  private again = false;

  async start(): Promise<void> {
    const { folder, files } = await readFolder();
    this.folder = folder;
    const name = decodeURIComponent(folder.replace(/\/$/, "").split("/").pop() ?? "");
    document.title = `${name} – sidecar workbench`;
    byId("title").textContent = `Sidecar workbench: ${name}`;
    this.files.begin(this.tabs, folder);
    for (const path of Object.keys(files).sort(byUse)) this.files.add(path, files[path]?.text ?? "", files[path]?.etag ?? "");
    this.files.changed = () => {
      this.checked("checking");
      this.later();
    };
    byId("save").addEventListener("click", () => void this.inTurn(() => this.save()));
    byId("delete-file").addEventListener("click", () => void this.inTurn(() => this.deleteFile()));
    byId("new-file").addEventListener("click", () => void this.newFile());
    document.addEventListener("keydown", (event) => {
      if ((event.ctrlKey || event.metaKey) && event.key === "s") {
        event.preventDefault();
        void this.inTurn(() => this.save());
      }
    });
    addEventListener("beforeunload", (event) => {
      if (this.files.files.some((file) => file.modified)) event.preventDefault();
    });
    await this.connect();
    setInterval(() => { if (this.waiting === 0) void this.inTurn(() => this.look()); }, LOOK);
  }

  /** Connect to a language server, and again where it has ended. */
  private async connect(): Promise<void> {
    const lost = () => {
      this.client.disconnect();
      clearTimeout(this.retry);  // an attempt that fails says so twice
      this.retry = window.setTimeout(() => void this.connect().catch(lost), LOOK);
    };
    this.client.connect(await connect(lost));
    await this.client.initializing;
    this.files.explanations = await this.client.request<unknown, Record<string, string>>("injector/rules", {});
    listProblems(this.files);
    this.later();
  }

  /** Say how far the check of the texts is: `checking`, `none`, or how many problems there are. */
  private checked(state: string): void {
    const line = byId("problems-state");
    const text = { checking: "checking …", none: "none" }[state] ?? state;
    if (line.textContent !== text) line.textContent = text;
  }

  private later(): void {
    this.mark();
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => void this.preview(), PAUSE);
  }

  /** Ask for the result of what is there now; of several changes meanwhile, for the last. */
  private async preview(): Promise<void> {
    if (!this.client.connected) return;
    if (this.asking) { this.again = true; return; }
    this.asking = true;
    try {
      this.client.sync();
      const params = { folder: this.folder, ...this.choices.value };
      const preview = await this.client.request<unknown, Preview>("injector/preview", params);
      if (preview.samples !== undefined) this.choices.offer(preview);
      this.result.show(preview);
    } catch (error) {
      this.result.fail(`Nothing can be rendered: ${error instanceof Error ? error.message : String(error)}`);
    } finally {
      this.asking = false;
      if (this.again) { this.again = false; void this.preview(); }
    }
  }

  private async runCases(): Promise<void> {
    try {
      this.client.sync();
      this.result.showCases(await this.client.request<unknown, Cases>("injector/cases", { folder: this.folder }));
    } catch (error) {
      this.say("cases", `The cases cannot run: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  /** Do something with the files on disk, after all that has begun before. */
  private inTurn(task: () => Promise<void>): Promise<void> {
    this.waiting += 1;
    this.turn = this.turn.then(task).catch((error) => this.say("save", String(error))).finally(() => { this.waiting -= 1; });
    return this.turn;
  }

  /** Write what has been changed. A file that somebody else has changed meanwhile is asked about first. */
  private async save(): Promise<void> {
    const failures: string[] = [];
    await this.look();
    for (const file of this.files.files.filter((each) => each.modified)) {
      try {
        if (file.conflict && !await this.resolve(file)) continue;
        if (file.lineEnd === "" && await ask(`${file.path} has line ends of several kinds`, "The editor has only one.",
          { yes: "Write \\n everywhere" }) !== "yes") continue;
        const { doc } = file.view.state;
        file.etag = await writeFile(file.path, file.text, file.etag);
        file.lineEnd ||= "\n";
        file.saved = doc;
      } catch (error) {
        const why = error instanceof Conflict ? "something else has this name, or it has just changed" : String(error).replace(/^Error: /, "");
        failures.push(`Not saved: ${file.path}: ${why.trim()}.`);
      }
    }
    this.say("save", failures.join("\n"));
    this.mark();
  }

  /** Ask which text of a file is to stay; whether it is the one in the editor. */
  private async resolve(file: OpenFile): Promise<boolean> {
    const onDisk = (await readFolder()).files[file.path];
    if (onDisk === undefined) {
      const answer = await ask(`${file.path} has been deleted on disk`, "You have changed it here.",
        { mine: "Write it again", disk: "Close it" });
      if (answer === "disk") this.files.remove(file);
      if (answer === "mine") { file.etag = ""; file.conflict = false; }
      return answer === "mine";
    }
    const answer = await ask(`${file.path} has changed on disk`,
      "Somebody changed this file after it was opened here. With the text from the disk, yours stays in the editor's "
      + "history: undo brings it back.",
      { disk: "Take the text from the disk", mine: "Keep mine, and write it over the other" });
    if (answer === "") return false;
    file.etag = onDisk.etag;
    file.conflict = false;
    if (answer === "disk") this.replace(file, onDisk.text);
    return answer === "mine";
  }

  private replace(file: OpenFile, text: string): void {
    const { doc } = file.view.state;
    file.saved = file.view.state.toText(text);
    file.lineEnd = lineEnd(text);
    file.view.dispatch({ changes: { from: 0, to: doc.length, insert: text }, userEvent: "input.disk" });
    this.mark();
  }

  /** See what has changed on disk. A file without changes here follows; for others the page says that there are two. */
  private async look(): Promise<void> {
    let onDisk;
    try {
      onDisk = (await readFolder()).files;
    } catch (error) {
      const why = error instanceof Gone ? "injector workbench has been started again: open the address that it prints now."
        : error instanceof TypeError ? "injector workbench has ended." : String(error).replace(/^Error: /, "");
      this.say("disk", `${why} What is not saved is only here.`);
      return;
    }
    for (const file of this.files.files.filter((each) => each.etag !== "" && onDisk[each.path] === undefined)) {
      if (!file.modified) this.files.remove(file);
      else file.conflict = true;
    }
    for (const [path, { text, etag }] of Object.entries(onDisk)) {
      const file = this.files.at(path);
      if (file === undefined) this.files.add(path, text, etag);
      else if (file.etag !== etag && file.text === text) {
        file.etag = etag;
        file.saved = file.view.state.doc;
        file.conflict = false;
      } else if (file.etag !== etag && file.modified) file.conflict = true;
      else if (file.etag !== etag) {
        file.etag = etag;
        this.replace(file, text);
      }
    }
    const conflicts = this.files.files.filter((file) => file.conflict).map((file) => file.path);
    this.say("disk", conflicts.length === 0 ? "" : `Changed here and on disk: ${conflicts.join(", ")}. Save to choose.`);
    this.mark();
  }

  private async deleteFile(): Promise<void> {
    const file = this.files.current;
    if (file === undefined) return;
    const text = file.etag === "" ? "It is not saved." : "It is deleted on disk, too.";
    if (await ask(`Delete ${file.path}`, text, { yes: "Delete it" }) !== "yes") return;
    try {
      if (file.etag !== "") await deleteFile(file.path, file.etag);
      this.files.remove(file);
    } catch (error) {
      this.say("save", `Not deleted: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  private async newFile(): Promise<void> {
    const name = element("input", { id: "new-name", name: "name", required: true, pattern: "(tests/)?[\\-_a-zA-Z0-9][\\-._a-zA-Z0-9]*", autocomplete: "off",
      title: "letters, digits, -, _ and . in the folder itself, or below tests/" });
    const body = element("div", { class: "field" }, element("label", { for: "new-name" }, "Name"), name,
      element("small", {}, "Such as nginx.conf.j2, or tests/second.yaml."));
    if (await ask("New file", "The file is written when you save it.", { make: "Make it" }, body) !== "make") return;
    if (this.files.at(name.value) === undefined) this.files.add(name.value, "", "");
    this.tabs.select(name.value);
    this.files.at(name.value)?.view.focus();
    this.mark();
  }

  /** Show which files are not saved. */
  private mark(): void {
    let unsaved = 0;
    for (const file of this.files.files) {
      this.tabs.label(file.path, file.modified ? `${file.path} •` : file.path, file.conflict);
      unsaved += Number(file.modified);
    }
    const text = unsaved === 0 ? "All saved" : `${unsaved} not saved`;
    if (byId("saved").textContent !== text) byId("saved").textContent = text;
    byId<HTMLButtonElement>("save").disabled = unsaved === 0;
  }

  /** Show what there is to say about something, "" for nothing; what is said of other things stays. */
  private say(about: "save" | "disk" | "cases", text: string): void {
    this.notices.set(about, text);
    const notice = byId("notice");
    const all = [...this.notices.values()].filter((each) => each !== "").join("\n");
    if (notice.textContent === all) return;
    notice.textContent = all;
    notice.hidden = all === "";
  }
}

/** The files that an author changes first come first. */
function byUse(one: string, other: string): number {
  const order = (path: string) => firstFiles.findIndex((each) => each.test(path));
  return order(one) - order(other) || one.localeCompare(other);
}

/** What comes first, and all that is left. */
const firstFiles = [/^overlay/, /^template\.yaml$/, /^[^/]*\.j2$/, /^tests\//, /^/];

new Workbench().start().catch((error: unknown) => {
  const notice = byId("notice");
  notice.textContent = `The workbench cannot start: ${error instanceof Error ? error.message : String(error)}`;
  notice.hidden = false;
});
