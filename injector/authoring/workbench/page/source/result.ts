// What the template makes of the pod: the difference, the config files, the decision, and the cases.

import { unifiedMergeView } from "@codemirror/merge";
import { EditorState } from "@codemirror/state";
import { EditorView, lineNumbers } from "@codemirror/view";
import type { Offer } from "./choices";
import { common, language } from "./editors";
import { Tabs, byId, element } from "./elements";

export interface Step { step: string; decides: boolean; detail: string }
export interface Preview extends Offer {
  effect: string; reason: string; message: string;
  before: string; after: string; files: Record<string, string>;
  trail: Step[]; warnings: string[]; values: { name: string; value: string; origin: string }[];
}
export interface CaseResult { name: string; passed: boolean; problems: string[] }

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

  constructor(runCases: () => void) {
    this.cases.append(element("button", { id: "run-cases", type: "button", click: runCases }, "Run the cases"), this.results);
    this.results.append(element("p", { class: "none" }, "The cases in tests/ have not run yet."));
  }

  /** Show what was rendered, or why nothing could be: the last good result stays, and the verdict says that it is old. */
  show(preview: Preview): void {
    byId("verdict").textContent = preview.reason === "" ? preview.message : `${preview.reason}: ${preview.message}`;
    byId("verdict").className = preview.effect;
    this.tabs.label("Warnings", preview.warnings.length > 0 ? `Warnings (${preview.warnings.length})` : "Warnings");
    this.warnings.replaceChildren(list(preview.warnings, "No warnings."));
    this.decision.replaceChildren(trail(preview.trail), element("h3", {}, "Parameters"), values(preview.values));
    this.files.replaceChildren(...configFiles(preview.files));
    const drawn = JSON.stringify([preview.before, preview.after]);
    if (drawn !== this.drawn) this.draw(preview.before, preview.after);
    this.drawn = drawn;
  }

  fail(message: string): void {
    byId("verdict").textContent = message;
    byId("verdict").className = "stale";
  }

  showCases(results: CaseResult[]): void {
    const failed = results.filter((result) => !result.passed);
    this.results.replaceChildren(
      element("p", {}, `${results.length - failed.length} of ${results.length} cases pass.`),
      element("ul", {}, ...results.map((result) => element("li", { class: result.passed ? "passed" : "failed" },
        `${result.passed ? "passed" : "failed"}: ${result.name}`, ...result.problems.map((text) => element("pre", {}, text))))));
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
            original: before, mergeControls: false, gutter: true, collapseUnchanged: { margin: 4, minSize: 8 },
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

function trail(steps: Step[]): HTMLElement {
  if (steps.length === 0) return element("p", { class: "none" }, "No decision was made.");
  return element("ol", { class: "trail" }, ...steps.map((step) => element("li", step.decides ? { class: "decides" } : {},
    element("strong", {}, step.step), step.detail === "" ? "" : `: ${step.detail}`)));
}

function values(rows: { name: string; value: string; origin: string }[]): HTMLElement {
  if (rows.length === 0) return element("p", { class: "none" }, "None.");
  const heads = ["Parameter", "Value", "From"].map((text) => element("th", { scope: "col" }, text));
  return element("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Parameters" },
    element("table", {}, element("thead", {}, element("tr", {}, ...heads)),
      element("tbody", {}, ...rows.map(({ name, value, origin }) => element("tr", {},
        element("th", { scope: "row" }, name), element("td", {}, element("code", {}, value)), element("td", {}, origin))))));
}

function configFiles(files: Record<string, string>): HTMLElement[] {
  const names = Object.keys(files);
  if (names.length === 0) return [element("p", { class: "none" }, "This template has no config files.")];
  return names.map((name) => element("section", {}, element("h3", {}, name),
    element("pre", { tabindex: 0, role: "region", "aria-label": name }, files[name] ?? "")));
}
