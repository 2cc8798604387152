// What the template is tried with: a pod, its namespace's label, the cluster, and the parameters.

import { byId, element } from "./elements";

export interface Schema {
  name: string; type: string; description?: string; default?: unknown; enum?: unknown[]; examples?: unknown[];
  minimum?: number; maximum?: number; maxLength?: number; format?: string; pattern?: string; required?: boolean;
  secret?: boolean;
}
/** A case: the version of Kubernetes and the parameters that it says. */
interface Case { name: string; kubernetes: string; parameters: Record<string, unknown> }
export interface Offer { samples: string[]; cases: Case[]; declared: Schema[]; versions: string[] }
/** The choices as `injector/preview` takes them. */
export interface Choice {
  pod: string; namespaceLabel: string; kubernetesVersion: string; nativeSidecars: string;
  parameters: Record<string, string>;
}

type Control = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement;

const OWN = "(a manifest of mine)";

export class Choices {
  private readonly form = byId<HTMLFormElement>("choices");
  private readonly pod = element("select", { id: "pod" });
  private readonly manifest = element("textarea", {
    id: "manifest", rows: 8, spellcheck: "false", placeholder: "apiVersion: apps/v1\nkind: Deployment\n…",
  });
  private readonly label = select("label", ["enabled", "required", "disabled", ""], { "": "(none)" });
  private readonly version = element("select", { id: "version" });
  private readonly native = select("native", ["auto", "always", "never"], {
    auto: "as the cluster's version allows", always: "native", never: "plain containers",
  });
  private readonly parameters = element("fieldset", { id: "parameters" }, element("legend", {}, "Parameters"));
  private offered = "";
  private cases: Case[] = [];

  constructor(changed: () => void) {
    const own = element("div", { id: "own", hidden: true }, field("Manifest", this.manifest));
    this.form.append(
      element("div", { class: "row" }, field("Pod", this.pod), field("Namespace label", this.label),
        field("Kubernetes", this.version), field("Sidecars", this.native)),
      own, element("details", {}, element("summary", {}, "Parameters"), this.parameters));
    this.form.addEventListener("submit", (event) => event.preventDefault());
    this.form.addEventListener("input", () => {
      own.hidden = this.pod.value !== OWN;
      sessionStorage.setItem("choices", JSON.stringify(Object.fromEntries(this.controls.map((each) => [each.id, each.value]))));
      changed();
    });
    this.pod.addEventListener("input", () => this.take(this.cases.find((each) => each.name === this.pod.value)));
  }

  /** What is chosen and typed, but the values of secrets. */
  private get controls(): Control[] {
    return [...this.form.querySelectorAll<Control>("[id]:is(input, select, textarea):not([data-secret])")];
  }

  /** Choose again what was chosen before the page was loaded anew: it is in the tab's own store. */
  private restore(): void {
    const before = JSON.parse(sessionStorage.getItem("choices") ?? "{}") as Record<string, string>;
    for (const control of this.controls) choose(control, before[control.id]);
    this.form.dispatchEvent(new Event("input"));
  }

  get value(): Choice {
    const inputs = [...this.parameters.querySelectorAll<HTMLInputElement | HTMLSelectElement>("[name]")];
    return {
      pod: this.pod.value === OWN ? this.manifest.value : this.pod.value,
      namespaceLabel: this.label.value,
      kubernetesVersion: this.version.value,
      nativeSidecars: this.native.value,
      parameters: Object.fromEntries(inputs.filter((input) => input.value !== "").map((input) => [input.name, input.value])),
    };
  }

  /** Show what a case says beside its pod; what is typed then counts. */
  private take(chosen: Case | undefined): void {
    if (chosen === undefined) return;
    const version = /^v?(\d+\.\d+)/.exec(chosen.kubernetes)?.[1];
    if (version !== undefined) this.version.value = version;
    for (const input of this.parameters.querySelectorAll<HTMLInputElement | HTMLSelectElement>("[name]")) {
      const value = chosen.parameters[input.name];
      input.value = value === undefined ? "" : shown(value);
    }
  }

  /** Offer what the template has now; what is chosen stays chosen where it is still there. */
  offer({ samples, cases, declared, versions }: Offer): void {
    const text = JSON.stringify([samples, cases, declared, versions]);
    if (text === this.offered) return;
    const first = this.offered === "";
    this.offered = text;
    this.cases = cases;
    const groups: [string, string[]][] = [["Samples", samples], ["Cases", cases.map(({ name }) => name)], ["Own", [OWN]]];
    refill(this.pod, groups.filter(([, names]) => names.length > 0).map(([title, names]) =>
      element("optgroup", { label: title }, ...names.map((name) => element("option", { value: name }, name)))));
    refill(this.version, versions.map((name) => element("option", { value: name }, name)));
    const typed = this.value.parameters;
    const fields = declared.map((schema) => field(
      schema.name, input(schema, typed[schema.name] ?? ""), schema.description ?? ""));
    this.parameters.replaceChildren(element("legend", {}, "Parameters"),
      ...(fields.length > 0 ? fields : [element("p", {}, "This template has no parameters.")]));
    if (first) this.restore();
  }
}

/** Give a control a value; a list has to offer it. */
function choose(control: Control, value: string | undefined): void {
  if (value === undefined) return;
  if (!(control instanceof HTMLSelectElement) || [...control.options].some((option) => option.value === value)) control.value = value;
}

function refill(list: HTMLSelectElement, options: HTMLElement[]): void {
  const before = list.value;
  list.replaceChildren(...options);
  choose(list, before);
}

function select(id: string, values: string[], labels: Record<string, string> = {}): HTMLSelectElement {
  return element("select", { id }, ...values.map((value) => element("option", { value }, labels[value] ?? value)));
}

function field(label: string, control: HTMLElement, description = ""): HTMLElement {
  const parts: Node[] = [element("label", { for: control.id }, label), control];
  if (description !== "") {
    const id = `${control.id}-help`;
    control.setAttribute("aria-describedby", id);
    parts.push(element("small", { id }, description));
  }
  return element("div", { class: "field" }, ...parts);
}

/** The control for a parameter's text: what annotations say, which the injector reads by the schema. */
function input(schema: Schema, value: string): HTMLElement {
  const { name } = schema;
  const id = `parameter-${name}`;
  const usual = schema.default ?? (schema.required === true ? schema.examples?.[0] : undefined);
  const fallback = usual === undefined ? "" : shown(usual);
  const values = schema.type === "boolean" ? ["true", "false"] : (schema.enum ?? []).map(shown);
  if (values.length > 0) {
    const list = element("select", { id, name }, element("option", { value: "" }, fallback === "" ? "(none)" : `${schema.default === undefined ? "example" : "default"}: ${fallback}`),
      ...values.map((each) => element("option", { value: each }, each)));
    list.value = value;
    return list;
  }
  const type = schema.type === "integer" ? "number" : "text";
  const limits = Object.fromEntries(
    [["min", schema.minimum], ["max", schema.maximum], ["maxlength", schema.maxLength]]
      .filter((pair): pair is [string, number] => typeof pair[1] === "number"));
  return element("input", { id, name, type, value, placeholder: fallback, autocomplete: "off", "data-secret": schema.secret === true, ...limits });
}

function shown(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
