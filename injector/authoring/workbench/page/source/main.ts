// The workbench: what is typed goes to the language server, and what the template makes of a pod comes back.

import type { LSPClient } from "@codemirror/lsp-client";
import { Choices } from "./choices";
import { type Files, type OpenFile, listProblems, makeClient } from "./editors";
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
    byId("save").addEventListener("click", () => void this.save());
    byId("delete-file").addEventListener("click", () => void this.deleteFile());
    byId("new-file").addEventListener("click", () => void this.newFile());
    document.addEventListener("keydown", (event) => {
      if ((event.ctrlKey || event.metaKey) && event.key === "s") {
        event.preventDefault();
        void this.save();
      }
    });
    addEventListener("beforeunload", (event) => {
      if (this.files.files.some((file) => file.modified)) event.preventDefault();
    });
    await this.connect();
    setInterval(() => void this.look(), LOOK);
  }

  /** Connect to a language server, and again where it has ended. */
  private async connect(): Promise<void> {
    const lost = () => {
      this.client.disconnect();
      setTimeout(() => void this.connect().catch(lost), LOOK);
    };
    this.client.connect(await connect(lost));
    await this.client.initializing;
    this.say("");
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
      this.choices.offer(preview);
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
      this.say(`The cases cannot run: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  /** Write what has been changed. A file that somebody else has changed meanwhile is asked about first. */
  private async save(): Promise<void> {
    for (const file of this.files.files.filter((each) => each.modified)) {
      try {
        if (file.conflict && !await this.resolve(file)) continue;
        const doc = file.view.state.doc;
        file.etag = await writeFile(file.path, doc.toString(), file.etag);
        file.saved = doc;
      } catch (error) {
        if (!(error instanceof Conflict)) { this.say(`Not saved: ${error instanceof Error ? error.message : String(error)}`); return; }
        await this.look();
        if (await this.resolve(file)) return this.save();
      }
    }
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
    file.view.dispatch({ changes: { from: 0, to: doc.length, insert: text }, userEvent: "input.disk" });
    this.mark();
  }

  /** See what has changed on disk. A file without changes here follows; for others the page says that there are two. */
  private async look(): Promise<void> {
    let onDisk;
    try {
      onDisk = (await readFolder()).files;
    } catch (error) {
      const restarted = error instanceof Gone ? "It has been started again: open the address that it prints now. " : "";
      this.say(`injector workbench has ended. ${restarted}What is not saved is only here: copy it.`);
      return;
    }
    for (const file of this.files.files.filter((each) => each.etag !== "" && onDisk[each.path] === undefined)) {
      if (!file.modified) this.files.remove(file);
      else file.conflict = true;
    }
    for (const [path, { text, etag }] of Object.entries(onDisk)) {
      const file = this.files.at(path);
      if (file === undefined) this.files.add(path, text, etag);
      else if (file.etag !== etag && file.view.state.sliceDoc() === text) {
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
    this.say(conflicts.length === 0 ? "" : `Changed here and on disk: ${conflicts.join(", ")}. Save to choose.`);
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
      this.say(`Not deleted: ${error instanceof Error ? error.message : String(error)}`);
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

  private say(text: string): void {
    const notice = byId("notice");
    if (notice.textContent === text) return;
    notice.textContent = text;
    notice.hidden = text === "";
  }
}

/** The files that an author changes first come first. */
function byUse(one: string, other: string): number {
  const rank = (path: string) => [/^overlay/, /^template\.yaml$/, /^[^/]*\.j2$/, /^tests\//].findIndex((each) => each.test(path)) % 5;
  const order = (path: string) => { const at = rank(path); return at < 0 ? 9 : at; };
  return order(one) - order(other) || one.localeCompare(other);
}

new Workbench().start().catch((error: unknown) => {
  const notice = byId("notice");
  notice.textContent = `The workbench cannot start: ${error instanceof Error ? error.message : String(error)}`;
  notice.hidden = false;
});
