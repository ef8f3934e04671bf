// The events that the page has seen. They are collected from the login on, whatever view is shown.
import { signal } from "@preact/signals";
import { request } from "../../api/client";
import { onEvent } from "../../api/events";
import type { StreamEvent } from "../../api/model";
import { EventLog, type EventFilter, type EventRecord } from "../../lib/eventlog";

const log = new EventLog();

/** events are those that are shown, newest first. */
export const events = signal<readonly EventRecord[]>([]);
export const waiting = signal(0);
export const paused = signal(false);
export const filter = signal<EventFilter>({ types: new Set(), skill: "" });
/** opened is the event whose data is shown. */
export const opened = signal<EventRecord | null>(null);

function show(): void {
  if (!log.paused) events.value = [...log.events];
  waiting.value = log.waiting;
  paused.value = log.paused;
}

let drawing = false;

// A change of many skills makes hundreds of events: they are drawn together.
function showSoon(): void {
  if (drawing) return;
  drawing = true;
  setTimeout(() => {
    drawing = false;
    show();
  }, 50);
}

onEvent((event) => {
  log.add(event);
  showSoon();
});

export function pause(): void {
  log.pause();
  show();
}

export function resume(): void {
  log.resume();
  show();
}

export function clear(): void {
  log.clear();
  show();
}

// The page begins with so many recorded events.
const recent = 200;

let read = false;

/** readRecent reads the newest events of the journal, once. */
export async function readRecent(): Promise<void> {
  if (read) return;
  read = true;
  try {
    // A number above the newest one is answered with the newest one.
    const [newest] = await replay(Number.MAX_SAFE_INTEGER);
    if (!newest) return;
    const found = await replay(Math.max(0, newest.seq - recent));
    log.addOlder(found.filter((event) => event.seq <= newest.seq).reverse());
    show();
  } catch (err) {
    read = false;
    throw err;
  }
}

/** replay returns the recorded events after a number. */
async function replay(after: number): Promise<StreamEvent[]> {
  const answer = await request("GET", "/v1/events?follow=0", undefined, { headers: { Accept: "text/event-stream", "Last-Event-ID": String(after) } });
  return Array.from((await answer.text()).matchAll(/^data: (.*)$/gm), (m) => JSON.parse(m[1]!) as StreamEvent); // an event is one line
}
