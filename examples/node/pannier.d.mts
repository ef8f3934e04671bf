/** The socket that the sidecar serves by default, which `pannier socket` prints. */
export function defaultSocket(environ?: Record<string, string | undefined>, uid?: number): string;

/** What went wrong, and what to do about it. `code` is stable; `status` is 0 where there was no whole answer. */
export class PannierError extends Error {
  constructor(status: number, code: string, detail: string, hint?: string, cause?: unknown);
  readonly status: number;
  readonly code: string;
  readonly detail: string;
  readonly hint: string;
}

/** A skill of the catalog. There are more fields than these. */
export interface Skill {
  slug: string;
  name: string;
  description: string;
  state: string;
  usable: boolean;
  /** When it was last used; there with `include=activity` alone. Times are RFC 3339 in UTC, absent where that has not happened. */
  activity?: { loaded_at?: string; active_at?: string };
  [field: string]: unknown;
}

export interface Content {
  slug: string;
  name: string;
  digest: string;
  frontmatter?: Record<string, unknown>;
  body: string;
  /** The skill directory as the agent sees it; `resources` are below it. */
  directory: string;
  resources: string[];
  resources_truncated: boolean;
  warnings: string[];
}

export interface Turn {
  capabilities?: { id?: string; slug: string }[];
  runtime?: string;
  format?: string;
  limits?: { max_chars?: number };
}

export interface Resolution {
  snapshot_version: number;
  digest: string;
  active: { slug: string; name: string; reason: string; source_kind: string; digest: string; arguments?: string }[];
  rejected: { id?: string; slug: string; reason: string; detail: string }[];
  /** Those of the active skills. */
  tools: Tool[];
  excluded_tools: { name: string; skill: string; reason: string; detail: string; hint?: string }[];
  prompt: { format: string; text: string; omitted: unknown[]; truncated: boolean };
}

/** A tool of a skill. There are more fields than these. */
export interface Tool {
  name: string;
  description: string;
  /** A JSON Schema of the arguments. */
  parameters: Record<string, unknown>;
  kind: "shell" | "http" | "function_proxy" | "python" | "script";
  skill: string;
  [field: string]: unknown;
}

export interface ToolError {
  code: string;
  message: string;
  hint?: string;
}

export interface ToolResult {
  name: string;
  call_id: string;
  ok: boolean;
  kind: Tool["kind"];
  exit_code?: number;
  status_code?: number;
  output: string;
  /** The output as JSON, where it is JSON. */
  structured?: unknown;
  /** What the agent has to call in place of a function_proxy. */
  proxy?: { tool: string; arguments: Record<string, unknown> };
  truncated: boolean;
  timed_out: boolean;
  duration_ms: number;
  error?: ToolError;
}

interface Sent<Type extends string, Data> {
  type: Type;
  seq: number;
  time: string;
  workspace_id: string;
  snapshot_version: number;
  data: Data;
  /** The events between the last one and this one are lost: read the whole again. */
  gap: boolean;
}

/** How the catalog changed; `added`, `changed` and `removed` are slugs. */
export interface CatalogUpdated {
  count: number;
  digest: string;
  added: string[];
  changed: string[];
  removed: string[];
}

/** What a turn resolved to; `active` and `rejected` count skills by reason. */
export interface TurnResolved {
  digest: string;
  turn_digest: string;
  format?: string;
  active: Record<string, number>;
  rejected: Record<string, number>;
  /** The chosen skills, then the rejected ones; `truncated` says that there are more. */
  skills: { slug: string; state: "active" | "rejected"; reason: string }[];
  truncated?: boolean;
  bodies: number;
  verbose?: boolean;
  unrecorded?: number;
  turn?: Turn;
}

export type PannierEvent =
  | { type: "connected" }
  | { type: "disconnected"; error: PannierError }
  | Sent<"skill_catalog_updated", CatalogUpdated>
  | Sent<"skill_loaded", { name: string; path: string; digest: string; frontmatter: unknown; warnings?: { kind: string; detail: string }[]; turn_digest?: string }>
  | Sent<"skill_file_read", { slug: string; path: string; digest: string }>
  | Sent<"skill_invoked", { name: string; slug: string; command?: string; args?: string; mode: "manual" | "auto"; effective_allowed_tools?: string[]; turn_digest?: string }>
  | Sent<"turn_resolved", TurnResolved>
  | Sent<"card_pushed" | "card_rejected", { platform: string; digest: string; error?: string }>;

export class Pannier {
  constructor(socket?: string);
  readonly socket: string;
  prompt(): Promise<string>;
  resolve(text: string, turn?: Turn): Promise<Resolution>;
  content(slug: string): Promise<Content>;
  /** A file of a skill, byte for byte; `path` is one of the `resources` of its content. */
  file(slug: string, path: string): Promise<Uint8Array>;
  skills(): Promise<Skill[]>;
  tools(): Promise<(Tool & { callable: boolean; why?: ToolError })[]>;
  callTool(name: string, args?: Record<string, unknown>, call?: { call_id?: string; session?: string; project_dir?: string }): Promise<ToolResult>;
  events(lastEventId?: number, options?: { signal?: AbortSignal }): AsyncGenerator<PannierEvent, void, void>;
}
