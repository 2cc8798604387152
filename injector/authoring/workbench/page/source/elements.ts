// Elements of the page. Whatever comes from a template or a pod gets in as text, and never as HTML.

type Attributes = Record<string, string | boolean | number | ((event: Event) => void)>;

/** A new element; a function among its attributes is a listener for the event of that name. */
export function element<K extends keyof HTMLElementTagNameMap>(
  name: K, attributes: Attributes = {}, ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") node.addEventListener(key, value);
    else if (value === true) node.setAttribute(key, "");
    else if (value !== false) node.setAttribute(key, String(value));
  }
  node.append(...children);
  return node;
}

/** The element of the page with an id. */
export function byId<T extends HTMLElement = HTMLElement>(id: string): T {
  const node = document.getElementById(id);
  if (node === null) throw new Error(`the page has no #${id}`);
  return node as T;
}

/** Tabs with their panels, of which one shows: https://www.w3.org/WAI/ARIA/apg/patterns/tabs/ */
export class Tabs {
  private readonly names: string[] = [];
  private readonly parts = new Map<string, { tab: HTMLButtonElement; panel: HTMLElement }>();
  private made = 0;
  current = "";

  constructor(private readonly list: HTMLElement, private readonly panels: HTMLElement,
              private readonly selected: (name: string) => void = () => {}) {
    list.addEventListener("keydown", (event) => this.moved(event));
  }

  add(name: string, label = name): HTMLElement {
    const id = `${this.list.id}-${this.made++}`;
    const tab = element("button", {
      id, type: "button", role: "tab", "aria-controls": `${id}-panel`, "aria-selected": "false", tabindex: -1,
      click: () => this.select(name),
    }, label);
    const panel = element("div", { id: `${id}-panel`, role: "tabpanel", "aria-labelledby": id, hidden: true });
    this.names.push(name);
    this.parts.set(name, { tab, panel });
    this.list.append(tab);
    this.panels.append(panel);
    if (this.current === "") this.select(name);
    return panel;
  }

  remove(name: string): void {
    const part = this.parts.get(name);
    part?.tab.remove();
    part?.panel.remove();
    this.parts.delete(name);
    this.names.splice(this.names.indexOf(name), 1);
    if (this.current === name && this.names[0] !== undefined) this.select(this.names[0]);
  }

  select(name: string): void {
    this.current = name;
    for (const [each, { tab, panel }] of this.parts) {
      tab.setAttribute("aria-selected", String(each === name));
      tab.tabIndex = each === name ? 0 : -1;
      panel.hidden = each !== name;
    }
    this.selected(name);
  }

  label(name: string, text: string, marked = false): void {
    const tab = this.parts.get(name)?.tab;
    if (tab === undefined) return;
    if (tab.textContent !== text) tab.textContent = text;
    tab.classList.toggle("marked", marked);
  }

  private moved(event: KeyboardEvent): void {
    const step = { ArrowRight: 1, ArrowLeft: -1, Home: -this.names.length, End: this.names.length }[event.key];
    if (step === undefined) return;
    const last = this.names.length - 1;
    let next = this.names.indexOf(this.current) + step;
    if (Math.abs(step) === 1) next = (next + this.names.length) % this.names.length;
    const name = this.names[Math.max(0, Math.min(last, next))];
    if (name === undefined) return;
    event.preventDefault();
    this.select(name);
    this.parts.get(name)?.tab.focus();
  }
}

/** Ask a question in a dialog: resolves to the answer's key, or to "" where it is closed. */
export function ask(title: string, text: string, answers: Record<string, string>, body?: HTMLElement): Promise<string> {
  const dialog = byId<HTMLDialogElement>("ask");
  byId("ask-title").textContent = title;
  byId("ask-text").textContent = text;
  byId("ask-body").replaceChildren(...(body === undefined ? [] : [body]));
  byId("ask-answers").replaceChildren(
    ...Object.entries(answers).map(([value, label]) => element("button", { value }, label)),
    element("button", { value: "", formnovalidate: true }, Object.keys(answers).length === 0 ? "Close" : "Cancel"),
  );
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue), { once: true });
  });
}
