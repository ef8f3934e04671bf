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

/** sentence writes the first word of a message in upper case, unless it is a name or a piece of code. */
export function sentence(text: string, field?: string): string {
  return /^[a-z]+[ ,;]/.test(text) && !(field && text.startsWith(field + " ")) ? text[0]!.toUpperCase() + text.slice(1) : text;
}
