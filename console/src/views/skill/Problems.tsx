import type { Problem, SkillDetail } from "../../api/model";
import { sentence } from "../../lib/reason";
import { S } from "../../strings";
import { Badge, severityTone } from "../../ui/Badge";
import { Hint } from "../commands";
import { Viewer } from "./Files";
import { ProblemPlace } from "./places";
import { mainFile } from "./useSkill";

/** ProblemList shows problems with their places and what to do. */
export function ProblemList({ s, problems }: { s: SkillDetail; problems: readonly Problem[] }) {
  return (
    <ul class="plain problems">
      {problems.map((p) => (
        <li key={[p.code, p.path, p.line, p.column, p.message].join(" ")} class={`box ${severityTone[p.severity] === "plain" ? "" : severityTone[p.severity]}`} data-code={p.code}>
          <p class="line">
            <Badge tone={severityTone[p.severity]}>{S.severity[p.severity]}</Badge>
            <ProblemPlace s={s} p={p} />
            {p.field && <code>{p.field}</code>}
          </p>
          <p>
            <strong>{sentence(p.message, p.field)}</strong>
          </p>
          <Hint text={p.hint} />
          <code class="muted">{p.code}</code>
        </li>
      ))}
    </ul>
  );
}

/** Problems lists the faults of a skill above the text in which they are. */
export function Problems({ s }: { s: SkillDetail }) {
  const problems = s.problems ?? [];
  const main = mainFile(s);
  if (problems.length === 0) return <p class="hint">{S.problems.none}</p>;
  return (
    <>
      <ProblemList s={s} problems={problems} />
      {main && problems.some((p) => p.line) && <Viewer s={s} path={main} />}
    </>
  );
}

/** Source shows SKILL.md as it is on disk. */
export function Source({ s }: { s: SkillDetail }) {
  const main = mainFile(s);
  if (!main) return <p class="hint">{S.skill.toolsOnly}</p>;
  return <Viewer s={s} path={main} />;
}
