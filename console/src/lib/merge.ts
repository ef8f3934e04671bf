import type { Skill } from "../api/model";
import { S } from "../strings";
import { useOf } from "./use";

export type Skills = ReadonlyMap<string, Skill>;

/** Change says what happened to a skill; `path` is that of its row, which is gone if it was removed. */
export interface Change {
  path: string;
  slug: string;
  text: string;
}

/** order is that of lists: by slug in bytes, the winner of a slug before those that it shadows. */
export function order(a: Skill, b: Skill): number {
  if (a.slug !== b.slug) return a.slug < b.slug ? -1 : 1;
  const shadowed = Number(Boolean(a.shadowed_by)) - Number(Boolean(b.shadowed_by));
  return shadowed || (a.path < b.path ? -1 : a.path > b.path ? 1 : 0);
}

/** describe says what is different between two versions of a skill; empty where nothing is that a person would notice. */
export function describe(before: Skill | undefined, after: Skill): string {
  const c = S.changes;
  if (!before) return c.added;
  const parts: string[] = [];
  const use = useOf(after);
  if (useOf(before) !== use) parts.push(c.use(useOf(before), use));
  else if (before.state !== after.state) parts.push(c.state(before.state, after.state));
  else if (after.deleting && !before.deleting) parts.push(c.deleting);
  else if (after.last_good !== before.last_good) parts.push(after.last_good ? c.lastGood : c.readable);
  else if (reasons(before) !== reasons(after)) parts.push(c.reasons);
  if (before.version !== after.version) parts.push(c.version(before.version, after.version));
  else if (before.digest !== after.digest || before.meta_digest !== after.meta_digest) parts.push(c.text);
  else if (before.fingerprint && after.fingerprint && before.fingerprint !== after.fingerprint) parts.push(c.files);
  if (before.policy && after.policy && before.state === after.state && useOf(before) === use) {
    if (before.policy.enabled !== after.policy.enabled) parts.push(after.policy.enabled ? c.enabled : c.disabled);
    if (before.policy.allow_implicit_invocation !== after.policy.allow_implicit_invocation)
      parts.push(after.policy.allow_implicit_invocation ? c.implicitOn : c.implicitOff);
  }
  if (after.scan_summary && before.scan_summary?.decision !== after.scan_summary.decision) parts.push(c.scan(after.scan_summary.decision));
  return parts.join(" · ");
}

const reasons = (s: Skill): string => (s.reasons ?? []).map((r) => r.code + " " + r.subject).join("\n");

/** mergeSlugs replaces everything with one of these slugs by what was read of them. The rest stays the same. */
export function mergeSlugs(now: Skills, slugs: ReadonlySet<string>, fresh: readonly Skill[]): { skills: Skills; changes: Change[] } {
  const changes: Change[] = [];
  for (const s of fresh) {
    const text = describe(now.get(s.path), s);
    if (text) changes.push({ path: s.path, slug: s.slug, text });
  }
  const paths = new Set(fresh.map((s) => s.path));
  const kept: Skill[] = [];
  for (const s of now.values()) {
    if (!slugs.has(s.slug)) kept.push(s);
    else if (!paths.has(s.path)) changes.push({ path: s.path, slug: s.slug, text: S.changes.removed });
  }
  // A directory whose skill got another slug is one skill, not two.
  const others = kept.filter((s) => !paths.has(s.path));
  return { skills: sorted(others, [...fresh].sort(order)), changes };
}

/** replaceAll takes a whole list, and says what is different if there was one before. */
export function replaceAll(now: Skills, fresh: readonly Skill[]): { skills: Skills; changes: Change[] } {
  const changes: Change[] = [];
  if (now.size > 0) {
    for (const s of fresh) {
      const text = describe(now.get(s.path), s);
      if (text) changes.push({ path: s.path, slug: s.slug, text });
    }
    const paths = new Set(fresh.map((s) => s.path));
    for (const s of now.values()) if (!paths.has(s.path)) changes.push({ path: s.path, slug: s.slug, text: S.changes.removed });
  }
  return { skills: sorted([], [...fresh].sort(order)), changes };
}

/** sorted joins two sorted lists. */
function sorted(a: readonly Skill[], b: readonly Skill[]): Skills {
  const out = new Map<string, Skill>();
  let i = 0;
  for (const s of b) {
    while (i < a.length && order(a[i]!, s) <= 0) out.set(a[i]!.path, a[i++]!);
    out.set(s.path, s);
  }
  while (i < a.length) out.set(a[i]!.path, a[i++]!);
  return out;
}
