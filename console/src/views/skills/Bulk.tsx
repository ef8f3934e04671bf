import { signal } from "@preact/signals";
import { asProblem } from "../../api/client";
import type { PolicyChange, Skill } from "../../api/model";
import { setPolicy, undoOf } from "../../api/policy";
import { changes, each } from "../../lib/bulk";
import { calmly } from "../../store";
import { S } from "../../strings";
import { Button } from "../../ui/Button";
import { toast } from "../../ui/Toast";

/** selected are paths; those that are not shown do not count. */
export const selected = signal<ReadonlySet<string>>(new Set());
/** running is how many skills of a change of many are done; null while there is none. */
const running = signal<{ done: number; of: number } | null>(null);

const atOnce = 4;
let anchor = "";

/** chosen are the selected ones among the skills that are shown. */
export const chosen = (shown: readonly Skill[]): readonly Skill[] => (selected.value.size === 0 ? [] : shown.filter((s) => selected.value.has(s.path)));

/** select adds a skill to the selection, or removes it. */
export function select(s: Skill, on: boolean): void {
  const next = new Set(selected.value);
  if (on) next.add(s.path);
  else next.delete(s.path);
  anchor = s.path;
  selected.value = next;
}

/** selectTo selects all skills from the last one that was selected to this one. */
export function selectTo(shown: readonly Skill[], s: Skill): void {
  const at = [anchor, s.path].map((path) => shown.findIndex((o) => o.path === path));
  if (at[0]! < 0) return select(s, true);
  selected.value = new Set([...selected.value, ...shown.slice(Math.min(...at), Math.max(...at) + 1).map((o) => o.path)]);
}

/** Bulk changes the switches of all selected skills. */
export function Bulk({ items }: { items: readonly Skill[] }) {
  if (items.length === 0) return null;
  const buttons: [string, PolicyChange][] = [
    [S.switches.turnOn, { enabled: true }],
    [S.switches.turnOff, { enabled: false }],
    [S.switches.allow, { allow_implicit_invocation: true }],
    [S.switches.forbid, { allow_implicit_invocation: false }],
    [S.switches.reset, { enabled: null, allow_implicit_invocation: null }],
  ];
  return (
    <div class="bulk" role="group" aria-label={S.switches.bulk}>
      <strong>{S.switches.selected(items.length)}</strong>
      {running.value && <span role="status">{S.switches.running(running.value.done, running.value.of)}</span>}
      {buttons.map(([label, change]) => (
        <Button key={label} class="small" disabled={running.value !== null || !items.some((s) => changes(s, change))} onClick={() => changeAll(items, change)}>
          {label}
        </Button>
      ))}
      <Button kind="quiet" class="small" onClick={() => (selected.value = new Set())}>
        {S.switches.clear}
      </Button>
    </div>
  );
}

/** changeAll changes many skills and offers to take all of it back at once. */
export async function changeAll(of: readonly Skill[], change: PolicyChange): Promise<void> {
  const items = of.filter((s) => changes(s, change)).map((s) => ({ s, undo: undoOf(s, change) }));
  const out = await run(items, ({ s }) => setPolicy(s, change));
  if (out.failed.length > 0) {
    const first = asProblem(out.failed[0]!.error);
    toast({ kind: "error", text: S.switches.failed(out.failed.length, out.failed[0]!.item.s.slug, first.detail), hint: first.hint });
  }
  if (out.done.length > 0) toast({ kind: "ok", text: S.switches.changed(out.done.length), undo: () => run(out.done, ({ s, undo }) => setPolicy(s, undo)) });
}

async function run<T>(items: readonly T[], f: (item: T) => Promise<unknown>) {
  running.value = { done: 0, of: items.length };
  const out = await calmly(each(items, atOnce, f, (done) => (running.value = { done, of: items.length })));
  running.value = null;
  return out;
}
