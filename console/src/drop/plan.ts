// Turns the sidecar's results for the skills of a drop into rows: what will happen, and what can be chosen.

export interface Finding {
  rule: string;
  severity: string;
  path: string;
  line?: number;
  message: string;
  hint?: string;
  blocking?: boolean;
}

export interface Reason {
  code: string;
  subject: string;
  remedy: string;
}

export interface Conflict {
  slug: string;
  path: string;
  fingerprint?: string;
  installed_version?: string;
  managed?: boolean;
}

export interface Refusal {
  code: string;
  detail: string;
  hint?: string;
  conflict?: Conflict;
  findings?: Finding[];
  reasons?: Reason[];
}

export interface Answer {
  status: string;
  skill: { slug: string; name?: string; version?: string; path: string; source_kind?: string; fingerprint?: string };
  previous_fingerprint?: string;
  findings?: Finding[];
  reasons?: Reason[];
  problems?: { code: string; severity: string; path?: string; line?: number; message: string; hint?: string }[];
  accepted?: { rule: string; reason: string }[];
  ignored?: string[];
}

/** Result is what the sidecar says of one skill of an archive, of a dry run or of the installation. */
export interface Result {
  path: string;
  slug?: string;
  ok: boolean;
  result?: Answer;
  error?: Refusal;
}

/** Choice is what the user wants for one skill. */
export interface Choice {
  skip?: boolean;
  /** the content that may be replaced, as the user saw it */
  replace?: Conflict;
  allowMissing?: boolean;
  accept?: string[];
  reason?: string;
}

/** Item is a choice as the sidecar takes it. */
export interface Item {
  path: string;
  skip?: boolean;
  replace?: { expected_fingerprint: string };
  allow_missing?: boolean;
  accept?: string[];
  reason?: string;
}

/** Offer is what a user can do about a skill that is not simply installed. */
export type Offer = "replace" | "allow_missing" | "accept";

export type Verdict = "new" | "update" | "same" | "exists" | "changed" | "collision" | "blocked" | "missing" | "refused" | "skipped";

export interface Row {
  path: string;
  /** the slug if it is known, else the folder */
  title: string;
  slug?: string;
  verdict: Verdict;
  /** the skill is installed or replaced when the user confirms */
  goes: boolean;
  version?: string;
  /** where the skill will lie */
  target?: string;
  /** of an update: the version that is installed */
  from?: string;
  conflict?: Conflict;
  /** the user is asked whether the model will be offered it */
  asks?: boolean;
  findings: Finding[];
  reasons: Reason[];
  notes: { message: string; hint?: string; path?: string; line?: number }[];
  error?: Refusal;
  offer?: Offer;
}

/** It concerns most installed skills, and the page asks once for all. */
const explicitOnly = "install.explicit_only";

/** startsNamed reports that no policy says yet whether the model is offered the skill of a result. */
export const startsNamed = (r: Result): boolean => (r.result?.problems ?? []).some((p) => p.code === explicitOnly);
const existing = new Set(["install.exists", "install.not_managed"]);

/** rowOf describes a result of the dry run, with what was chosen before it. */
export function rowOf(r: Result, choice: Choice = {}): Row {
  const skill = r.result?.skill;
  const slug = skill?.slug ?? r.slug ?? r.error?.conflict?.slug;
  const row: Row = {
    path: r.path,
    title: slug ?? (r.path || "SKILL.md"),
    slug,
    verdict: "refused",
    goes: false,
    version: skill?.version,
    target: skill?.path,
    findings: r.result?.findings ?? r.error?.findings ?? [],
    reasons: r.result?.reasons ?? r.error?.reasons ?? [],
    notes: (r.result?.problems ?? []).filter((p) => p.code !== explicitOnly).map(({ message, hint, path, line }) => ({ message, hint, path, line })),
    error: r.error,
    conflict: r.error?.conflict ?? choice.replace,
  };
  if (choice.skip) return { ...row, verdict: "skipped" };
  row.asks = r.ok && (r.result?.status === "installed" || (r.result?.status === "updated" && startsNamed(r)));
  return { ...row, ...(r.ok ? accepted(r.result?.status ?? "", choice) : refused(r.error)) };
}

function accepted(status: string, choice: Choice): Partial<Row> {
  switch (status) {
    case "already_installed":
    case "already_up_to_date":
      return { verdict: "same" };
    case "updated":
      return { verdict: "update", goes: true, from: choice.replace?.installed_version };
  }
  return { verdict: "new", goes: true };
}

function refused(error: Refusal | undefined): Partial<Row> {
  const code = error?.code ?? "";
  const replaceable = error?.conflict?.fingerprint ? { offer: "replace" as const } : {};
  if (existing.has(code)) return { verdict: "exists", ...replaceable };
  switch (code) {
    case "install.fingerprint":
      return { verdict: "changed", ...replaceable };
    case "install.collision":
    case "install.conflict":
      return { verdict: "collision" };
    case "install.security":
      return { verdict: "blocked", offer: blockingRules(error).length > 0 ? "accept" : undefined };
    case "install.dependency":
      return { verdict: "missing", offer: "allow_missing" };
  }
  return { verdict: "refused" };
}

/** blockingRules are those that a user has to accept. Older answers name them in the text only. */
export function blockingRules(error: Refusal | undefined): string[] {
  const structured = (error?.findings ?? []).filter((f) => f.blocking).map((f) => f.rule);
  const named = Array.from((error?.detail ?? "").matchAll(/\((scan\.[a-z0-9_.]+)\)/g), (m) => m[1]!);
  return [...new Set(structured.length > 0 ? structured : named)];
}

export function itemOf(path: string, c: Choice): Item {
  const item: Item = { path };
  if (c.skip) return { path, skip: true };
  if (c.replace?.fingerprint) item.replace = { expected_fingerprint: c.replace.fingerprint };
  if (c.allowMissing) item.allow_missing = true;
  if (c.accept?.length) {
    item.accept = c.accept;
    item.reason = c.reason ?? "";
  }
  return item;
}

/** itemsOf leaves out the skills for which nothing was chosen. */
export function itemsOf(choices: ReadonlyMap<string, Choice>): Item[] {
  return [...choices].map(([path, c]) => itemOf(path, c)).filter((i) => Object.keys(i).length > 1);
}

/** toInstall names every skill: those that do not go are skipped, so that nothing is installed that the user did not see go. */
export function toInstall(rows: readonly Row[], choices: ReadonlyMap<string, Choice>): Item[] {
  return rows.map((r) => (r.goes ? itemOf(r.path, choices.get(r.path) ?? {}) : { path: r.path, skip: true }));
}

/** inOrder has first what has to be looked at. A choice moves no row. */
export function inOrder(rows: readonly Row[]): Row[] {
  const plain = (r: Row): number => Number(!r.error && !r.conflict && r.findings.length + r.reasons.length + r.notes.length === 0);
  return [...rows].sort((a, b) => plain(a) - plain(b));
}

/** counts are for the summary below the rows and the label of the button. */
export function counts(rows: readonly Row[]): { installs: number; updates: number; same: number; stays: number; findings: number } {
  const n = { installs: 0, updates: 0, same: 0, stays: 0, findings: 0 };
  for (const r of rows) {
    if (r.goes && r.findings.length > 0) n.findings++;
    if (r.verdict === "new") n.installs++;
    else if (r.verdict === "update") n.updates++;
    else if (r.verdict === "same") n.same++;
    else n.stays++;
  }
  return n;
}

/** droppedPath names a file of the archive as the user knows it: where it lay in what was dropped. */
export function droppedPath(file: string, skillPath: string, from: string | undefined): string {
  if (!from || file === from || file.startsWith(`${from}/`)) return file;
  if (file === skillPath || file.startsWith(`${skillPath}/`)) return from + file.slice(skillPath.length);
  return skillPath ? `${from}/${file}` : file;
}
