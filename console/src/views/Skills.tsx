import { computed } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Skill } from "../api/model";
import { canWrite } from "../api/session";
import { openDropPanel } from "../drop/panel_state";
import { useKeys } from "../lib/keys";
import { needsAttention, sentence, summary } from "../lib/reason";
import { search } from "../lib/search";
import { trustSource } from "../lib/trust";
import { href, navigate, route, setParams } from "../router";
import { changed, health, lastChange, list, listProblems, loadAll, loadError, loaded, loading, rank, ranked, total } from "../store";
import { S } from "../strings";
import { Badge, StateBadge } from "../ui/Badge";
import { Button } from "../ui/Button";
import { Command } from "../ui/Code";
import { Empty, Loading } from "../ui/Empty";
import { ErrorBox } from "../ui/ErrorBox";
import { CloseIcon, DropIcon, SearchIcon } from "../ui/icons";
import { VirtualList } from "../ui/VirtualList";
import { Hint, command } from "./commands";

const states = ["eligible", "ineligible", "disabled", "unlisted", "shadowed"] as const;
const attention = "attention";

const filters: Record<string, (s: Skill) => boolean> = { [attention]: needsAttention };
for (const state of states) filters[state] = (s) => s.state === state;

const onList = (): boolean => route.value.view === "skills" && route.value.slug === "";
const query = computed(() => (onList() ? (route.value.params.q ?? "") : ""));
const filter = computed(() => (onList() ? (route.value.params.state ?? "") : ""));
const found = computed(() => search(list.value, query.value, ranked.value.query === query.value ? ranked.value.paths : []));
const shown = computed(() => {
  const f = filters[filter.value];
  return f ? found.value.filter(f) : found.value;
});
const counts = computed(() => {
  const out: Record<string, number> = { [attention]: 0 };
  for (const state of states) out[state] = 0;
  for (const s of found.value) {
    out[s.state]!++;
    if (needsAttention(s)) out[attention]!++;
  }
  return out;
});

// The row where the list was left, for the way back.
let lastPath = "";

// The search and the filter with which the list was left.
let lastParams: Record<string, string | undefined> = {};

/** listParams are the parameters of the list for the way back to it. */
export const listParams = (): Record<string, string | undefined> => lastParams;

/** skillHref is the address of a skill; one that is shadowed is named by its path. */
export const skillHref = (s: Pick<Skill, "slug" | "path" | "shadowed_by">, tab?: string): string =>
  href("skills", s.slug, { path: s.shadowed_by ? s.path : undefined, tab });

export function Skills() {
  const box = useRef<HTMLInputElement>(null);
  const [path, setPath] = useState(lastPath);
  const items = shown.value;
  if (onList()) lastParams = { q: query.value, state: filter.value };
  const selected = path ? items.findIndex((s) => s.path === path) : -1;

  const select = (i: number): void => {
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
    j: () => select(selected + 1),
    k: () => select(selected - 1),
    ArrowDown: () => select(selected + 1),
    ArrowUp: () => select(selected - 1),
    Home: () => select(0),
    End: () => select(items.length - 1),
    Enter: () => open(selected),
    Escape: () => setParams({ q: "", state: "" }),
  });
  useEffect(() => {
    const soon = setTimeout(() => void rank(query.value), 100);
    return () => clearTimeout(soon);
  }, [query.value, list.value]);
  useEffect(() => {
    if (path && loaded.peek() && selected < 0) setPath("");
  }, [selected]);

  return (
    <div class="page skills">
      <header class="list-head">
        <h1 class="visually-hidden">{S.nav.skills}</h1>
        <SearchBox input={box} onDown={() => select(Math.max(0, selected))} onEnter={() => open(Math.max(0, selected))} />
        <Filters />
        <p class="list-status" role="status">
          <Status />
        </p>
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
        <VirtualList id="skill-list" label={S.nav.skills!} items={items} rowHeight={64} keyOf={(s) => s.path} selected={selected} focusSelected render={(s) => <Row s={s} />} />
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
  const chip = (id: string, label: string, count: number, title?: string) => (
    <button key={id} type="button" class="chip" data-state={id || "all"} aria-pressed={filter.value === id} title={title} onClick={() => setParams({ state: id })}>
      {label} <span class="count">{count.toLocaleString("en")}</span>
    </button>
  );
  return (
    <div class="chips" role="group" aria-label={S.skills.filter}>
      {chip("", S.skills.all, found.value.length)}
      {(counts.value[attention]! > 0 || filter.value === attention) && chip(attention, S.skills.attention, counts.value[attention]!, S.skills.attentionHint)}
      {states
        .filter((state) => counts.value[state]! > 0 || filter.value === state)
        .map((state) => chip(state, S.states[state]!, counts.value[state]!, S.stateMeanings[state]))}
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

function Row({ s }: { s: Skill }) {
  const change = changed.value.get(s.path);
  const line = summary(s);
  const scan = s.scan_summary?.decision;
  return (
    <a class={change ? "skill-row changed" : "skill-row"} href={skillHref(s)} data-slug={s.slug} data-path={s.path} onClick={() => void (lastPath = s.path)}>
      <span class="emblem" aria-hidden="true">
        {s.emoji ?? s.slug.slice(0, 1).toUpperCase()}
      </span>
      <span class="skill-main">
        <span class="skill-title">
          <strong>{s.slug}</strong>
          {s.name !== s.slug && <span class="muted skill-name">{s.name}</span>}
          {s.version && <span class="muted version">{s.version}</span>}
          {change && <span class="badge info change">{change.text}</span>}
        </span>
        <span class={line.bad ? "skill-line bad" : "skill-line"}>{line.text}</span>
      </span>
      <span class="skill-tags">
        {(s.tags ?? []).slice(0, 2).map((t) => (
          <Badge key={t}>{t}</Badge>
        ))}
      </span>
      <span class="skill-marks">
        {(scan === "block" || scan === "warn") && <Badge tone={scan === "block" ? "bad" : "warn"}>{scan !== "block" ? S.skills.scanWarn : s.usable ? S.skills.scanReported : S.skills.scanBad}</Badge>}
        {s.last_good && <Badge tone="warn" title={S.skills.lastGoodHint}>{S.skills.lastGood}</Badge>}
        {s.deleting && <Badge tone="warn">{S.skills.deleting}</Badge>}
      </span>
      <span class="skill-source muted">
        <span>{s.managed ? S.skills.managed : s.root}</span>
        <span title={S.skills.trust(trustSource(s))}>{S.skills.trust(trustSource(s))}</span>
      </span>
      <StateBadge skill={s} />
    </a>
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
