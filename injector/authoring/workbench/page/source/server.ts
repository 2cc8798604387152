// What the page asks of `injector workbench`: the template's files, and the language server over a WebSocket.

import type { Transport } from "@codemirror/lsp-client";

/** A file on disk: its text, and the entity tag of its content. */
export interface SavedFile { text: string; etag: string }
export interface Folder { folder: string; files: Record<string, SavedFile> }

/** The file on disk is not the one that the page knows. */
export class Conflict extends Error {}

const token = takeToken();
let listing = { etag: "", folder: null as Folder | null };

/** The token from the address. From there it goes into the tab's own store, so that no history keeps it. */
function takeToken(): string {
  const given = new URLSearchParams(location.search).get("token");
  if (given !== null) {
    sessionStorage.setItem("token", given);
    history.replaceState(null, "", "/");
  }
  return given ?? sessionStorage.getItem("token") ?? "";
}

/** All files of the template; the same object while nothing on disk changes. */
export async function readFolder(): Promise<Folder> {
  const headers: Record<string, string> = { Authorization: `Bearer ${token}` };
  if (listing.etag !== "") headers["If-None-Match"] = listing.etag;
  const response = await fetch("/files", { headers });
  if (response.status === 304 && listing.folder !== null) return listing.folder;
  if (response.status === 403) throw new Gone(await response.text());
  if (!response.ok) throw new Error(await response.text());
  const folder = await response.json() as Folder;
  listing = { etag: response.headers.get("ETag") ?? "", folder };
  return folder;
}

/** The server that gave the page has ended, and another does not know its token. */
export class Gone extends Error {}

/** Write a file over the content with this entity tag, "" for a new file; its new tag. Throws Conflict. */
export async function writeFile(path: string, text: string, etag: string): Promise<string> {
  const response = await change("PUT", path, etag, text);
  return response.headers.get("ETag") ?? "";
}

/** Delete a file whose content has this entity tag. Throws Conflict. */
export async function deleteFile(path: string, etag: string): Promise<void> {
  await change("DELETE", path, etag, null);
}

async function change(method: string, path: string, etag: string, body: string | null): Promise<Response> {
  const condition: Record<string, string> = etag === "" ? { "If-None-Match": "*" } : { "If-Match": etag };
  const headers = { Authorization: `Bearer ${token}`, ...condition };
  const address = `/files/${path.split("/").map(encodeURIComponent).join("/")}`;
  const response = await fetch(address, { method, headers, body });
  if (response.status === 412) throw new Conflict(await response.text());
  if (!response.ok) throw new Error(await response.text());
  return response;
}

/** A connection to a language server of the page's own; `closed` is called when it ends. */
export function connect(closed: () => void): Promise<Transport> {
  const socket = new WebSocket(`ws://${location.host}/language-server?token=${encodeURIComponent(token)}`);
  const handlers = new Set<(message: string) => void>();
  socket.addEventListener("message", (event) => { for (const each of handlers) each(String(event.data)); });
  socket.addEventListener("close", closed);
  return new Promise((resolve, reject) => {
    socket.addEventListener("error", () => reject(new Error("the language server cannot be reached")));
    socket.addEventListener("open", () => resolve({
      send: (message) => socket.send(message),
      subscribe: (handler) => handlers.add(handler),
      unsubscribe: (handler) => handlers.delete(handler),
    }));
  });
}
