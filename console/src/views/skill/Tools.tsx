import { send } from "../../api/client";
import type { Resolution, SkillDetail } from "../../api/model";
import { sentence } from "../../lib/reason";
import { S } from "../../strings";
import { Badge } from "../../ui/Badge";
import { Loading } from "../../ui/Empty";
import { Command } from "../../ui/Code";
import { ErrorBox } from "../../ui/ErrorBox";
import { command } from "../commands";
import { useLive } from "../live";
import { Place } from "./places";

type Declared = SkillDetail["tools"][number];

/** Tools shows the runtime tools of a skill, as a turn that names the skill offers them, and why others are left out. */
export function Tools({ s }: { s: SkillDetail }) {
  const { data, error, reload } = useLive(
    (signal) => (s.usable ? send<Resolution>("POST", "/v1/resolve?dry_run=1", { capabilities: [{ slug: s.slug }], limits: { max_bodies: 0 } }, { signal }) : Promise.resolve(null)),
    ["skill_catalog_updated", "policy_changed"],
  );
  const offered = data?.tools.filter((t) => t.skill === s.slug) ?? [];
  const excluded = data?.excluded_tools.filter((t) => t.skill === s.slug) ?? [];
  const named = new Set([...offered, ...excluded].map((t) => t.name.split(".").at(-1)));
  const rest = s.tools.filter((t) => !named.has(slug(t.name)));
  const needsPermission = s.trust_level !== "internal" && [...offered, ...excluded.filter((t) => off(t.reason))].some((t) => programs.includes(t.kind ?? ""));
  if (error) return <ErrorBox error={error} retry={reload} />;
  if (data === undefined) return <Loading label={S.common.loading} />;
  if (s.tools.length + offered.length + excluded.length === 0) return <p class="hint">{S.tools.none}</p>;
  return (
    <>
      <p class="hint">{s.usable ? S.tools.intro : S.tools.notUsable}</p>
      {offered.map((t) => (
        <article key={t.name} class="card" data-tool={t.name}>
          <Title name={t.name} kind={t.kind} tone="ok" label={S.tools.offered} />
          <p class="break">{t.description}</p>
          {(t.diagnostics ?? []).map((d) => (
            <p key={d.code + d.message} class="hint break">
              {d.message}
            </p>
          ))}
          <Parameters value={t.parameters} />
          <From s={s} t={s.tools.find((d) => slug(d.name) === t.name.split(".").at(-1))} />
        </article>
      ))}
      {excluded.map((t) => (
        <article key={t.name + t.reason} class={off(t.reason) ? "card" : "box bad"} data-excluded={t.reason}>
          <Title name={t.name} kind={t.kind} tone={off(t.reason) ? "off" : "bad"} label={off(t.reason) ? S.tools.off : S.tools.excluded} />
          <p>
            <strong>{S.tools.reasons[t.reason] ?? t.reason}</strong>
          </p>
          {t.detail && <p class="hint break">{sentence(t.detail)}</p>}
          {S.tools.remedies[t.reason] && <p class="hint">{S.tools.remedies[t.reason]}</p>}
          {t.description && <p class="break">{t.description}</p>}
        </article>
      ))}
      {rest.map((t) => (
        <article key={t.name} class="card">
          <Title name={t.name} kind={t.kind} tone="off" label={S.tools.declared} />
          {t.description && <p class="break">{t.description}</p>}
          <Parameters value={t.parameters} />
          <From s={s} t={t} />
        </article>
      ))}
      {needsPermission && (
        <section class="allow">
          <p class="hint">{S.tools.allow}</p>
          <Command text={command(S.tools.allowCommand(s.slug))} />
        </section>
      )}
    </>
  );
}

// A tool that a setting or the policy keeps back is not faulty.
const off = (reason: string): boolean => reason in S.tools.remedies;

// Programs run after somebody has allowed them; requests of other kinds do not need it.
const programs = ["python", "script", "shell"];

// The name of a tool in a turn ends with the name that the skill gives it, in slug form.
const slug = (name: string): string => name.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "");

function Title({ name, kind, tone, label }: { name: string; kind?: string; tone: "ok" | "bad" | "off"; label: string }) {
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
