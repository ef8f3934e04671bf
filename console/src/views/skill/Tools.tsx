import { useState } from "preact/hooks";
import { get } from "../../api/client";
import type { ExcludedTool, ListedTool, SkillDetail, ToolList } from "../../api/model";
import { canWrite, session } from "../../api/session";
import { sentence } from "../../lib/reason";
import { S } from "../../strings";
import { Badge, type Tone } from "../../ui/Badge";
import { Button } from "../../ui/Button";
import { Loading } from "../../ui/Empty";
import { ErrorBox } from "../../ui/ErrorBox";
import { Hint } from "../commands";
import { useLive } from "../live";
import { Place } from "./places";
import { Allow } from "./tools/Allow";
import { Run } from "./tools/Run";

type Declared = SkillDetail["tools"][number];

const changing = ["skill_catalog_updated", "policy_changed", "skill_scanned", "environment_changed", "tools_changed"];

// What the permission of the tools of a skill would settle.
const permitted = new Set(["runtime.not_allowed", "runtime.trust_level_too_low", "runtime.unscanned", "trust_level_too_low"]);

/** Tools shows the runtime tools of a skill: which can be called now, and why others cannot. It allows and runs them. */
export function Tools({ s }: { s: SkillDetail }) {
  const { data, error, reload } = useLive((signal) => (s.usable ? get<ToolList>("/v1/tools", { signal }) : Promise.resolve(null)), changing);
  const listed = data?.tools.filter((t) => t.skill === s.slug) ?? [];
  const excluded = data?.excluded_tools.filter((t) => t.skill === s.slug) ?? [];
  const named = new Set([...listed, ...excluded].map((t) => t.name.split(".").at(-1)));
  const rest = s.tools.filter((t) => !named.has(slug(t.name)));
  const missing = [...listed.map((t) => t.why?.code), ...excluded.map((t) => t.reason)].some((code) => permitted.has(code ?? ""));
  if (error && !data) return <ErrorBox error={error} retry={reload} />;
  if (data === undefined) return <Loading label={S.common.loading} />;
  if (s.tools.length + listed.length + excluded.length === 0) return <p class="hint">{S.tools.none}</p>;
  return (
    <>
      <p class="hint">{s.usable ? S.tools.intro : S.tools.notUsable}</p>
      {s.usable && canWrite() && (missing || s.policy?.tools_allowed) && <Allow s={s} missing={missing} reload={reload} />}
      {listed.map((t) => (
        <Listed key={t.name} s={s} t={t} alone={listed.length === 1} />
      ))}
      {excluded.map((t) => (
        <Excluded key={t.name + t.reason} t={t} />
      ))}
      {rest.map((t) => (
        <article key={t.name} class="card">
          <Title name={t.name} kind={t.kind} tone="off" label={S.tools.declared} />
          {t.description && <p class="break">{t.description}</p>}
          <Parameters value={t.parameters} />
          <From s={s} t={t} />
        </article>
      ))}
    </>
  );
}

/** Listed is one tool. The form of the only one is open as soon as it can be called. */
function Listed({ s, t, alone }: { s: SkillDetail; t: ListedTool; alone: boolean }) {
  const mayCall = canWrite() || session.value?.scopes.includes("call");
  const [chosen, setRunning] = useState<boolean>();
  const running = chosen ?? (alone && t.callable && mayCall);
  return (
    <article class="card" data-tool={t.name} data-callable={t.callable}>
      <Title name={t.name} kind={t.kind} tone={t.callable ? "ok" : "warn"} label={t.callable ? S.tools.callable : S.tools.notCallable} />
      {t.why && (
        <div class="box warn">
          <p>{sentence(t.why.message)}</p>
          {t.why.hint && !(canWrite() && permitted.has(t.why.code)) && <Hint text={t.why.hint} />}
        </div>
      )}
      <p class="break">{t.description}</p>
      {(t.diagnostics ?? []).map((d) => (
        <p key={d.code + d.message} class="hint break">
          {d.message}
        </p>
      ))}
      <Parameters value={t.parameters} />
      <From s={s} t={s.tools.find((d) => slug(d.name) === t.name.split(".").at(-1))} />
      {t.callable && mayCall && !running && (
        <div class="line">
          <Button onClick={() => setRunning(true)}>{S.tools.run}</Button>
        </div>
      )}
      {running && <Run t={t} onClose={() => setRunning(false)} />}
    </article>
  );
}

function Excluded({ t }: { t: ExcludedTool }) {
  const off = t.reason in S.tools.remedies; // a setting or the policy keeps it back: it is not faulty
  return (
    <article class={off ? "card" : "box bad"} data-excluded={t.reason}>
      <Title name={t.name} kind={t.kind} tone={off ? "off" : "bad"} label={off ? S.tools.off : S.tools.excluded} />
      <p>
        <strong>{S.tools.reasons[t.reason] ?? t.reason}</strong>
      </p>
      {t.detail && <p class="hint break">{sentence(t.detail)}</p>}
      {S.tools.remedies[t.reason] && <p class="hint">{S.tools.remedies[t.reason]}</p>}
      {t.description && <p class="break">{t.description}</p>}
    </article>
  );
}

// The name of a tool in a turn ends with the name that the skill gives it, in slug form.
const slug = (name: string): string => name.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "");

function Title({ name, kind, tone, label }: { name: string; kind?: string; tone: Tone; label: string }) {
  return (
    <p class="line">
      <strong class="mono break">{name}</strong>
      {kind && <Badge>{kind}</Badge>}
      <Badge tone={tone}>{label}</Badge>
    </p>
  );
}

function Parameters({ value }: { value?: Record<string, unknown> }) {
  if (!value || Object.keys(value).length === 0) return null;
  return (
    <details>
      <summary>{S.tools.parameters}</summary>
      <pre class="code small" tabIndex={0}>
        {JSON.stringify(value, null, 2)}
      </pre>
    </details>
  );
}

function From({ s, t }: { s: SkillDetail; t?: Declared }) {
  if (!t?.path) return null;
  return (
    <p>
      <Place s={s} file={t.path} line={t.line} />
    </p>
  );
}
