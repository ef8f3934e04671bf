import type { Reason, Skill } from "../api/model";
import { S } from "../strings";

/** reasonTitle says in words what stands against a skill. `unverified.` before a code means that it does not block. */
export function reasonTitle(code: string): string {
  const bare = code.replace(/^unverified\./, "");
  return S.reasons[bare] ?? bare.replaceAll("_", " ");
}

/** reasonText is a reason in one line. */
export function reasonText(r: Reason): string {
  return r.subject ? `${reasonTitle(r.code)}: ${S.faults[r.subject] ?? r.subject}` : reasonTitle(r.code);
}

/** isBlocking reports whether a reason keeps the skill from being used. */
export const isBlocking = (r: Reason): boolean => !r.code.startsWith("unverified.");

/** needsAttention reports whether a person should look at a skill. */
export function needsAttention(s: Skill): boolean {
  return s.state === "ineligible" || s.last_good || (s.scan_summary !== undefined && s.scan_summary.decision !== "allow");
}

/** summary is the second line of a row: why a skill is not used, else what it is for. */
export function summary(s: Skill): { text: string; bad: boolean } {
  if (s.state === "ineligible") {
    const first = s.reasons.find(isBlocking) ?? s.reasons[0];
    if (first) {
      const more = s.reasons.length - 1;
      return { text: reasonText(first) + (more > 0 ? " " + S.skills.moreReasons(more) : ""), bad: true };
    }
  }
  if (s.state === "shadowed" && s.shadowed_by) return { text: S.skills.shadowedBy(s.shadowed_by), bad: true };
  return { text: s.description || S.skills.noDescription, bad: false };
}

/** sentence writes the first word of a message in upper case, unless it is a name or a piece of code. */
export function sentence(text: string, field?: string): string {
  return /^[a-z]+[ ,;]/.test(text) && !(field && text.startsWith(field + " ")) ? text[0]!.toUpperCase() + text.slice(1) : text;
}
