// What the page can do about a condition of health, and the commands that its hint names.

export interface Condition {
  code: string;
  severity: string;
  subject: string;
  message: string;
  hint: string;
  since?: string;
}

export type Remedy =
  | { kind: "rescan" }
  | { kind: "acknowledge"; condition: string }
  | { kind: "skill"; slug: string; tab: string }
  | { kind: "scan"; slug: string }
  | { kind: "skills"; state?: string }
  | { kind: "view"; view: "card" };

/** Conditions that last until an operator acknowledges them. */
export const acknowledgeable = new Set(["state_lost", "policy_restored", "audit_broken"]);

// A person fixes a file or a directory; a scan then takes in what changed, without waiting for the watcher.
const fixedByScan = /^(?!config_restart_needed|config_tier_ignored)(root|lock|config|workspace|environment|mount|watch|card_withheld|push_failing|looks_overdue|read_back)/;

// Buttons for more skills than this are a list; the view of the skills has a better one.
const maxSkills = 5;

export function remediesOf(condition: Condition): Remedy[] {
  const remedies: Remedy[] = [];
  const slugs = slugsOf(condition.subject);
  const named = slugs.slice(0, maxSkills);
  switch (condition.code) {
    case "skills_unreadable":
      remedies.push(...named.map((slug) => ({ kind: "skill", slug, tab: "problems" }) as const));
      if (slugs.length > maxSkills) remedies.push({ kind: "skills", state: "ineligible" });
      break;
    case "scan_findings":
    case "skills_unscanned":
      for (const slug of named) remedies.push({ kind: "skill", slug, tab: "scan" }, { kind: "scan", slug });
      if (slugs.length > maxSkills) remedies.push({ kind: "skills" });
      break;
    case "slug_contested":
      remedies.push({ kind: "skill", slug: condition.subject, tab: "overview" }, { kind: "skills", state: "shadowed" });
      break;
    case "push_failing":
    case "card_contested":
    case "card_foreign_keys_dropped":
    case "card_trimmed":
    case "card_withheld":
      remedies.push({ kind: "view", view: "card" });
      break;
  }
  if (acknowledgeable.has(condition.code)) remedies.push({ kind: "acknowledge", condition: condition.code });
  if (fixedByScan.test(condition.code)) remedies.push({ kind: "rescan" });
  return remedies;
}

/** Returns the slugs of a list that may end in an ellipsis, without the name that it cuts. */
export function slugsOf(subject: string): string[] {
  const parts = subject.split(", ");
  if (/(…|\.\.\.)$/.test(subject)) parts.pop();
  return parts.filter((part) => part !== "" && !/\s/.test(part));
}

export interface HintPart {
  text: string;
  kind: "text" | "code" | "command";
}

// Commands of pannier that read files only and ask no sidecar.
const offline = /^pannier (audit|audit-log|token|version|replay|platform|run|publish|help)\b/;

/** Splits a hint into texts, code, and commands of pannier as they are meant for these skills. */
export function splitHint(hint: string, slugs: string[] = []): HintPart[] {
  const parts: HintPart[] = [];
  let at = 0;
  for (const found of hint.matchAll(/`([^`]+)`|"(pannier [a-z][^"]*)"/g)) {
    if (found.index > at) parts.push({ text: hint.slice(at, found.index), kind: "text" });
    const text = found[1] ?? found[2]!;
    parts.push(/^pannier [a-z]/.test(text) ? { text: forSkill(text, slugs), kind: "command" } : { text, kind: "code" });
    at = found.index + found[0].length;
  }
  if (at < hint.length) parts.push({ text: hint.slice(at), kind: "text" });
  return parts;
}

/** Names the skill in a command that is about one. */
function forSkill(command: string, slugs: string[]): string {
  if (slugs.length !== 1) return command;
  const slug = quote(slugs[0]!);
  if (/^pannier (show|scan)$/.test(command)) return `${command} ${slug}`;
  return command.replace(/\bSLUG\b/, slug);
}

/** Adds the flags that reach the sidecar of this session, unless the command asks none or names one. */
export function withFlags(command: string, flags: string): string {
  if (flags === "" || offline.test(command) || / --(socket|url)\b/.test(command)) return command;
  return `${command} ${flags}`;
}

/** Quotes a word for a shell, where it needs it. */
export function quote(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
