import { signal } from "@preact/signals";
import { ApiProblem, auth } from "./client";
import type { StreamEvent } from "./model";
import { alone, ask, onAnswer } from "./shared";

/** connected says whether events arrive. */
export const connected = signal(false);
/** lost says since when they do not, as milliseconds; 0 while connected and before the first connection. */
export const lost = signal(0);
/** stuck says that the request for events waits without an answer. */
export const stuck = signal(false);
/** refused is why the sidecar gives no stream, while it gives none. */
export const refused = signal<ApiProblem | null>(null);

type Listener = (event: StreamEvent) => void;
const listeners = new Set<Listener>();
const opened = new Set<() => void>();

/** onEvent calls a function with each event, and returns one that ends that. */
export function onEvent(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** onOpen calls a function whenever the stream begins, also after an interruption. */
export function onOpen(listener: () => void): () => void {
  opened.add(listener);
  return () => opened.delete(listener);
}

let token = "";
let following = false;

/** hiddenDelay is how long a hidden tab keeps its place at the shared stream. A stream of its own it gives up at once. */
const hiddenDelay = 60_000;
let hidden: ReturnType<typeof setTimeout> | undefined;

onAnswer((a) => {
  if (!following) return;
  switch (a.type) {
    case "open":
      connected.value = true;
      lost.value = 0;
      stuck.value = false;
      refused.value = null;
      for (const f of opened) f();
      return;
    case "event":
      for (const f of [...listeners]) f(a.event as StreamEvent);
      return;
    case "stuck":
      stuck.value = true;
      return;
    case "closed":
      connected.value = false;
      if (!lost.value) lost.value = Date.now();
      return;
    case "refused":
      refused.value = new ApiProblem(a.status, a.code, a.detail, a.hint);
      connected.value = false;
      if (a.status === 401) auth.ended(token, refused.value);
  }
});

/** follow begins to read events with a token; unfollow ends that. */
export function follow(as: string): void {
  if (following && token === as) return;
  token = as;
  begin();
}

export function unfollow(): void {
  token = "";
  end();
  lost.value = 0;
}

function begin(): void {
  if (following) ask({ type: "leave" });
  following = true;
  ask({ type: "follow", token });
}

function end(): void {
  if (following) ask({ type: "leave" });
  following = false;
  connected.value = false;
  stuck.value = false;
  refused.value = null;
}

/** reconnect tries at once instead of waiting for the backoff. */
export const reconnect = (): void => ask({ type: "retry" });

/** startEvents has a hidden tab let go of the stream, and take it again when it is shown. */
export function startEvents(): void {
  ask({ type: "leave" }); // the worker starts while the page logs in
  document.addEventListener("visibilitychange", () => {
    clearTimeout(hidden);
    if (document.visibilityState === "hidden") hidden = setTimeout(() => following && end(), alone ? 0 : hiddenDelay);
    else if (token && !following) begin();
  });
  addEventListener("pagehide", () => {
    end();
    ask({ type: "bye" });
  });
  addEventListener("pageshow", (e) => {
    if (e.persisted && token) begin();
  });
}
