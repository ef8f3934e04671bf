import { useState } from "preact/hooks";
import { asProblem, get, send, skillURL } from "../api/client";
import type { Condition, Environment, Health as HealthData } from "../api/model";
import { canWrite } from "../api/session";
import { useKeys } from "../lib/keys";
import { effectOf } from "../lib/requirements";
import { remediesOf, type Remedy } from "../lib/remedy";
import { pushStateOf } from "../lib/pushstate";
import { href, navigate } from "../router";
import { health, healthError, list, refreshHealth } from "../store";
import { S } from "../strings";
import { Badge, severityTone, type Tone } from "../ui/Badge";
import { Button } from "../ui/Button";
import { Loading } from "../ui/Empty";
import { ErrorBox } from "../ui/ErrorBox";
import { toast } from "../ui/Toast";
import { pushTones } from "./Card";
import { Hint, command } from "./commands";
import { useLive, useNow } from "./live";
import { Ago } from "./parts";
import { Command } from "../ui/Code";

const statusTones: Record<string, Tone> = { ok: "ok", degraded: "warn", failing: "bad" };
const order: Record<string, number> = { error: 0, warning: 1, info: 2 };

/** Health shows what is wrong and what to do, and does it where the page can. */
export function Health() {
  useNow();
  useKeys({ "/": () => document.getElementById(searchID)?.focus(), r: () => void rescan().catch(fail) });
  const h = health.value;
  return (
    <div class="page health">
      <h1>{S.nav.health}</h1>
      {healthError.value && <ErrorBox error={healthError.value} retry={refreshHealth} />}
      {!h && !healthError.value && <Loading label={S.common.loading} rows={4} />}
      {h && <Report h={h} />}
    </div>
  );
}

function Report({ h }: { h: HealthData }) {
  const unusable = list.value.filter((s) => !s.usable).length;
  const conditions = [...h.conditions].sort((a, b) => order[a.severity]! - order[b.severity]!);
  return (
    <>
      <section class={`card status ${statusTones[h.status] ?? "plain"}`} role="status" data-status={h.status}>
        <h2><Badge tone={statusTones[h.status]}>{S.health.statuses[h.status] ?? h.status}</Badge> {S.health.statusTexts[h.status]}</h2>
        {unusable > 0 && <p><a href={href("skills", "", { state: "off" })}>{S.health.unusable(unusable, list.value.length)}</a></p>}
        <div class="line">
          <Button onClick={rescan}>{S.health.rescan}</Button>
          <span class="hint">{S.health.rescanHint}</span>
        </div>
      </section>
      <section aria-labelledby="conditions">
        <h2 id="conditions">{S.health.conditions(conditions.length)}</h2>
        {conditions.length === 0 && <p class="hint">{S.health.noConditions}</p>}
        {conditions.map((c) => <ConditionPanel key={c.code + c.subject} c={c} />)}
      </section>
      <div class="columns">
        <Watching h={h} />
        <Pushes h={h} />
      </div>
      <EnvironmentPanel />
      <About h={h} />
    </>
  );
}

function fail(err: unknown): void {
  const p = asProblem(err);
  toast({ kind: "error", text: p.detail, hint: p.hint });
}

async function rescan(): Promise<void> {
  const { snapshot_version } = await send<{ snapshot_version: number }>("POST", "/v1/rescan?wait=1");
  refreshHealth();
  toast({ kind: "ok", text: S.health.rescanned(snapshot_version) });
}

function ConditionPanel({ c }: { c: Condition }) {
  const remedies = remediesOf(c).filter((r) => canWrite() || !changes(r));
  const slugs = remedies.flatMap((r) => (r.kind === "skill" ? [r.slug] : []));
  const onPage = S.health.onPage[c.code];
  return (
    <article class="card condition" data-code={c.code}>
      <h3><Badge tone={severityTone[c.severity]}>{S.health.severities[c.severity] ?? c.severity}</Badge> <span class="break">{c.subject}</span></h3>
      <p class="break">{c.message}</p>
      {onPage && <p class="hint">{onPage}</p>}
      {remedies.length > 0 && <div class="line">{remedies.map((r) => <RemedyButton key={JSON.stringify(r)} remedy={r} />)}</div>}
      {onPage ? (
        <details>
          <summary>{S.health.terminal}</summary>
          <div class="terminal"><Hint text={c.hint} slugs={slugs} /></div>
        </details>
      ) : (
        <Hint text={c.hint} slugs={slugs} />
      )}
      <p class="hint">
        <code>{c.code}</code> {c.since && <>{S.health.since} <Ago time={c.since} /></>}
      </p>
    </article>
  );
}

const changes = (r: Remedy) => r.kind === "acknowledge" || r.kind === "scan";

function RemedyButton({ remedy: r }: { remedy: Remedy }) {
  switch (r.kind) {
    case "rescan":
      return <Button onClick={rescan}>{S.health.rescan}</Button>;
    case "acknowledge":
      return <Button kind="primary" onClick={() => acknowledge(r.condition)}>{S.health.acknowledge}</Button>;
    case "scan":
      return <Button onClick={() => scan(r.slug)}>{S.health.scan(r.slug)}</Button>;
    case "skill":
      return <a class="button plain" href={href("skills", r.slug, { tab: r.tab })}>{S.health.open(r.slug)}</a>;
    case "skills":
      return <a class="button plain" href={href("skills", "", { state: r.state })}>{S.health.allSkills}</a>;
    case "view":
      return <Button onClick={() => navigate(r.view)}>{S.health.openView(S.nav[r.view]!)}</Button>;
  }
}

async function acknowledge(condition: string): Promise<void> {
  health.value = await send<HealthData>("POST", "/v1/health/acknowledge", { condition });
  toast({ kind: "ok", text: S.health.acknowledged });
}

async function scan(slug: string): Promise<void> {
  const { decision, findings } = await send<{ decision: string; findings: unknown[] }>("POST", skillURL(slug, "/scan"));
  refreshHealth();
  toast({ kind: decision === "block" ? "error" : "ok", text: S.health.scanned(slug, decision, findings.length) });
}

function Watching({ h: { watch } }: { h: HealthData }) {
  return (
    <section class="card">
      <h2>{S.health.watching}</h2>
      <p>{S.health.watchModes[watch.mode] ?? watch.mode}</p>
      <p class="hint">{S.health.watchCounts(watch.watches, watch.polled)} {watch.roots.join(", ")}</p>
      {watch.problem && <p class="box warn">{watch.problem}</p>}
      {watch.reasons?.map((r) => (
        <div key={r.root + r.reason} class={r.severity === "info" ? "because" : "box warn"}>
          <p><strong>{r.root || S.health.workspace}</strong> {r.reason}</p>
          <Hint text={r.hint} />
        </div>
      ))}
    </section>
  );
}

function Pushes({ h }: { h: HealthData }) {
  return (
    <section class="card">
      <h2>{S.health.platforms}</h2>
      {h.push.length === 0 && <p class="hint">{S.card.off}</p>}
      <ul class="rows">
        {h.push.map((p) => {
          const state = pushStateOf(p, h.conditions);
          return <li key={p.platform}><span class="break">{p.platform}</span> <Badge tone={pushTones[state]}>{S.card.states[state]}</Badge></li>;
        })}
      </ul>
      <a href={href("card")}>{S.health.openCard}</a>
    </section>
  );
}

const kinds = ["bins", "env", "config", "mcp"] as const;
const searchID = "environment-search";
const mostNames = 100;

function EnvironmentPanel() {
  const { data, error, reload } = useLive((signal) => get<Environment>("/v1/environment", { signal }), ["environment_changed"], "environment");
  const [search, setSearch] = useState("");
  if (error && !data) return <ErrorBox error={error} title={S.environment.title} retry={reload} />;
  if (!data) return <Loading label={S.common.loading} />;
  const word = search.trim().toLowerCase();
  return (
    <section class="card environment">
      <h2>{S.environment.title}</h2>
      <p>{S.environment.sources[data.source] ?? data.source} {data.at && <span class="hint">{S.environment.reported} <Ago time={data.at} /></span>}</p>
      {data.source === "sidecar" && <><p class="hint">{S.environment.effects[effectOf(list.value)]} {S.environment.teach}</p><Command text={command("pannier environment")} /></>}
      <p class="hint">{S.environment.system(data.os, data.arch)}</p>
      <input id={searchID} type="search" value={search} aria-label={S.environment.search} placeholder={S.environment.search} onInput={(e) => setSearch(e.currentTarget.value)} />
      {kinds.map((kind) => <Names key={kind} title={S.environment.kinds[kind]!} names={data[kind] ?? []} word={word} />)}
    </section>
  );
}

function Names({ title, names, word }: { title: string; names: string[]; word: string }) {
  const found = word ? names.filter((n) => n.toLowerCase().includes(word)) : names;
  return (
    <details open={word !== "" && found.length > 0}>
      <summary>{title} <span class="count">{word ? S.environment.found(found.length, names.length) : names.length}</span></summary>
      {found.length === 0 ? <p class="hint">{word ? S.environment.notFound : S.environment.none}</p> : (
        <p class="names">
          {found.slice(0, mostNames).map((n) => <code key={n}>{n}</code>)}
          {found.length > mostNames && <span class="hint">{S.common.more(found.length - mostNames)}</span>}
        </p>
      )}
    </details>
  );
}

function About({ h }: { h: HealthData }) {
  const rows: [string, string][] = [
    [S.health.version, h.version + (h.commit ? ` (${h.commit})` : "")],
    [S.health.workspace, h.workspace],
    [S.health.workspaceID, h.workspace_id],
    [S.health.socket, h.socket],
    [S.health.snapshot, String(h.snapshot_version)],
  ];
  return (
    <section class="card">
      <h2>{S.health.about}</h2>
      <dl class="about">
        {rows.map(([name, value]) => <div key={name}><dt>{name}</dt><dd class="break">{value}</dd></div>)}
        <div><dt>{S.health.started}</dt><dd><Ago time={h.started_at} /></dd></div>
      </dl>
      <p class="hint">{S.health.inTerminal}</p>
      <Command text={command("pannier health")} />
    </section>
  );
}
