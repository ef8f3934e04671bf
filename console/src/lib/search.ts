import type { Skill } from "../api/model";

type Searched = Pick<Skill, "slug" | "owner" | "name" | "description" | "tags">;

// What is searched of a skill is made once for each version of it.
const texts = new WeakMap<object, string>();

function textOf(s: Searched): string {
  let t = texts.get(s);
  if (t === undefined) {
    t = [s.owner ? s.owner + "/" + s.slug : s.slug, s.name, s.description, ...(s.tags ?? [])].join("\n").toLowerCase();
    texts.set(s, t);
  }
  return t;
}

/** words cuts a query into the words that all have to be found. */
export function words(query: string): string[] {
  return query.toLowerCase().split(/\s+/).filter(Boolean);
}

/** matches reports whether a skill contains every word. */
export function matches(s: Searched, all: readonly string[]): boolean {
  const t = textOf(s);
  return all.every((w) => t.includes(w));
}

/**
 * search returns the skills that contain every word of a query; if there are none, those that the sidecar has found. paths are what it
 * has found, the most relevant first: these come first, in that order.
 */
export function search<T extends Searched & { path?: string }>(skills: readonly T[], query: string, paths: readonly string[] = []): readonly T[] {
  const all = words(query);
  if (all.length === 0) return skills;
  const rank = new Map(paths.map((path, i) => [path, i]));
  const of = (s: T): number => rank.get(s.path ?? "") ?? paths.length;
  const have = skills.filter((s) => matches(s, all));
  return (have.length > 0 ? have : skills.filter((s) => of(s) < paths.length)).sort((a, b) => of(a) - of(b));
}

const slice = 400;
let warming = 0;

/** warm prepares the texts of many skills while the page is idle, so that the first search does not have to. */
export function warm(skills: readonly Searched[]): void {
  const mine = ++warming;
  const later = globalThis.requestIdleCallback ?? ((f: () => void) => setTimeout(f, 1));
  const step = (from: number): void => {
    if (mine !== warming) return;
    for (const s of skills.slice(from, from + slice)) textOf(s);
    if (from + slice < skills.length) later(() => step(from + slice));
  };
  later(() => step(0));
}
