// Changes of the audit log: an entry before each change, and one after it.

export interface Entry {
  seq: number;
  time: string;
  phase: string;
  intent?: number;
  action: string;
  actor: { kind: string; name?: string; uid?: number | null };
  slug?: string;
  detail?: unknown;
  error?: string;
}

export interface Change {
  seq: number; // of its newest entry
  time: string;
  action: string;
  actor: string;
  slug: string;
  detail: string;
  error: string;
  /** open: there is no outcome, so it is under way, or a crash cut it off. */
  state: "done" | "failed" | "open";
}

/** Joins the entries of each change, newest first. */
export function changesOf(entries: Entry[]): Change[] {
  const intents = new Map(entries.filter((e) => e.phase === "intent").map((e) => [e.seq, e]));
  const ended = new Set(entries.map((e) => e.intent));
  const changes: Change[] = [];
  for (const entry of entries) {
    if (entry.phase === "intent" && ended.has(entry.seq)) continue;
    const intent = entry.intent === undefined ? undefined : intents.get(entry.intent);
    changes.push({
      seq: entry.seq,
      time: entry.time,
      action: entry.action,
      actor: actorText(entry.actor),
      slug: entry.slug ?? "",
      detail: detailText(intent?.detail ?? entry.detail),
      error: entry.error ?? "",
      state: entry.error ? "failed" : entry.phase === "intent" ? "open" : "done",
    });
  }
  return changes;
}

function actorText(actor: Entry["actor"]): string {
  const who = actor.name ?? (actor.uid === undefined || actor.uid === null ? "" : `uid ${actor.uid}`);
  return who ? `${who} (${actor.kind})` : actor.kind;
}

// Digests say nothing to a person; the entry has them.
const digest = /^(sha256:)?[0-9a-f]{64}$/;

/** Returns what was asked for as "name value, name value". */
function detailText(detail: unknown): string {
  if (typeof detail !== "object" || detail === null) return "";
  return Object.entries(detail)
    .filter(([, value]) => value !== null && value !== undefined && value !== "" && !(typeof value === "string" && digest.test(value)))
    .map(([name, value]) => `${name.replaceAll("_", " ")} ${valueText(value)}`.trim())
    .join(", ");
}

function valueText(value: unknown): string {
  if (typeof value !== "object" || value === null) return String(value);
  if ("count" in value) return String(value.count);
  return JSON.stringify(value);
}
