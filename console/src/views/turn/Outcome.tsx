import { useId } from "preact/hooks";
import type { ExcludedTool, RejectedSkill } from "../../api/model";
import { href } from "../../router";
import { S } from "../../strings";
import { Badge } from "../../ui/Badge";
import { VirtualList } from "../../ui/VirtualList";
import { previous, type Tried } from "./model";

/** Outcome shows which skills are active in a tried turn, which are not, and why. */
export function Outcome({ tried }: { tried: Tried }) {
  const { active, rejected } = tried.resolution;
  const before = previous.value?.resolution;
  const wasActive = new Set(before?.active.map((s) => s.slug));
  const left = before?.active.filter((s) => !active.some((a) => a.slug === s.slug)) ?? [];
  const named = rejected.filter((r) => r.reason !== "not_matched" && r.reason !== "disabled_model_invocation");
  const rest = rejected.filter((r) => r.reason === "not_matched" || r.reason === "disabled_model_invocation");
  return (
    <div class="columns">
      <section class="card" aria-live="polite">
        <h2>{S.turn.active(active.length)}</h2>
        {active.length === 0 && <p class="hint">{S.turn.noneActive}</p>}
        <ul class="rows">
          {active.slice(0, most).map((s) => (
            <li key={s.slug}>
              <a href={href("skills", s.slug)}>{s.slug}</a>
              {before && !wasActive.has(s.slug) && <Badge tone="ok">{S.turn.isNew}</Badge>}
              <div class="because">{S.turn.activeReasons[s.reason] ?? s.reason}</div>
              {s.relevance && <div class="because">{S.turn.relevance(s.relevance.score, s.relevance.matched.join(", "))}</div>}
              {s.arguments && <div class="because">{S.turn.arguments(s.arguments)}</div>}
            </li>
          ))}
          {active.length > most && <li class="hint">{S.turn.moreSkills(active.length - most)}</li>}
          {left.map((s) => (
            <li key={"left " + s.slug} class="gone">
              <a href={href("skills", s.slug)}><del>{s.slug}</del></a> <Badge tone="bad">{S.turn.left}</Badge>
            </li>
          ))}
        </ul>
      </section>
      <section class="card">
        <h2>{S.turn.rejected(named.length)}</h2>
        {named.length === 0 && <p class="hint">{S.turn.noneRejected}</p>}
        <Rejections list={named} label={S.turn.rejected(named.length)} />
        {rest.length > 0 && (
          <details>
            <summary>{S.turn.notMatched(rest.length)}</summary>
            <Rejections list={rest} label={S.turn.notMatched(rest.length)} />
          </details>
        )}
        <Tools tried={tried} />
        <Overrides tried={tried} />
      </section>
    </div>
  );
}

// More rows than this are drawn as they come into view.
const most = 200;

function Rejections({ list, label }: { list: RejectedSkill[]; label: string }) {
  const id = useId();
  if (list.length <= most) return <ul class="rows">{list.map((r) => <li key={r.slug + r.id}><Rejection skill={r} /></li>)}</ul>;
  return (
    <div class="scroll boxed" tabIndex={0} role="region" aria-label={label}>
      <VirtualList id={id} label={label} items={list} rowHeight={96} keyOf={(r) => r.slug} render={(r) => <Rejection skill={r} />} />
    </div>
  );
}

// The tab of a skill's page that shows the cause.
const tabs: Record<string, string> = {
  dependency_missing: "requirements",
  unsupported_platform: "requirements",
  runtime_incompatible: "requirements",
  security_blocked: "scan",
  invalid_metadata: "problems",
  validation_rejected: "profiles",
};

function Rejection({ skill }: { skill: RejectedSkill }) {
  return (
    <>
      {skill.reason === "not_found" ? <strong>{skill.slug}</strong> : <a href={href("skills", skill.slug, { tab: tabs[skill.reason] })}>{skill.slug}</a>}{" "}
      <Badge tone={skill.reason === "not_matched" ? "off" : "warn"}>{S.turn.rejectedReasons[skill.reason] ?? skill.reason}</Badge>
      <div class="because">{skill.detail}</div>
      {skill.diagnostics.slice(1).map((d) => <div class="because" key={d.code + d.subject}>{d.remedy || d.code}</div>)}
      {skill.reason === "disabled_by_policy" && <a class="action" href={href("skills", "", { q: skill.slug })}>{S.turn.openSwitches}</a>}
    </>
  );
}

function Overrides({ tried }: { tried: Tried }) {
  const overrides = tried.resolution.overrides;
  if (!overrides) return null;
  const { mode, proposed, refused } = overrides;
  return (
    <details>
      <summary>{S.turn.overrides(proposed.length, refused.length)}</summary>
      <ul class="rows">
        {proposed.slice(0, most).map((p) => {
          const why = refused.find((r) => r.slug === p.slug && r.part === p.part && r.key === p.key)?.reason;
          return (
            <li key={p.slug + p.part + p.key}>
              <a href={href("skills", p.slug)}>{p.slug}</a> <code>{`${p.part}.${p.key}: ${JSON.stringify(p.value)}`}</code>{" "}
              <Badge tone={why ? "off" : "ok"}>{why ? why.replaceAll("_", " ") : S.turn.overrideEffects[mode]}</Badge>
            </li>
          );
        })}
      </ul>
    </details>
  );
}

function Tools({ tried }: { tried: Tried }) {
  const { tools, excluded_tools: excluded, allowed_tools: allowed } = tried.resolution;
  if (tools.length + excluded.length + allowed.effective.length + allowed.narrowed_by.length === 0) return null;
  return (
    <details>
      <summary>{S.turn.toolsOfTurn(tools.length, excluded.length)}</summary>
      {allowed.narrowed_by.length > 0 ? (
        <p>{S.turn.narrowed(allowed.narrowed_by.join(", "))} {allowed.effective.length > 0 ? allowed.effective.map((t) => <code key={t}>{t} </code>) : S.turn.noToolLeft}</p>
      ) : (
        <p class="hint">{S.turn.notNarrowed}</p>
      )}
      <ul class="rows">
        {tools.slice(0, most).map((t) => <li key={t.name}><code>{t.name}</code><div class="because">{t.description}</div></li>)}
        {excluded.slice(0, most).map((t: ExcludedTool) => (
          <li key={t.name + t.reason}><code>{t.name}</code> <Badge tone="off">{t.reason.replaceAll("_", " ")}</Badge><div class="because">{t.detail}</div></li>
        ))}
      </ul>
    </details>
  );
}
