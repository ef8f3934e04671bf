import { computed, signal } from "@preact/signals";
import { useRef } from "preact/hooks";
import type { PolicyChange, Skill } from "../api/model";
import { changePolicy, setPolicy, undoOf } from "../api/policy";
import { asProblem } from "../api/client";
import { canWrite } from "../api/session";
import { changes, each } from "../lib/bulk";
import { useKeys } from "../lib/keys";
import { search } from "../lib/search";
import { href, route, setParams } from "../router";
import { changed, list, loadAll, loadError, loaded } from "../store";
import { S } from "../strings";
import { StateBadge } from "../ui/Badge";
import { Button, Switch } from "../ui/Button";
import { Empty, Loading } from "../ui/Empty";
import { ErrorBox } from "../ui/ErrorBox";
import { SearchIcon } from "../ui/icons";
import { toast } from "../ui/Toast";
import { VirtualList } from "../ui/VirtualList";

const filters: Record<string, (s: Skill) => boolean> = {
  on: (s) => s.policy?.enabled ?? false,
  off: (s) => !s.policy?.enabled,
  implicit: (s) => s.policy?.allow_implicit_invocation ?? false,
  named: (s) => !s.policy?.allow_implicit_invocation,
  here: (s) => s.policy?.source === "workspace" || s.policy?.implicit_source === "workspace",
};

const param = (name: string): string => (route.value.view === "switches" ? (route.value.params[name] ?? "") : "");
const query = computed(() => param("q"));
const filter = computed(() => param("show"));
const found = computed(() => search(list.value, query.value));
const shown = computed(() => {
  const f = filters[filter.value];
  return f ? found.value.filter(f) : found.value;
});
/** selected are paths; those that are not shown do not count. */
const selected = signal<ReadonlySet<string>>(new Set());
const chosen = computed(() => shown.value.filter((s) => selected.value.has(s.path)));
/** running is how many skills of a change of many are done; null while there is none. */
const running = signal<{ done: number; of: number } | null>(null);

const atOnce = 4;

export function Switches() {
  const box = useRef<HTMLInputElement>(null);
  useKeys({ "/": () => box.current?.select(), Escape: () => (selected.value.size > 0 ? (selected.value = new Set()) : setParams({ q: "", show: "" })) });
  const items = shown.value;
  return (
    <div class="page skills switches">
      <header class="list-head">
        <h1 class="visually-hidden">{S.nav.switches}</h1>
        <p class="hint">{S.switches.lead}</p>
        <div class="search">
          <SearchIcon />
          <input
            ref={box}
            type="search"
            aria-label={S.switches.search}
            placeholder={S.switches.search}
            autocomplete="off"
            spellcheck={false}
            value={query.value}
            onInput={(e) => setParams({ q: e.currentTarget.value })}
          />
          <kbd aria-hidden="true">/</kbd>
        </div>
        <div class="chips" role="group" aria-label={S.switches.filter}>
          <Chip id="" count={found.value.length} />
          {Object.entries(filters).map(([id, f]) => (
            <Chip key={id} id={id} count={found.value.reduce((sum, s) => sum + (f(s) ? 1 : 0), 0)} />
          ))}
        </div>
        {canWrite() && items.length > 0 && <Bulk />}
        <div class="switch-row columns" aria-hidden="true">
          <span class="switch-skill" />
          <span>{S.switches.enabled}</span>
          <span>{S.switches.implicit}</span>
        </div>
      </header>
      {loadError.value && <ErrorBox error={loadError.value} retry={loadAll} />}
      {!loaded.value && list.value.length === 0 && <Loading label={S.common.loading} rows={8} />}
      {loaded.value && items.length === 0 && (
        <Empty title={list.value.length === 0 ? S.switches.noSkills : S.switches.noMatch} icon={<SearchIcon />}>
          {list.value.length > 0 && <Button onClick={() => setParams({ q: "", show: "" })}>{S.switches.showAll}</Button>}
        </Empty>
      )}
      {items.length > 0 && <VirtualList id="switch-list" label={S.nav.switches!} items={items} rowHeight={72} keyOf={(s) => s.path} render={(s) => <Row s={s} />} />}
    </div>
  );
}

function Chip({ id, count }: { id: string; count: number }) {
  return (
    <button type="button" class="chip" aria-pressed={filter.value === id} onClick={() => setParams({ show: id })}>
      {S.switches.filters[id || "all"]} <span class="count">{count.toLocaleString("en")}</span>
    </button>
  );
}

/** Bulk changes the switches of all selected skills. */
function Bulk() {
  const n = chosen.value.length;
  const all = n > 0 && n === shown.value.length;
  const toggle = (): void => {
    selected.value = all ? new Set() : new Set(shown.value.map((s) => s.path));
  };
  const buttons: [string, PolicyChange][] = [
    [S.switches.turnOn, { enabled: true }],
    [S.switches.turnOff, { enabled: false }],
    [S.switches.allow, { allow_implicit_invocation: true }],
    [S.switches.forbid, { allow_implicit_invocation: false }],
    [S.switches.reset, { enabled: null, allow_implicit_invocation: null }],
  ];
  return (
    <div class="bulk" role="group" aria-label={S.switches.bulk}>
      <label class="check">
        <input type="checkbox" checked={all} ref={(el) => {
          if (el) el.indeterminate = n > 0 && !all;
        }} onChange={toggle} />
        {n > 0 ? S.switches.selected(n) : S.switches.selectAll(shown.value.length)}
      </label>
      {running.value && <span role="status">{S.switches.running(running.value.done, running.value.of)}</span>}
      {n > 0 &&
        buttons.map(([label, change]) => (
          <Button key={label} class="small" disabled={running.value !== null || !chosen.value.some((s) => changes(s, change))} onClick={() => changeAll(chosen.value, change)}>
            {label}
          </Button>
        ))}
    </div>
  );
}

/** changeAll changes many skills and offers to take all of it back at once. */
async function changeAll(of: readonly Skill[], change: PolicyChange): Promise<void> {
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
  const out = await each(items, atOnce, f, (done) => (running.value = { done, of: items.length }));
  running.value = null;
  return out;
}

function Row({ s }: { s: Skill }) {
  const p = s.policy;
  const change = changed.value.get(s.path);
  const fixed = !canWrite() || Boolean(s.shadowed_by) || !p;
  const select = (on: boolean): void => {
    const next = new Set(selected.value);
    if (on) next.add(s.path);
    else next.delete(s.path);
    selected.value = next;
  };
  return (
    <div class={change ? "switch-row changed" : "switch-row"} data-slug={s.slug} data-path={s.path}>
      {canWrite() && (
        <input type="checkbox" aria-label={S.switches.select(s.slug)} checked={selected.value.has(s.path)} onChange={(e) => select(e.currentTarget.checked)} />
      )}
      <span class="switch-skill">
        <a href={href("skills", s.slug, { path: s.shadowed_by ? s.path : undefined })}>{s.slug}</a>
        <StateBadge skill={s} />
        {change && <span class="badge info change">{change.text}</span>}
        {s.shadowed_by && <small class="muted">{S.switches.shadowed(s.shadowed_by)}</small>}
      </span>
      <Cell on={p?.enabled ?? false} layer={p?.source} label={S.switches.enabledOf(s.slug)} disabled={fixed} onChange={(on) => changePolicy(s, { enabled: on })} />
      <Cell
        on={p?.allow_implicit_invocation ?? false}
        layer={p?.implicit_source}
        label={S.switches.implicitOf(s.slug)}
        disabled={fixed}
        onChange={(on) => changePolicy(s, { allow_implicit_invocation: on })}
      />
    </div>
  );
}

function Cell({ on, layer, label, disabled, onChange }: { on: boolean; layer?: string; label: string; disabled: boolean; onChange: (on: boolean) => unknown }) {
  return (
    <span class="switch-cell">
      <Switch on={on} label={label} disabled={disabled} onChange={onChange} />
      {layer && (
        <small class="muted" title={S.switches.layerHints[layer]}>
          {S.switches.layers[layer] ?? layer}
        </small>
      )}
    </span>
  );
}
