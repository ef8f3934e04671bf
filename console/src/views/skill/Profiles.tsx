import type { SkillDetail } from "../../api/model";
import { S } from "../../strings";
import { Badge } from "../../ui/Badge";
import { CheckIcon, CrossIcon } from "../../ui/icons";
import { ProblemList } from "./Problems";

/** Profiles shows the verdict of each set of rules, with what it finds. */
export function Profiles({ s }: { s: SkillDetail }) {
  const all = Object.entries(s.conformance).sort(([a], [b]) => (a < b ? -1 : 1));
  if (all.length === 0) return <p class="hint">{S.profiles.none}</p>;
  return (
    <>
      <p class="hint">{S.profiles.intro}</p>
      {all.map(([name, verdict]) => (
        <details key={name} class="card profile" open={!verdict.compliant && all.filter(([, v]) => !v.compliant).length === 1} data-profile={name} data-compliant={verdict.compliant}>
          <summary>
            <span class={verdict.compliant ? "verdict ok" : "verdict bad"}>{verdict.compliant ? <CheckIcon /> : <CrossIcon />}</span>
            <h2>{S.profiles.names[name] ?? name}</h2>
            <Badge tone={verdict.compliant ? "ok" : "bad"}>{verdict.compliant ? S.profiles.passes : S.profiles.fails}</Badge>
            {verdict.issues.length > 0 && <span class="muted">{S.profiles.issues(verdict.issues.length)}</span>}
          </summary>
          <p class="hint">{S.profiles.about[name] ?? ""}</p>
          {verdict.issues.length > 0 ? <ProblemList s={s} problems={verdict.issues} /> : <p>{S.profiles.clean}</p>}
        </details>
      ))}
    </>
  );
}
