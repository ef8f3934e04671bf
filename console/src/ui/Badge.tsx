import type { ComponentChildren } from "preact";
import type { Severity, Skill } from "../api/model";
import { useOf, type Use } from "../lib/use";
import { S } from "../strings";

export type Tone = "ok" | "warn" | "bad" | "off" | "info" | "plain";

export function Badge({ tone = "plain", title, children }: { tone?: Tone; title?: string; children: ComponentChildren }) {
  return (
    <span class={`badge ${tone}`} title={title}>
      {children}
    </span>
  );
}

const useTones: Record<Use, Tone> = { offered: "ok", named: "info", off: "bad" };

/** UseBadge answers whether the agent will use a skill. A skill that somebody has switched off is not a fault. */
export function UseBadge({ skill }: { skill: Skill }) {
  const use = useOf(skill);
  const tone = use !== "off" ? (skill.last_good ? "warn" : useTones[use]) : skill.state === "ineligible" ? "bad" : "off";
  return (
    <span class={`badge state ${tone}`} data-state={skill.state} data-use={use} title={use === "off" ? S.stateMeanings[skill.state] : S.useMeanings[use]}>
      {S.uses[use]}
    </span>
  );
}

export const severityTone: Record<Severity, Tone> = { error: "bad", warning: "warn", info: "info" };
