import { S } from "../strings";
import { touch } from "../store";
import { toast } from "../ui/Toast";
import { query, send } from "./client";
import type { Policy, PolicyChange, Skill } from "./model";

type Switched = Pick<Skill, "slug" | "source_kind" | "policy">;

/** setPolicy changes the workspace layer of one skill. */
export async function setPolicy(s: Pick<Switched, "slug" | "source_kind">, change: PolicyChange): Promise<Policy> {
  const after = await send<Policy>("PUT", "/v1/policy/" + encodeURIComponent(s.slug) + query({ source_kind: s.source_kind }), change);
  touch([s.slug]);
  return after;
}

/** undoOf returns the change that restores what the workspace layer says now: `null` where it says nothing. */
export function undoOf(s: Switched, change: PolicyChange): PolicyChange {
  const out: PolicyChange = {};
  const p = s.policy;
  if (change.enabled !== undefined) out.enabled = p?.source === "workspace" ? p.enabled : null;
  if (change.allow_implicit_invocation !== undefined) {
    out.allow_implicit_invocation = p?.implicit_source === "workspace" ? p.allow_implicit_invocation : null;
  }
  return out;
}

/** changePolicy changes a switch, says so, and offers to take it back. */
export async function changePolicy(s: Switched, change: PolicyChange): Promise<void> {
  const undo = undoOf(s, change);
  await setPolicy(s, change);
  toast({ kind: "ok", text: S.policy.changed(s.slug, change), undo: () => setPolicy(s, undo) });
}
