import { signal } from "@preact/signals";
import { ApiProblem, request } from "./client";
import type { StreamEvent } from "./model";
import { Frames } from "../lib/sse";

/** connected says whether events arrive. */
export const connected = signal(false);
/** lost says since when they do not, as milliseconds; 0 while connected and before the first connection. */
export const lost = signal(0);

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

let lastID = "";
let running: AbortController | null = null;
let retryNow = (): void => {};

/** silence is how long a stream may be silent: the sidecar sends a comment every 15 s. */
const silence = 40_000;
const firstDelay = 250;
const maxDelay = 5_000;

/** follow begins to read events; unfollow ends that. */
export function follow(): void {
  if (running) return;
  running = new AbortController();
  void run(running.signal);
}

export function unfollow(): void {
  running?.abort();
  running = null;
  lastID = "";
  connected.value = false;
  lost.value = 0;
}

/** reconnect tries at once instead of waiting for the backoff. */
export const reconnect = (): void => retryNow();

async function run(end: AbortSignal): Promise<void> {
  let delay = firstDelay;
  while (!end.aborted) {
    try {
      await read(end, () => (delay = firstDelay));
    } catch (err) {
      if (end.aborted) return;
      if (err instanceof ApiProblem && (err.status === 401 || err.status === 403)) return unfollow();
    }
    connected.value = false;
    if (!lost.value) lost.value = Date.now();
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, delay * (0.75 + Math.random() / 2));
      retryNow = () => (clearTimeout(timer), resolve());
      end.addEventListener("abort", () => retryNow(), { once: true });
    });
    delay = Math.min(maxDelay, delay * 2);
  }
}

/** read reads one stream until it ends. */
async function read(end: AbortSignal, alive: () => void): Promise<void> {
  const stop = new AbortController();
  const onEnd = (): void => stop.abort();
  end.addEventListener("abort", onEnd, { once: true });
  let watchdog = setTimeout(() => stop.abort(), silence);
  try {
    const headers: Record<string, string> = { Accept: "text/event-stream" };
    if (lastID) headers["Last-Event-ID"] = lastID;
    const res = await request("GET", "/v1/events", undefined, { signal: stop.signal, headers });
    connected.value = true;
    lost.value = 0;
    for (const f of opened) f();
    alive();
    const frames = new Frames();
    const reader = res.body!.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      clearTimeout(watchdog);
      watchdog = setTimeout(() => stop.abort(), silence);
      for (const frame of frames.push(value)) {
        if (frame.id) lastID = frame.id;
        if (frame.data) emit(frame.data);
      }
    }
  } finally {
    clearTimeout(watchdog);
    end.removeEventListener("abort", onEnd);
    stop.abort();
  }
}

function emit(data: string): void {
  const event = JSON.parse(data) as StreamEvent;
  for (const f of [...listeners]) f(event);
}
