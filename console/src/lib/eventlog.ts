// The events that the page keeps, newest first, and what a filter shows of them.

export interface EventRecord {
  seq: number;
  time: string;
  type: string;
  snapshot_version: number;
  data: unknown;
}

export interface EventFilter {
  types: ReadonlySet<string>; // empty: all
  skill: string; // part of a slug; empty: all
}

// Older events are in the journal of the sidecar; a page that stays open for days must not grow.
export const maxEvents = 2000;

export class EventLog {
  #shown: EventRecord[] = [];
  #waiting: EventRecord[] = [];
  #seen = new Set<string>(); // numbers begin again where the state directory was lost, so the time belongs to it
  #paused = false;

  /** Adds an event. A stream that resumes can repeat one. */
  add(event: EventRecord): void {
    if (this.#seen.has(keyOf(event))) return;
    this.#seen.add(keyOf(event));
    const list = this.#paused ? this.#waiting : this.#shown;
    list.unshift(event);
    if (list.length > maxEvents) this.#seen.delete(keyOf(list.pop()!));
  }

  /** Adds events that happened before all others, newest first. */
  addOlder(events: EventRecord[]): void {
    for (const event of events) {
      if (this.#seen.has(keyOf(event)) || this.#shown.length >= maxEvents) continue;
      this.#seen.add(keyOf(event));
      this.#shown.push(event);
    }
    this.#shown.sort((a, b) => (a.time === b.time ? b.seq - a.seq : a.time < b.time ? 1 : -1));
  }

  /** The events that are shown, newest first. */
  get events(): readonly EventRecord[] {
    return this.#shown;
  }

  /** How many events came during the pause. */
  get waiting(): number {
    return this.#waiting.length;
  }

  get paused(): boolean {
    return this.#paused;
  }

  pause(): void {
    this.#paused = true;
  }

  resume(): void {
    this.#paused = false;
    const all = [...this.#waiting, ...this.#shown];
    for (const dropped of all.splice(maxEvents)) this.#seen.delete(keyOf(dropped));
    this.#shown = all;
    this.#waiting = [];
  }

  clear(): void {
    this.#shown = [];
    this.#waiting = [];
    this.#seen.clear();
  }
}

const keyOf = (event: EventRecord) => `${event.seq} ${event.time}`;

export function matches(event: EventRecord, filter: EventFilter): boolean {
  if (filter.types.size > 0 && !filter.types.has(event.type)) return false;
  const skill = filter.skill.trim().toLowerCase();
  return skill === "" || skillsOf(event).some((slug) => slug.toLowerCase().includes(skill));
}

/** Returns the slugs and names of the skills that an event is about. */
export function skillsOf(event: EventRecord): string[] {
  const data = (event.data ?? {}) as Record<string, unknown>;
  const slugs: unknown[] = [data.slug, data.name];
  for (const list of [data.added, data.changed, data.removed]) if (Array.isArray(list)) slugs.push(...list);
  if (Array.isArray(data.skills)) for (const skill of data.skills) slugs.push((skill as { slug?: unknown } | null)?.slug);
  return slugs.filter((slug): slug is string => typeof slug === "string" && slug !== "");
}
