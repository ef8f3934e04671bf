// One event stream of the sidecar: reads it, and opens it again. It runs in the shared worker, and in a page without one.

import { createParser } from "eventsource-parser";

/** Note is what a stream says: it is open, it is closed, no answer came for a while, it is refused, or an event. */
export type Note =
  | { type: "open" }
  | { type: "closed" }
  | { type: "stuck" }
  | { type: "refused"; status: number; code: string; detail: string; hint: string }
  | { type: "event"; event: unknown };

export interface Stream {
  stop(): void;
  /** retry tries at once instead of waiting for the backoff. */
  retry(): void;
}

/** silence is how long a stream may be silent: the sidecar sends a comment every 15 s. */
const silence = 40_000;
/** patience is how long a request may wait for its answer before that is reported. A browser holds a seventh connection back without a word. */
export const patience = 5_000;
const firstDelay = 250;
const maxDelay = 5_000;

/** follow reads the events of the sidecar with a token until it is stopped, or until the token is refused. */
export function follow(address: string, token: string, tell: (note: Note) => void): Stream {
  const end = new AbortController();
  let lastID = "";
  let retry = (): void => {};

  /** read reads one stream until it ends. It returns false where another attempt is useless. */
  async function read(): Promise<boolean> {
    const stop = new AbortController();
    const onEnd = (): void => stop.abort();
    end.signal.addEventListener("abort", onEnd, { once: true });
    let timer = setTimeout(() => tell({ type: "stuck" }), patience);
    try {
      const headers: Record<string, string> = { Accept: "text/event-stream", Authorization: "Bearer " + token };
      if (lastID) headers["Last-Event-ID"] = lastID;
      const res = await fetch(address, { headers, signal: stop.signal, cache: "no-store", credentials: "omit", redirect: "error" });
      clearTimeout(timer);
      if (!res.ok) {
        const body = (await res.json().catch(() => ({}))) as { code?: string; detail?: string; hint?: string };
        tell({ type: "refused", status: res.status, code: body.code ?? "http." + res.status, detail: body.detail ?? "", hint: body.hint ?? "" });
        return res.status !== 401 && res.status !== 403;
      }
      tell({ type: "open" });
      delay = firstDelay;
      const parser = createParser({
        onEvent(e) {
          if (e.id) lastID = e.id;
          if (e.data) tell({ type: "event", event: JSON.parse(e.data) });
        },
      });
      const reader = res.body!.pipeThrough(new TextDecoderStream()).getReader();
      for (;;) {
        timer = setTimeout(() => stop.abort(), silence);
        const { done, value } = await reader.read();
        clearTimeout(timer);
        if (done) return true;
        parser.feed(value);
      }
    } finally {
      clearTimeout(timer);
      end.signal.removeEventListener("abort", onEnd);
      stop.abort();
    }
  }

  let delay = firstDelay;
  async function run(): Promise<void> {
    while (!end.signal.aborted) {
      if (!(await read().catch(() => true)) || end.signal.aborted) return;
      tell({ type: "closed" });
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, delay * (0.75 + Math.random() / 2));
        retry = () => (clearTimeout(timer), resolve());
        end.signal.addEventListener("abort", () => retry(), { once: true });
      });
      delay = Math.min(maxDelay, delay * 2);
    }
  }
  void run();
  return { stop: () => end.abort(), retry: () => retry() };
}
