import type { Reason, SkillDetail } from "../../api/model";
import { changePolicy } from "../../api/policy";
import { canWrite } from "../../api/session";
import { reasonText } from "../../lib/reason";
import { href, setParams } from "../../router";
import { S } from "../../strings";
import { Button } from "../../ui/Button";
import { Hint } from "../commands";
import { ProblemPlace, below, openFile } from "./places";

/** Why says first what is wrong with a skill, and offers what the page can do about it. */
export function Why({ s }: { s: SkillDetail }) {
  return (
    <>
      {s.last_good && <LastGood s={s} />}
      {s.state === "shadowed" && <Shadowed s={s} />}
      {s.state === "unlisted" && (
        <div class="box warn fix">
          <strong>{S.why.unlisted}</strong>
          <p>{S.why.unlistedText}</p>
          <p class="hint">{S.why.unlistedHint(s.path.split("/").at(-1)!)}</p>
        </div>
      )}
      {s.reasons.length > 0 && <Reasons s={s} />}
      {s.usable && !s.last_good && <Faulty s={s} />}
      {s.usable && !s.last_good && <Usable s={s} />}
    </>
  );
}

function LastGood({ s }: { s: SkillDetail }) {
  const fault = s.problems?.find((p) => p.severity === "error") ?? s.problems?.[0];
  const file = fault && below(s, fault.path);
  return (
    <div class="box bad fix">
      <strong>{S.why.lastGood}</strong>
      {fault && (
        <>
          <p>
            <ProblemPlace s={s} p={fault} /> {fault.message}
          </p>
          <Hint text={fault.hint} />
        </>
      )}
      <p class="hint">{S.why.lastGoodText}</p>
      {fault && file && <Button onClick={() => openFile(s, file, fault.line)}>{S.why.showFault}</Button>}
    </div>
  );
}

/** Faulty leads with the errors of a skill that is used in spite of them. */
function Faulty({ s }: { s: SkillDetail }) {
  const faults = s.problems?.filter((p) => p.severity === "error") ?? [];
  if (faults.length === 0) return null;
  return (
    <div class="box warn fix">
      <strong>{S.why.faulty}</strong>
      {faults.slice(0, 3).map((p) => (
        <div key={p.code + p.line + p.message}>
          <p>
            <ProblemPlace s={s} p={p} /> {p.message}
          </p>
          <Hint text={p.hint} />
        </div>
      ))}
      <Button onClick={() => setParams({ tab: "problems", file: "", line: "" })}>{S.why.seeProblems}</Button>
    </div>
  );
}

function Shadowed({ s }: { s: SkillDetail }) {
  return (
    <div class="box warn fix">
      <strong>{S.why.shadowed}</strong>
      <p>
        {S.why.shadowedText}{" "}
        <a class="mono" href={href("skills", s.slug)}>
          {s.shadowed_by}
        </a>
      </p>
      <p class="hint">{S.why.shadowedHint}</p>
    </div>
  );
}

function Reasons({ s }: { s: SkillDetail }) {
  return (
    <div class={s.state === "disabled" ? "box info fix" : "box bad fix"} data-reasons={s.reasons.map((r) => r.code).join(" ")}>
      <strong>{s.state === "disabled" ? S.why.disabled : s.usable ? S.why.warnings : S.why.ineligible}</strong>
      <ul class="plain">
        {s.reasons.map((r) => (
          <li key={r.code + r.subject}>
            <p>
              <strong>{r.code === "disabled" ? (S.why.disabledBy[r.subject] ?? S.why.disabledBySkill) : reasonText(r)}</strong>
            </p>
            <Remedy s={s} r={r} />
          </li>
        ))}
      </ul>
      {s.collides_with.length > 0 && <Collisions s={s} />}
    </div>
  );
}

function Collisions({ s }: { s: SkillDetail }) {
  return <p class="hint">{S.why.collides(s.collides_with.join(", "))}</p>;
}

/** Remedy is what to do about one reason: an action of the page where there is one, else the hint of the sidecar. */
function Remedy({ s, r }: { s: SkillDetail; r: Reason }) {
  const to = (tab: string, label: string) => <Button onClick={() => setParams({ tab, file: "", line: "" })}>{label}</Button>;
  switch (r.code) {
    case "disabled":
      if (s.policy?.enabled === false) {
        if (canWrite()) {
          return (
            <Button kind="primary" onClick={() => changePolicy(s, { enabled: true })}>
              {S.why.enable}
            </Button>
          );
        }
        return <p class="hint">{S.why.enableByOther}</p>;
      }
      return <Hint text={r.remedy} />;
    case "invalid": {
      const fault = s.problems?.find((p) => p.code === r.subject) ?? s.problems?.find((p) => p.severity === "error");
      return (
        <>
          {fault && (
            <p>
              <ProblemPlace s={s} p={fault} /> {fault.message}
            </p>
          )}
          <Hint text={r.remedy} />
          {to(s.conformance[r.subject] ? "profiles" : "problems", S.why.seeProblems)}
        </>
      );
    }
    case "security_blocked":
      return (
        <>
          <p class="hint">{S.why.securityHint}</p>
          {to("scan", S.why.seeScan)}
        </>
      );
    case "security_pending":
      return (
        <>
          <p class="hint">{S.why.pendingHint}</p>
          {to("scan", S.why.seeScan)}
        </>
      );
    case "state_lost":
      return (
        <>
          <p class="hint">{S.why.lostHint}</p>
          <a href={href("health")}>{S.why.seeHealth}</a>
        </>
      );
    default:
      return <Hint text={r.remedy} />;
  }
}

/** Usable says how a usable skill gets into a turn, since "usable" alone does not say when. */
function Usable({ s }: { s: SkillDetail }) {
  const named = s.policy?.allow_implicit_invocation === false || s.disable_model_invocation;
  return (
    <p class="usable">
      {s.disable_model_invocation && S.skills.namedByItself} {named ? S.why.usableNamed(s.slug) : S.why.usableImplicit}{" "}
      <a href={href("turn", "", { text: `/skill:${s.slug} ` })}>{S.why.tryIt}</a>
      {s.disable_model_invocation && <Hint text={S.skills.namedHint} />}
    </p>
  );
}
