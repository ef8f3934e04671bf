import type { Skill } from "../api/model";
import { S } from "../strings";

/** trustSource names the trust of a skill by its source, and the level only if the settings or the lock file changed it. */
export function trustSource(s: Pick<Skill, "managed" | "source_kind" | "trust_level">): string {
  const source = s.managed ? "installed" : s.source_kind === "bundled" || s.source_kind === "extra" ? s.source_kind : "local";
  const usual = s.managed ? "community" : "verified";
  return !s.trust_level || s.trust_level === usual ? source : S.skills.trustSetTo(source, s.trust_level);
}
