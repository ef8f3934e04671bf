// A document and a stubbed sidecar for tests of components. It has to be imported before them.

import { Window } from "happy-dom";

const window = new Window({ url: "http://127.0.0.1:7443/console/" });
const names = ["document", "location", "history", "navigator", "HTMLElement", "HTMLDialogElement", "Element", "Node", "Event", "MouseEvent", "KeyboardEvent", "MutationObserver", "ResizeObserver", "sessionStorage", "matchMedia", "requestAnimationFrame", "cancelAnimationFrame", "addEventListener", "removeEventListener", "dispatchEvent"] as const;
for (const name of names) {
  const value = (window as unknown as Record<string, unknown>)[name];
  Object.defineProperty(globalThis, name, { value: typeof value === "function" && /^[a-z]/.test(name) ? value.bind(window) : value, configurable: true, writable: true });
}
Object.defineProperty(globalThis, "window", { value: globalThis, configurable: true });

/** requests are those that components have sent: METHOD PATH, and the body. */
export const requests: [string, string][] = [];
/** answers are what the stubbed sidecar says, by METHOD PATH. */
export const answers = new Map<string, unknown>();

globalThis.fetch = async (path, init) => {
  const asked = `${init?.method} ${String(path)}`;
  requests.push([asked, String(init?.body ?? "")]);
  const answer = answers.get(asked);
  return answer === undefined ? Response.json({ code: "not_found", detail: "no answer to " + asked }, { status: 404 }) : Response.json(answer);
};

/** until waits until a condition holds. */
export async function until(what: string, holds: () => unknown): Promise<void> {
  for (let i = 0; i < 500; i++) {
    if (holds()) return;
    await new Promise((r) => setTimeout(r, 2));
  }
  throw new Error(`${what}: still not; the page is ${document.body.innerHTML}`);
}

/** button returns the button with a text. */
export function button(text: string): HTMLButtonElement {
  const found = [...document.querySelectorAll("button")].find((b) => b.textContent!.trim() === text);
  if (!found) throw new Error(`no button ${text} in ${document.body.innerHTML}`);
  return found;
}
