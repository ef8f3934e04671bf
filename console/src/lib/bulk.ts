// Changes of the switches of many skills.

import type { PolicyChange, Skill } from "../api/model";

export type Switched = Pick<Skill, "slug" | "path" | "source_kind" | "policy" | "shadowed_by">;

/** changes reports whether a change of the switches would do anything to a skill. */
export function changes(s: Switched, change: PolicyChange): boolean {
  const p = s.policy;
  if (s.shadowed_by || !p) return false;
  const differs = (now: boolean, layer: string, want: boolean | null | undefined): boolean =>
    want === undefined ? false : want === null ? layer === "workspace" : now !== want;
  return differs(p.enabled, p.source, change.enabled) || differs(p.allow_implicit_invocation, p.implicit_source, change.allow_implicit_invocation);
}

export interface Outcome<T> {
  done: T[];
  failed: { item: T; error: unknown }[];
}

/** each runs a function for all items, some at a time; a failure does not stop the others. */
export async function each<T>(items: readonly T[], atOnce: number, run: (item: T) => Promise<unknown>, onProgress?: (done: number) => void): Promise<Outcome<T>> {
  const out: Outcome<T> = { done: [], failed: [] };
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < items.length) {
      const item = items[next++]!;
      try {
        await run(item);
        out.done.push(item);
      } catch (error) {
        out.failed.push({ item, error });
      }
      onProgress?.(out.done.length + out.failed.length);
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, worker));
  return out;
}
