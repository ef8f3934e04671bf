// The connection of this tab with what all tabs of its origin share.

import type { Hub, Answer, Request } from "../lib/hub";

type Listener = (answer: Answer) => void;
const listeners = new Set<Listener>();

/** onAnswer calls a function with each answer. */
export function onAnswer(listener: Listener): void {
  listeners.add(listener);
}

const receive = (answer: Answer): void => {
  for (const f of listeners) f(answer);
};

let post: ((r: Request) => void) | undefined;

/** ask sends a request. It takes the shared worker, or in a browser without one a hub of its own. */
export function ask(r: Request): void {
  (post ??= connect())(r);
}

/** alone says that this tab has no shared worker: it has a stream of its own, and nothing to share with. */
export let alone = typeof SharedWorker === "undefined";

function connect(): (r: Request) => void {
  if (!alone) {
    try {
      // The name is that of the protocol: a tab of another version has another worker.
      const { port } = new SharedWorker(new URL("./stream.js", import.meta.url), { type: "module", name: "pannier-1" });
      port.onmessage = (m: MessageEvent<Answer>) => receive(m.data);
      return (r) => port.postMessage(r);
    } catch {
      alone = true;
    }
  }
  // A name in a variable keeps the bundler from joining the hub with the app: few browsers need it here.
  const bundle = "./stream.js";
  const hub = (import(bundle) as Promise<{ hub: Hub }>).then((m) => m.hub);
  const port = { postMessage: receive };
  return (r) => void hub.then((h) => h.receive(port, r));
}
