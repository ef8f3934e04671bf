// One sentence for each event, in plain words.

import { S } from "../strings";

const t = S.events;

export type Tone = "good" | "warn" | "bad" | "quiet";

export interface EventText {
  subject: string; // slug, file or platform; may be empty
  isSkill: boolean; // the subject is a skill that has a page
  text: string;
  tone: Tone;
}

type Data = Record<string, unknown>;

const text = (value: unknown): string => (typeof value === "string" ? value : value === undefined || value === null ? "" : String(value));
const list = (value: unknown): string[] => (Array.isArray(value) ? value.map(text) : []);
const total = (value: unknown): number => Object.values((value ?? {}) as Record<string, number>).reduce((sum, n) => sum + n, 0);

/** Names a few of many. */
export function someOf(names: string[], most = 4): string {
  if (names.length <= most + 1) return names.join(", ");
  return t.more(names.slice(0, most).join(", "), names.length - most);
}

const ofSkill = (subject: unknown, words: string, tone: Tone = "quiet"): EventText => ({ subject: text(subject), isSkill: text(subject) !== "", text: words, tone });
const of = (subject: unknown, words: string, tone: Tone = "quiet"): EventText => ({ subject: text(subject), isSkill: false, text: words, tone });

const installed = (words: (version: string, kind: string) => string) => (d: Data) => ofSkill(d.slug, words(text(d.version), text(d.source_kind)), "good");

const texts: Record<string, (d: Data) => EventText> = {
  skill_catalog_updated: (d) => of("", t.catalog(Number(d.count ?? 0), someOf(list(d.added)), someOf(list(d.changed)), someOf(list(d.removed)), list(d.collisions).length), "quiet"),
  skill_state_changed: stateText,
  skill_warning: (d) => ofSkill(d.name, t.warning(text(d.detail)), "warn"),
  skill_loaded: (d) => ofSkill(d.name, t.loaded, "quiet"),
  skill_file_read: (d) => ofSkill(d.slug, t.fileRead(text(d.path)), "quiet"),
  skill_invoked: (d) => ofSkill(d.slug, t.invoked(d.mode === "manual", text(d.command)), "good"),
  skill_override: (d) => ofSkill(d.slug, t.override(`${text(d.part)}.${text(d.key)}`, text(d.decision), text(d.reason)), d.decision === "refused" ? "warn" : "quiet"),
  turn_resolved: (d) => of("", t.turn(total(d.active), total(d.rejected)), "quiet"),
  skill_scanned: (d) => ofSkill(d.slug, t.scanned(text(d.decision), Number(d.findings ?? 0)), d.decision === "block" ? "bad" : d.decision === "warn" ? "warn" : "good"),
  workspace_changed: (d) => {
    const fields = (d.fields ?? {}) as Data;
    const restart = list(fields.restart);
    return of(someOf(list(d.files)), t.workspace(someOf(list(fields.hot)), someOf(restart)), restart.length > 0 ? "warn" : "quiet");
  },
  environment_changed: (d) => of("", t.environment(text(d.source), Number(d.bins ?? 0), Number(d.env ?? 0), Number(d.mcp ?? 0)), "quiet"),
  policy_changed: (d) => {
    const effective = (d.effective ?? {}) as Data;
    return ofSkill(d.slug, t.policy(effective.enabled === true, effective.allow_implicit_invocation === true), "quiet");
  },
  mcp_session: (d) => of(d.client, t.mcp(text(d.version), text(d.protocol)), "quiet"),
  install_added: installed(t.installed),
  install_replaced: installed(t.replaced),
  install_removed: (d) => ofSkill(d.slug, t.removed(text(d.version), text(d.source_kind)), "quiet"),
  install_rolled_back: installed(t.rolledBack),
  skill_promotion: (d) => of("", t.promotion(text(d.summary)), "quiet"),
  card_pushed: (d) => of(d.platform, t.pushed(Number(d.duration_ms ?? 0)), "good"),
  card_rejected: (d) => of(d.platform, t.rejected(text(d.error)), "bad"),
};

/** Types of event in the order of the filter. */
export const eventTypes = Object.keys(texts);

function stateText(d: Data): EventText {
  const to = text(d.to);
  const cause = text(d.cause).startsWith(`${to}: `) ? text(d.cause).slice(to.length + 2) : text(d.cause);
  if (to === "") return { ...ofSkill(d.slug, t.gone), isSkill: false };
  if (to === "eligible") return ofSkill(d.slug, d.from ? t.usableAgain : t.usable, "good");
  return ofSkill(d.slug, t.state(text(d.from), to, cause), to === "ineligible" ? "bad" : "quiet");
}

/** Describes any event; a type that this page does not know by its name. */
export function describe(type: string, data: unknown): EventText {
  const found = texts[type];
  if (found && typeof data === "object" && data !== null) return found(data as Data);
  return of("", type.replaceAll("_", " "), "quiet");
}
