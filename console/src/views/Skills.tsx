import { computed, signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Skill } from "../api/model";
import { changePolicy } from "../api/policy";
import { canWrite } from "../api/session";
import { openDropPanel } from "../drop/panel_state";
import { useKeys } from "../lib/keys";
import { needsAttention, sentence } from "../lib/reason";
import { search } from "../lib/search";
import { trustSource } from "../lib/trust";
import { lineOf, orders, sorted, useOf, uses, type Order } from "../lib/use";
import { href, navigate, route, setParams } from "../router";
import { changed, faults, health, lastChange, list, listProblems, loadAll, loadError, loaded, loading, rank, ranked, total } from "../store";
import { S } from "../strings";
import { Badge, UseBadge } from "../ui/Badge";
import { Button, Switch } from "../ui/Button";
import { Command } from "../ui/Code";
import { Empty, Loading } from "../ui/Empty";
import { ErrorBox } from "../ui/ErrorBox";
import { CloseIcon, DropIcon, SearchIcon } from "../ui/icons";
import { VirtualList } from "../ui/VirtualList";
import { Hint, command } from "./commands";
import { useNarrow } from "./live";
import { Bulk, chosen, select, selectTo, selected } from "./skills/Bulk";

const attention = "attention";
const states = ["eligible", "ineligible", "disabled", "unlisted", "shadowed"] as const;

// Chips are those of the uses; conditions of health lead to a state.
const filters: Record<string, (s: Skill) => boolean> = { [attention]: (s) => needsAttention(s) || faults.value.has(s.path) };
for (const use of uses) filters[use] = (s) => useOf(s) === use;
for (const state of states) filters[state] = (s) => s.state === state;

const onList = (): boolean => route.value.view === "skills" && route.value.slug === "";
const param = (name: string): string => (onList() ? (route.value.params[name] ?? "") : "");
const query = computed(() => param("q"));
const filter = computed(() => param("state"));
const order = computed(() => param("sort"));
const found = computed(() => search(list.value, query.value, ranked.value.query === query.value ? ranked.value.paths : []));
const shown = computed(() => {
  const f = filters[filter.value];
  return sorted(f ? found.value.filter(f) : found.value, order.value, sourceOf);
});
const counts = computed(() => {
  const out: Record<string, number> = {};
  for (const id of Object.keys(filters)) out[id] = 0;
  for (const s of found.value) {
    out[useOf(s)]!++;
    out[s.state]!++;
    if (filters[attention]!(s)) out[attention]!++;
  }
  return out;
});

function sourceOf(s: Skill): string {
  return s.managed ? S.skills.managed : s.root;
}

// The row where the list was left, for the way back.
let lastPath = "";

// The search, the filter and the order with which the list was left.
const lastParams = signal<Record<string, string | undefined>>({});

/** listParams are the parameters of the list for the way back to it. */
export const listParams = (): Record<string, string | undefined> => lastParams.peek();

/** skillHref is the address of a skill; one that is shadowed is named by its path. */
export const skillHref = (s: Pick<Skill, "slug" | "path" | "shadowed_by">, tab?: string): string =>
  href("skills", s.slug, { path: s.shadowed_by ? s.path : undefined, tab });

/** Skills answers for each skill whether the agent will use it, why not, and lets that be changed. */
export function Skills() {
  const box = useRef<HTMLInputElement>(null);
  const [path, setPath] = useState(lastPath);
  const narrow = useNarrow();
  const items = shown.value;
  if (onList()) lastParams.value = { q: query.value, state: filter.value, sort: order.value };
  const at = path ? items.findIndex((s) => s.path === path) : -1;

  const move = (i: number): void => {
    const s = items[Math.min(Math.max(0, i), items.length - 1)];
    if (s) setPath((lastPath = s.path));
  };
  const open = (i: number): void => {
    const s = items[i];
    if (!s) return;
    lastPath = s.path;
    navigate("skills", s.slug, { path: s.shadowed_by ? s.path : undefined });
  };
  useKeys({
    "/": () => box.current?.select(),
    j: () => move(at + 1),
    k: () => move(at - 1),
    ArrowDown: () => move(at + 1),
    ArrowUp: () => move(at - 1),
    Home: () => move(0),
    End: () => move(items.length - 1),
    Enter: () => open(at),
    x: () => items[at] && canWrite() && select(items[at], !selected.value.has(items[at].path)),
    Escape: () => (selected.value.size > 0 ? (selected.value = new Set()) : setParams({ q: "", state: "" })),
  });
  useEffect(() => {
    const soon = setTimeout(() => void rank(query.value), 100);
    return () => clearTimeout(soon);
  }, [query.value, list.value]);
  useEffect(() => {
    if (path && loaded.peek() && at < 0) setPath("");
  }, [at]);

  return (
    <div class={canWrite() ? "page skills writes" : "page skills"}>
      <header class="list-head">
        <h1 class="visually-hidden">{S.nav.skills}</h1>
        <SearchBox input={box} onDown={() => move(Math.max(0, at))} onEnter={() => open(Math.max(0, at))} />
        <Filters />
        <p class="list-status" role="status">
          <Status />
        </p>
        {items.length > 0 && <Columns items={items} />}
        {canWrite() && <Bulk items={chosen(items)} />}
      </header>
      <Faults />
      {loadError.value && (
        <ErrorBox title={list.value.length ? S.skills.stale : S.skills.failed} error={loadError.value} retry={loadAll} />
      )}
      {list.value.length === 0 ? (
        <Nothing />
      ) : items.length === 0 ? (
        <NoMatch />
      ) : (
        <VirtualList id="skill-list" label={S.nav.skills!} items={items} rowHeight={narrow ? 76 : 40} keyOf={(s) => s.path} selected={at} focusSelected render={(s) => <Row s={s} items={items} />} />
      )}
    </div>
  );
}

function SearchBox({ input, onDown, onEnter }: { input: { current: HTMLInputElement | null }; onDown: () => void; onEnter: () => void }) {
  const key = (e: KeyboardEvent): void => {
    if (e.key === "Escape") {
      setParams({ q: "" });
      input.current!.blur();
    } else if (e.key === "ArrowDown") onDown();
    else if (e.key === "Enter") onEnter();
    else return;
    e.preventDefault();
    e.stopPropagation();
  };
  return (
    <div class="search">
      <SearchIcon />
      <input
        ref={input}
        type="search"
        aria-label={S.skills.search}
        placeholder={`${S.skills.search} ${S.skills.searchHint}`}
        autocomplete="off"
        spellcheck={false}
        value={query.value}
        onInput={(e) => setParams({ q: e.currentTarget.value })}
        onKeyDown={key}
      />
      {query.value ? (
        <button type="button" class="button quiet icon small" aria-label={S.skills.clear} onClick={() => (setParams({ q: "" }), input.current!.focus())}>
          <CloseIcon />
        </button>
      ) : (
        <kbd aria-hidden="true">/</kbd>
      )}
    </div>
  );
}

function Filters() {
  const chip = (id: string, label: string, title?: string) => (
    <button key={id} type="button" class="chip" data-state={id || "all"} aria-pressed={filter.value === id} title={title} onClick={() => setParams({ state: id })}>
      {label} <span class="count">{(id ? counts.value[id]! : found.value.length).toLocaleString("en")}</span>
    </button>
  );
  const state = states.find((s) => s === filter.value);
  return (
    <div class="chips" role="group" aria-label={S.skills.filter}>
      {chip("", S.skills.all)}
      {uses.map((use) => chip(use, S.uses[use]!, S.useMeanings[use]))}
      {(counts.value[attention]! > 0 || filter.value === attention) && chip(attention, S.skills.attention, S.skills.attentionHint)}
      {state && chip(state, S.states[state]!, S.stateMeanings[state])}
    </div>
  );
}

/** Columns are the names of the columns. A click sorts by one, another click backwards. */
function Columns({ items }: { items: readonly Skill[] }) {
  const n = chosen(items).length;
  const all = n > 0 && n === items.length;
  const name = (id: Order) => {
    const down = order.value === "-" + id;
    const up = order.value === id || (id === "slug" && !order.value);
    return (
      <button key={id} type="button" class="column" data-column={id} aria-pressed={up || down} onClick={() => setParams({ sort: up ? "-" + id : id === "slug" ? "" : id })}>
        {S.skills.columns[id]} <span aria-hidden="true">{up ? "▲" : down ? "▼" : ""}</span>
        {(up || down) && <span class="visually-hidden">{down ? S.skills.descending : S.skills.ascending}</span>}
      </button>
    );
  };
  return (
    <div class="columns-row" role="group" aria-label={S.skills.sort}>
      {canWrite() && (
        <input
          type="checkbox"
          aria-label={S.switches.selectAll(items.length)}
          checked={all}
          ref={(el) => {
            if (el) el.indeterminate = n > 0 && !all;
          }}
          onChange={() => (selected.value = all ? new Set() : new Set(items.map((s) => s.path)))}
        />
      )}
      {orders.slice(0, 2).map(name)}
      <span class="c-why">{S.skills.columns.why}</span>
      <span>{S.switches.enabled}</span>
      <span>{S.switches.implicit}</span>
      {orders.slice(2).map(name)}
    </div>
  );
}

/** Status says how many skills are shown, and what changed last. */
function Status() {
  if (loading.value && !loaded.value) return <>{list.value.length > 0 && S.skills.reading(list.value.length, total.value)}</>;
  const last = lastChange.value;
  return (
    <>
      <span>{S.skills.count(shown.value.length, list.value.length)}</span>
      {last && (
        <span class="last-change">
          <strong>{last.slug}</strong>: {last.text}
          {last.more > 0 && S.skills.moreChanges(last.more)}
        </span>
      )}
    </>
  );
}

function Row({ s, items }: { s: Skill; items: readonly Skill[] }) {
  const change = changed.value.get(s.path);
  const line = lineOf(s, faults.value.get(s.path));
  const scan = s.scan_summary?.decision;
  const fixed = !canWrite() || Boolean(s.shadowed_by) || !s.policy;
  return (
    <div class={change ? "skill-row changed" : "skill-row"} data-slug={s.slug} data-path={s.path}>
      {canWrite() && (
        <input
          type="checkbox"
          aria-label={S.switches.select(s.slug)}
          checked={selected.value.has(s.path)}
          onClick={(e) => (e.shiftKey ? selectTo(items, s) : select(s, e.currentTarget.checked))}
        />
      )}
      <span class="skill-title">
        <span class="emblem" aria-hidden="true">
          {s.emoji ?? s.slug.slice(0, 1).toUpperCase()}
        </span>
        <a href={skillHref(s)} title={s.name !== s.slug ? s.name : undefined} onClick={() => void (lastPath = s.path)}>
          {s.slug}
        </a>
        {change && <span class="badge info change">{change.text}</span>}
      </span>
      <UseBadge skill={s} />
      <span class={"skill-line " + line.tone} title={line.text + (line.todo && "\n" + sentence(line.todo))}>
        {(scan === "block" || scan === "warn") && <Badge tone={scan === "block" ? "bad" : "warn"}>{scan !== "block" ? S.skills.scanWarn : s.usable ? S.skills.scanReported : S.skills.scanBad}</Badge>}
        {s.deleting && <Badge tone="warn">{S.skills.deleting}</Badge>}
        {line.text}
        {line.todo && <span class="todo"> · {sentence(line.todo)}</span>}
      </span>
      <Switch on={s.policy?.enabled ?? false} label={S.switches.enabledOf(s.slug, s.policy?.source)} disabled={fixed} onChange={(on) => changePolicy(s, { enabled: on })} />
      <Switch
        on={(s.policy?.allow_implicit_invocation ?? false) && !s.disable_model_invocation}
        label={S.switches.implicitOf(s.slug, s.disable_model_invocation ? "skill" : s.policy?.implicit_source)}
        disabled={fixed || s.disable_model_invocation}
        onChange={(on) => changePolicy(s, { allow_implicit_invocation: on })}
      />
      <span class="c-version muted">{s.version}</span>
      <span class="c-source muted" title={S.skills.trust(trustSource(s))}>
        {sourceOf(s)}
      </span>
    </div>
  );
}

function Faults() {
  const faults = listProblems.value.filter((p) => p.severity !== "info");
  if (faults.length === 0) return null;
  return (
    <section class="box warn">
      <strong>{S.skills.problems}</strong>
      <ul class="plain">
        {faults.slice(0, 5).map((p) => (
          <li key={p.code + p.path + p.line}>
            <p>
              <code>{p.path + (p.line ? ":" + p.line : "")}</code> {sentence(p.message)}
            </p>
            <Hint text={p.hint} />
          </li>
        ))}
      </ul>
    </section>
  );
}

function Nothing() {
  if (loadError.value) return null;
  if (!loaded.value) return <Loading label={S.skills.loading} rows={8} />;
  const roots = health.value?.watch.roots.join(", ");
  return (
    <Empty title={S.skills.emptyTitle} icon={<DropIcon />}>
      <p>{canWrite() ? S.skills.empty : S.skills.emptyReadOnly}</p>
      <Command text={command(S.skills.emptyCommand)} />
      {canWrite() && (
        <Button kind="primary" icon={<DropIcon />} onClick={openDropPanel}>
          {S.app.add}
        </Button>
      )}
      {roots && <p>{S.skills.emptyRoots(roots)}</p>}
    </Empty>
  );
}

function NoMatch() {
  return (
    <Empty title={S.skills.noMatch} icon={<SearchIcon />}>
      <p>{query.value ? S.skills.noMatchText : S.skills.noMatchState}</p>
      <Button onClick={() => setParams({ q: "", state: "" })}>{S.skills.showAll}</Button>
    </Empty>
  );
}
