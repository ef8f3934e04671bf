import type { ComponentChildren } from "preact";
import type { Severity, Skill } from "../api/model";
import { S } from "../strings";

export type Tone = "ok" | "warn" | "bad" | "off" | "info" | "plain";

export function Badge({ tone = "plain", title, children }: { tone?: Tone; title?: string; children: ComponentChildren }) {
  return (
    <span class={`badge ${tone}`} title={title}>
      {children}
    </span>
  );
}

/** stateTone is the colour of a state. */
export function stateTone(s: Pick<Skill, "state" | "last_good">): Tone {
  if (s.state === "eligible") return s.last_good ? "warn" : "ok";
  return s.state === "ineligible" ? "bad" : "off";
}

export function StateBadge({ skill }: { skill: Pick<Skill, "state" | "last_good"> }) {
  return (
    <span class={`badge state ${stateTone(skill)}`} data-state={skill.state} title={S.stateMeanings[skill.state]}>
      {S.states[skill.state] ?? skill.state}
    </span>
  );
}

export const severityTone: Record<Severity, Tone> = { error: "bad", warning: "warn", info: "info" };
