// Whether the agent will use a skill: the question of the list.

import type { Problem, Skill } from "../api/model";
import { S } from "../strings";
import { isBlocking, reasonText, sentence } from "./reason";

/** Use says whether the model is offered a skill, gets it when a turn names it, or never gets it. */
export type Use = "offered" | "named" | "off";

export const uses: readonly Use[] = ["offered", "named", "off"];

type Judged = Pick<Skill, "usable" | "policy" | "disable_model_invocation" | "tools_only">;

/** useOf answers whether the agent will use a skill. */
export function useOf(s: Judged): Use {
  if (!s.usable) return "off";
  return s.policy?.allow_implicit_invocation === false || s.disable_model_invocation ? "named" : "offered";
}

/** Line is what a row says of a skill: why it is not used and what to do, else what it is for. */
export interface Line {
  text: string;
  /** todo is what to do; empty where nothing has to be done */
  todo: string;
  tone: "" | "bad" | "warn";
}

/** lineOf takes the fault of a skill that is used in spite of it. */
export function lineOf(s: Skill, fault?: Problem): Line {
  const w = S.why;
  if (s.last_good) return { text: w.lastGood, todo: S.skills.lastGoodHint, tone: "bad" };
  switch (s.state) {
    case "disabled":
      return { text: S.states.disabled!, todo: s.reasons[0] ? (w.disabledBy[s.reasons[0].subject] ?? w.disabledBySkill) : "", tone: "" };
    case "shadowed":
      return { text: S.skills.shadowedBy(s.shadowed_by ?? ""), todo: w.shadowedHint, tone: "warn" };
    case "unlisted":
      return { text: w.unlisted, todo: w.unlistedHint(s.path.split("/").at(-1)!), tone: "warn" };
    case "ineligible": {
      const first = s.reasons.find(isBlocking) ?? s.reasons[0];
      const more = s.reasons.length - 1;
      if (first) return { text: reasonText(first) + (more > 0 ? " " + S.skills.moreReasons(more) : ""), todo: first.remedy, tone: "bad" };
    }
  }
  if (fault && s.usable) return { text: fault.code === "skill.frontmatter.repaired" ? S.skills.repaired : sentence(fault.message), todo: fault.hint, tone: "warn" };
  const text = s.description || S.skills.noDescription;
  if (useOf(s) === "named" && s.policy?.allow_implicit_invocation !== false) return { text: S.skills.namedByItself + " " + text, todo: S.skills.namedHint, tone: "" };
  return { text, todo: "", tone: "" };
}

/** Order is the column by which the list is sorted. */
export type Order = "slug" | "use" | "version" | "source";
export const orders: readonly Order[] = ["slug", "use", "version", "source"];

const numeric = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

/** sorted sorts skills by "use", or backwards by "-use"; equal ones stay in the order of the list. An unknown order changes nothing. */
export function sorted<T extends Skill>(skills: readonly T[], by: string, source: (s: T) => string): readonly T[] {
  const backwards = by.startsWith("-");
  const order = orders.find((o) => o === (backwards ? by.slice(1) : by));
  if (!order || by === "slug") return skills;
  const key: Record<Order, (s: T) => string> = {
    slug: (s) => s.slug,
    use: (s) => String(uses.indexOf(useOf(s))),
    version: (s) => s.version ?? "",
    source,
  };
  const of = key[order];
  const keyed = skills.map((s) => ({ s, k: of(s) }));
  return keyed.sort((a, b) => numeric.compare(a.k, b.k) * (backwards ? -1 : 1)).map((x) => x.s);
}
