import type { Skill, SkillDetail } from "../api/model";

export type Kind = "bins" | "any_bins" | "env" | "api_keys" | "config" | "mcp" | "os" | "runtime";

/**
 * Need is one thing that a skill needs. `unverified` was checked where the agent does not run, and `optional` is missing but
 * does not keep the skill from being used.
 */
export interface Need {
  kind: Kind;
  item: string;
  status: "met" | "missing" | "unverified" | "optional" | "skipped";
  remedy?: string;
}

const codes: Record<Kind, string> = {
  bins: "missing_binary",
  any_bins: "missing_any_binary",
  env: "missing_env",
  api_keys: "missing_api_key",
  config: "missing_config",
  mcp: "missing_mcp",
  os: "os_unsupported",
  runtime: "runtime_incompatible",
};

type Needing = Pick<SkillDetail, "requirements" | "reasons" | "problems" | "runtime">;

/** needsOf lists what a skill needs, and whether it is there. */
export function needsOf(s: Needing): Need[] {
  const r = s.requirements;
  const all: [Kind, string][] = [];
  for (const kind of ["bins", "env", "api_keys", "mcp", "config"] as const) for (const item of r[kind] ?? []) all.push([kind, item]);
  // One of these is enough, and one operating system or runtime is.
  if (r.any_bins?.length) all.splice(r.bins?.length ?? 0, 0, ["any_bins", r.any_bins.join(", ")]);
  if (r.os?.length) all.push(["os", r.os.join(", ")]);
  if (s.runtime?.length) all.push(["runtime", s.runtime.join(", ")]);
  return all.map(([kind, item]) => need(s, kind, item));
}

function need(s: Needing, kind: Kind, item: string): Need {
  const code = codes[kind];
  const single = kind === "os" || kind === "runtime";
  const against = s.reasons.find((r) => r.code === code && (single || r.subject === item));
  if (against) return { kind, item, status: "missing", remedy: against.remedy };
  const problem = s.problems?.find((p) => p.code.replace(/^unverified\./, "") === code && (single || p.subject === item));
  if (problem) return { kind, item, status: problem.code.startsWith("unverified.") ? "unverified" : "optional", remedy: problem.hint };
  if (s.requirements.always && !single) return { kind, item, status: "skipped" };
  return { kind, item, status: "met" };
}

/** effectOf says what a missing requirement does to skills, as far as their reasons show it. */
export function effectOf(skills: readonly Pick<Skill, "reasons">[]): "blocks" | "warns" | "unknown" {
  const codes = skills.flatMap((s) => s.reasons.map((r) => r.code)).filter((code) => /^(unverified\.)?missing_/.test(code));
  if (codes.length === 0) return "unknown";
  return codes.every((code) => code.startsWith("unverified.")) ? "warns" : "blocks";
}
