import { signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { asProblem, type ApiProblem } from "../../api/client";
import { connected } from "../../api/events";
import { describe, eventTypes, type Tone } from "../../lib/eventtext";
import { matches, type EventRecord } from "../../lib/eventlog";
import { useKeys } from "../../lib/keys";
import { href } from "../../router";
import { S } from "../../strings";
import { Badge, type Tone as BadgeTone } from "../../ui/Badge";
import { Button, CopyButton } from "../../ui/Button";
import { Code } from "../../ui/Code";
import { Dialog } from "../../ui/Dialog";
import { Empty } from "../../ui/Empty";
import { ErrorBox } from "../../ui/ErrorBox";
import { VirtualList } from "../../ui/VirtualList";
import { useNarrow } from "../live";
import { clear, events, filter, opened, pause, paused, readRecent, resume, waiting } from "./model";

const filterID = "event-filter";
// The selected event, by key: its place changes with each new event.
const selected = signal("");
const keyOf = (event: EventRecord) => `${event.seq} ${event.time}`;

export function EventList() {
  const [error, setError] = useState<ApiProblem | null>(null);
  const readOlder = () => readRecent().then(() => setError(null), (err) => setError(asProblem(err)));
  useEffect(() => void readOlder(), []);
  const shown = events.value.filter((event) => matches(event, filter.value));
  const at = shown.findIndex((event) => keyOf(event) === selected.value);
  const move = (by: number) => {
    const next = shown[at < 0 ? 0 : Math.min(shown.length - 1, Math.max(0, at + by))];
    if (next) selected.value = keyOf(next);
  };
  useKeys({
    "/": () => document.getElementById(filterID)?.focus(),
    j: () => move(1),
    k: () => move(-1),
    Enter: () => (opened.value = shown[at] ?? null),
    p: () => (paused.peek() ? resume() : pause()),
  });
  const narrow = useNarrow();
  return (
    <>
      <Toolbar />
      {error && <ErrorBox error={error} title={S.activity.noRecent} retry={readOlder} />}
      {shown.length === 0 && <Empty title={events.value.length === 0 ? S.activity.emptyTitle : S.activity.filteredTitle}><p>{events.value.length === 0 ? S.activity.empty : S.activity.filtered}</p></Empty>}
      <div class="events">
        <VirtualList id="events" label={S.activity.events} items={shown} rowHeight={narrow ? 84 : 48} selected={at} keyOf={keyOf} render={(e) => <EventRow event={e} />} />
      </div>
      <EventData />
    </>
  );
}

function Toolbar() {
  const { types, skill } = filter.value;
  const toggle = (type: string) => {
    const next = new Set(types);
    if (!next.delete(type)) next.add(type);
    filter.value = { types: next, skill };
  };
  return (
    <div class="toolbar">
      <Button onClick={paused.value ? resume : pause}>{paused.value ? S.activity.resume(waiting.value) : S.activity.pause}</Button>
      <input id={filterID} type="search" value={skill} aria-label={S.activity.skill} placeholder={S.activity.skill} onInput={(e) => (filter.value = { types, skill: e.currentTarget.value })} />
      <details class="dropdown">
        <summary class="button plain">{S.activity.types(types.size)}</summary>
        <fieldset>
          <legend class="visually-hidden">{S.activity.typesLegend}</legend>
          {eventTypes.map((type) => (
            <label class="check" key={type}>
              <input type="checkbox" checked={types.has(type)} onChange={() => toggle(type)} /> {S.activity.typeNames[type] ?? type}
            </label>
          ))}
          {types.size > 0 && <Button kind="quiet" onClick={() => (filter.value = { types: new Set(), skill })}>{S.activity.allTypes}</Button>}
        </fieldset>
      </details>
      <Button kind="quiet" onClick={clear}>{S.activity.clear}</Button>
      <span class="hint" role="status">{paused.value ? S.activity.pausedHint(waiting.value) : connected.value ? S.activity.live : S.activity.notLive}</span>
    </div>
  );
}

const tones: Record<Tone, BadgeTone> = { good: "ok", warn: "warn", bad: "bad", quiet: "plain" };

function EventRow({ event }: { event: EventRecord }) {
  const { subject, isSkill, text, tone } = describe(event.type, event.data);
  return (
    <div class="event">
      <time dateTime={event.time} title={new Date(event.time).toLocaleString()}>{clock(event.time)}</time>
      <span class="event-text">
        {subject && (isSkill ? <a href={href("skills", subject)}>{subject}</a> : <strong class="break">{subject}</strong>)} {text}
      </span>
      <Badge tone={tones[tone]}>{S.activity.typeNames[event.type] ?? event.type}</Badge>
      <Button kind="quiet" class="small" aria-label={S.activity.dataOf(event.seq)} onClick={() => (opened.value = event)}>{S.activity.data}</Button>
    </div>
  );
}

const clock = (time: string) => new Date(time).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });

function EventData() {
  const event = opened.value;
  const json = event ? JSON.stringify(event, null, 2) : "";
  return (
    <Dialog wide title={event ? S.activity.eventTitle(event.seq) : ""} open={event !== null} onClose={() => (opened.value = null)} footer={<CopyButton text={json} />}>
      <Code text={json} label={S.activity.data} />
    </Dialog>
  );
}
