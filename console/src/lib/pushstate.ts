// How far a platform is behind, in one word.

import type { Condition } from "./remedy";

export interface Push {
  platform: string;
  desired?: string;
  acknowledged?: string;
  last_success?: string;
  last_error?: string;
  hint?: string;
  blocked?: boolean;
  since?: string;
}

export type PushState = "in_step" | "pushing" | "refused" | "failing" | "contested" | "withheld" | "waiting";

/** Returns the state of a platform; what a person has to act on comes first. */
export function pushStateOf(push: Push, conditions: Condition[]): PushState {
  const has = (code: string) => conditions.some((c) => c.code === code && (c.subject === push.platform || code === "card_withheld"));
  if (push.blocked) return "refused";
  if (has("card_contested")) return "contested";
  if (push.last_error) return "failing";
  if (has("card_withheld")) return "withheld";
  if (!push.desired) return "waiting";
  return push.desired === push.acknowledged ? "in_step" : "pushing";
}
