import { useState } from "preact/hooks";
import { ApiProblem, get } from "../api/client";
import type { CardPlatform, CardStatus, Health } from "../api/model";
import { diffCards, isSame, skillsOf, type CardObject, type FieldChange, type Json } from "../lib/carddiff";
import { pushStateOf, type PushState } from "../lib/pushstate";
import { sentence } from "../lib/reason";
import { href } from "../router";
import { S } from "../strings";
import { Badge, type Tone } from "../ui/Badge";
import { Code } from "../ui/Code";
import { CopyButton } from "../ui/Button";
import { Empty, Loading } from "../ui/Empty";
import { ErrorBox } from "../ui/ErrorBox";
import { Hint } from "./commands";
import { useLive, useNow } from "./live";
import { Ago } from "./parts";

interface Data {
  card: CardObject | null; // null while the workspace has none
  status: CardStatus | null; // null where the sidecar has no such route
  health: Health;
}

async function read(signal: AbortSignal): Promise<Data> {
  const none = (err: unknown): null => {
    if (err instanceof ApiProblem && err.status === 404) return null;
    throw err;
  };
  const [card, status, health] = await Promise.all([
    get<CardObject>("/v1/card", { signal }).catch(none),
    get<CardStatus>("/v1/card/status", { signal }).catch(none),
    get<Health>("/v1/health", { signal }),
  ]);
  return { card, status, health };
}

const changing = ["skill_catalog_updated", "skill_state_changed", "workspace_changed", "policy_changed", "card_pushed", "card_rejected"];

/** Card shows the agent card, and how far each platform has it. */
export function Card() {
  const { data, error, reload } = useLive(read, changing, "card");
  return (
    <div class="page card-view">
      <h1>{S.nav.card}</h1>
      <p class="hint">{S.card.lead}</p>
      {error && <ErrorBox error={error} retry={reload} />}
      {!data && !error && <Loading label={S.common.loading} rows={4} />}
      {data && <Platforms data={data} />}
      {data && <Document card={data.card} health={data.health} />}
    </div>
  );
}

/** pushTones are the colours of the states of a platform. */
export const pushTones: Record<PushState, Tone> = { in_step: "ok", pushing: "info", waiting: "info", withheld: "warn", contested: "warn", failing: "warn", refused: "bad" };

function Platforms({ data: { status, health } }: { data: Data }) {
  if (health.push.length === 0) {
    return (
      <Empty title={S.card.offTitle}>
        <p>{S.card.off}</p>
      </Empty>
    );
  }
  return (
    <>
      {health.push.map((push) => {
        const state = pushStateOf(push, health.conditions);
        const platform = status?.platforms.find((p) => p.platform === push.platform);
        return (
          <section key={push.platform} class="card platform" data-state={state}>
            <h2>
              <span class="break">{push.platform}</span> <Badge tone={pushTones[state]}>{S.card.states[state]}</Badge>
            </h2>
            <p>{S.card.stateTexts[state]}</p>
            {push.last_error && (
              <div class={state === "refused" ? "box bad" : "box warn"}>
                <p>{push.last_error}</p>
                {push.hint && <p class="hint">{push.hint}</p>}
              </div>
            )}
            {push.last_success && <p class="hint">{S.card.lastSuccess} <Ago time={push.last_success} /></p>}
            {platform && <Difference platform={platform} />}
            {platform && <History platform={platform} />}
          </section>
        );
      })}
    </>
  );
}

function Difference({ platform }: { platform: CardPlatform }) {
  const { wanted, has } = platform;
  if (!has) return <p class="hint">{S.card.unknown} {platform.reason}</p>;
  if (!wanted) return null;
  const change = diffCards(has as CardObject, wanted as CardObject);
  const kept = change.kept.length > 0 && <p class="hint">{S.card.kept(change.kept.join(", "))}</p>;
  if (isSame(change)) return <><p>{S.card.same}</p>{kept}</>;
  return (
    <>
      {kept}
      <h3>{S.card.difference}</h3>
      <ul class="rows difference">
        {change.skills.slice(0, most).map((skill) => (
          <li key={skill.id}>
            <a href={href("skills", skill.id)}>{skill.name}</a> <Badge tone={skill.change === "missing" ? "info" : skill.change === "extra" ? "bad" : "warn"}>{S.card.changes[skill.change]}</Badge>
            <Fields fields={skill.fields} />
          </li>
        ))}
        {change.skills.length > most && <li class="hint">{S.card.moreSkills(change.skills.length - most)}</li>}
        {change.fields.map((f) => <li key={f.field}><strong>{f.field}</strong><Fields fields={[f]} /></li>)}
      </ul>
    </>
  );
}

const most = 200;

function Fields({ fields }: { fields: FieldChange[] }) {
  if (fields.length === 0) return null;
  return (
    <dl class="fields-changed">
      {fields.map((f) => (
        <div key={f.field}>
          <dt>{f.field}</dt>
          <dd><span class="hint">{S.card.has}</span> <Value value={f.has} /></dd>
          <dd><span class="hint">{S.card.wants}</span> <Value value={f.wanted} /></dd>
        </div>
      ))}
    </dl>
  );
}

const longest = 400;

function Value({ value }: { value: Json | undefined }) {
  if (value === undefined) return <em>{S.card.absent}</em>;
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return <code class="break">{text.length > longest ? text.slice(0, longest) + "…" : text}</code>;
}

function History({ platform: { pushes } }: { platform: CardPlatform }) {
  if (pushes.length === 0) return <p class="hint">{S.card.noPushes}</p>;
  return (
    <details>
      <summary>{S.card.history(pushes.length)}</summary>
      <div class="table-scroll" tabIndex={0} role="region" aria-label={S.card.history(pushes.length)}>
        <table>
          <thead><tr><th>{S.card.at}</th><th>{S.card.outcome}</th><th>{S.card.took}</th><th>{S.card.version}</th></tr></thead>
          <tbody>
            {pushes.map((p, i) => (
              <tr key={p.at + i}>
                <td><Ago time={p.at} /></td>
                <td><Badge tone={p.outcome === "pushed" ? "ok" : "bad"}>{S.card.outcomes[p.outcome] ?? p.outcome}</Badge> {p.error && <div class="because">{p.error}</div>}</td>
                <td>{S.card.ms(p.ms)}</td>
                <td>{p.version}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  );
}

function Document({ card, health }: { card: CardObject | null; health: Health }) {
  useNow();
  const [filter, setFilter] = useState("");
  if (!card) return <Empty title={S.card.noneTitle}><p>{S.card.none}</p></Empty>;
  const usable = health.skills.eligible ?? 0;
  const left = usable - skillsOf(card).size;
  const trimmed = health.conditions.find((c) => c.code === "card_trimmed");
  const skills = [...skillsOf(card).entries()].filter(([id]) => id.toLowerCase().includes(filter.toLowerCase()));
  const text = (value: Json | undefined) => (typeof value === "string" ? value : "");
  const json = JSON.stringify(card, null, 2);
  return (
    <section class="card">
      <h2>{S.card.card}</h2>
      <p><strong>{text(card.name)}</strong> {text(card.version)}</p>
      <p>{text(card.description)}</p>
      <h3>{left > 0 ? S.card.someSkills(skillsOf(card).size, usable) : S.card.skills(skillsOf(card).size)}</h3>
      {trimmed && (
        <div class="box warn">
          <p>{sentence(trimmed.message)}</p>
          <Hint text={trimmed.hint} />
        </div>
      )}
      {skillsOf(card).size > 20 && <input type="search" value={filter} aria-label={S.card.filter} placeholder={S.card.filter} onInput={(e) => setFilter(e.currentTarget.value)} />}
      {skillsOf(card).size === 0 && <p class="hint">{S.card.noSkills}</p>}
      <ul class="rows">
        {skills.slice(0, most).map(([id, skill]) => (
          <li key={id}><a href={href("skills", id)}>{text(skill.name) || id}</a><div class="because">{text(skill.description)}</div></li>
        ))}
        {skills.length > most && <li class="hint">{S.card.moreSkills(skills.length - most)}</li>}
      </ul>
      <details>
        <summary>{S.card.json}</summary>
        <div class="toolbar spread"><span class="hint">{S.common.bytes(json.length)}</span><CopyButton text={json} /></div>
        <Code text={json.length > 200_000 ? json.slice(0, 200_000) + "\n…" : json} label={S.card.json} />
      </details>
    </section>
  );
}
