import type { SkillDetail } from "../../api/model";
import { needsOf, type Need } from "../../lib/requirements";
import { quote } from "../../lib/remedy";
import { href } from "../../router";
import { S } from "../../strings";
import { Badge, type Tone } from "../../ui/Badge";
import { Command } from "../../ui/Code";
import { CheckIcon, CrossIcon, WarnIcon } from "../../ui/icons";
import { Hint } from "../commands";

const tones: Record<Need["status"], Tone> = { met: "ok", missing: "bad", unverified: "warn", optional: "warn", skipped: "off" };

/** Requirements shows what a skill needs, whether it is there, and how to get it. */
export function Requirements({ s }: { s: SkillDetail }) {
  const needs = needsOf(s);
  return (
    <>
      {needs.length === 0 && <p class="hint">{S.requirements.none}</p>}
      {needs.some((n) => n.status === "unverified") && (
        <div class="box warn">
          <p>{S.requirements.unverified}</p>
          <p class="hint">
            {S.requirements.unverifiedHint} <a href={href("health")}>{S.nav.health}</a>
          </p>
        </div>
      )}
      <ul class="plain needs">
        {needs.map((n) => (
          <li key={n.kind + n.item} class="card need" data-need={n.kind} data-status={n.status}>
            <span class={"verdict " + tones[n.status]}>{n.status === "met" ? <CheckIcon /> : n.status === "missing" ? <CrossIcon /> : <WarnIcon />}</span>
            <div>
              <p class="line">
                <span class="muted">{S.requirements.kinds[n.kind]}</span>
                <strong class="mono break">{n.item}</strong>
                <Badge tone={tones[n.status]}>{S.requirements.status[n.status]}</Badge>
              </p>
              {n.remedy && <Hint text={n.remedy} />}
            </div>
          </li>
        ))}
      </ul>
      <Installs s={s} />
    </>
  );
}

/** Installs shows how the author says that the requirements are installed. pannier runs none of it. */
function Installs({ s }: { s: SkillDetail }) {
  if (s.install.length === 0) return null;
  return (
    <section class="card">
      <h2>{S.requirements.install}</h2>
      <p class="hint">{S.requirements.installHint}</p>
      <ul class="plain">
        {s.install.map((spec, i) => (
          <li key={i}>
            <p>
              <strong>{spec.label ?? spec.kind}</strong> {spec.bins && <span class="muted mono break">{spec.bins.join(", ")}</span>} {spec.os && <span class="muted">{spec.os.join(", ")}</span>}
            </p>
            {spec.refused && <p class="field-error">{spec.refused}</p>}
            {(spec.commands ?? []).map((argv) => (
              <Command key={argv.join(" ")} text={argv.map(quote).join(" ")} />
            ))}
          </li>
        ))}
      </ul>
    </section>
  );
}


