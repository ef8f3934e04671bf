// Short names for the generated types.
import type { components, operations } from "./types";

type S = components["schemas"];
export type Skill = S["Entry"];
export type SkillDetail = S["Detail"];
export type SkillState = S["State"];
export type SkillList = S["List"];
export type Problem = S["Problem"];
export type Reason = S["Reason"];
export type Severity = S["Severity"];
export type Finding = S["Finding"];
export type ScanVerdict = S["ScanVerdict"];
export type Health = S["Health"];
export type Condition = S["Condition"];
export type Policy = S["Policy"];
export type EffectivePolicy = S["EffectivePolicy"];
export type PolicyChange = S["PolicyChange"];
export type Environment = S["Environment"];
export type Resolution = S["Resolution"];
export type Requirements = S["Requirements"];

export type ExcludedTool = S["ExcludedTool"];
export type Artifact = S["Artifact"];
export type ListedTool = S["ListedTool"];
export type ToolList = S["ToolList"];
export type ToolPermission = S["ToolPermission"];
export type ToolResult = S["ToolResult"];
export type RejectedSkill = S["RejectedSkill"];
export type Prompt = S["Prompt"];
export type PromptFormat = NonNullable<NonNullable<operations["getPrompt"]["parameters"]["query"]>["format"]>;
export type AuditEntry = S["AuditEntry"];
export type AuditList = S["AuditList"];
export type AuditCheck = S["AuditCheck"];
export type CardStatus = S["CardStatus"];
export type CardPlatform = S["PlatformCard"];
export type Session = S["Session"];
export type Conflict = S["InstallConflict"];
export type Stats = S["Stats"];
export type StatsMinute = S["StatsMinute"];

/** Config is the answer of /console/config.json. */
export interface Config {
  mode: "command" | "token";
  embed_origins: string[];
}

/** StreamEvent is any event of GET /v1/events. */
export interface StreamEvent<T = Record<string, unknown>> {
  seq: number;
  time: string;
  type: string;
  workspace_id: string;
  snapshot_version: number;
  data: T;
}
