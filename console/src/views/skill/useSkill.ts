import { useEffect, useState } from "preact/hooks";
import { aborted, asProblem, get, skillURL, text, type ApiProblem } from "../../api/client";
import { onEvent, onOpen } from "../../api/events";
import type { SkillDetail, StreamEvent } from "../../api/model";
import { session } from "../../api/session";

export interface Loaded {
  skill: SkillDetail | null;
  /** gone says that the skill was there and is not any more; `skill` is what it was. */
  gone: boolean;
  error: ApiProblem | null;
  reload: () => void;
}

// Events of use say nothing about the skill itself.
const unrelated = new Set(["skill_loaded", "skill_invoked", "skill_override", "skill_file_read", "turn_resolved", "mcp_session", "card_pushed", "card_rejected"]);
const coalesce = 40;

/** concerns reports whether an event may change what is shown of a skill. */
export function concerns(e: StreamEvent, slug: string): boolean {
  if (unrelated.has(e.type)) return false;
  const d = e.data as { slug?: string; name?: string; added?: string[]; changed?: string[]; removed?: string[] };
  if (e.type === "skill_catalog_updated") return [d.added, d.changed, d.removed].some((l) => l?.includes(slug));
  const named = d.slug ?? d.name;
  return named === undefined || named === slug;
}

// The skills that were read last, for pages that are opened while the sidecar is away.
const seen = new Map<string, SkillDetail>();
const maxSeen = 50;

function remember(key: string, s: SkillDetail): void {
  seen.delete(key);
  seen.set(key, s);
  if (seen.size > maxSeen) seen.delete(seen.keys().next().value!);
}

/** useSkill reads one skill, and reads it again when it changes. */
export function useSkill(slug: string, path: string | undefined): Loaded {
  const [state, setState] = useState<Omit<Loaded, "reload">>({ skill: null, gone: false, error: null });
  const [turn, setTurn] = useState(0);
  const reload = (): void => setTurn((t) => t + 1);

  useEffect(() => {
    const stop = new AbortController();
    const key = slug + "\n" + (path ?? "");
    get<SkillDetail>(skillURL(slug, "", { path }), { signal: stop.signal }).then(
      (skill) => (remember(key, skill), setState({ skill, gone: false, error: null })),
      (err: unknown) => {
        if (aborted(err)) return;
        const error = asProblem(err);
        const before = seen.get(key);
        if (error.offline && before) return setState({ skill: before, gone: false, error: null });
        setState((s) => (error.status === 404 && s.skill ? { skill: s.skill, gone: true, error: null } : { ...s, error }));
      },
    );
    return () => stop.abort();
  }, [slug, path, turn]);

  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const later = (): void => void (timer ??= setTimeout(() => ((timer = undefined), reload()), coalesce));
    const ends = [onEvent((e) => concerns(e, slug.split("/").at(-1)!) && later()), onOpen(later)];
    return () => {
      clearTimeout(timer);
      for (const end of ends) end();
    };
  }, [slug]);

  return { ...state, reload };
}

/** mainFile is the SKILL.md of a skill as it is written on disk; null for a skill without one. */
export function mainFile(s: SkillDetail): string | null {
  if (s.tools_only) return null;
  return s.files.find((f) => f.path.toLowerCase() === "skill.md")?.path ?? "SKILL.md";
}

export interface FileText {
  text: string;
  more: boolean;
}

/** fileLimit bounds what is read of a file. */
export const fileLimit = 256 * 1024;

/** useFile reads the beginning of a file of a skill, and reads it again when the skill changes. */
export function useFile(s: SkillDetail, path: string | null): { file: FileText | null; error: ApiProblem | null } {
  const [state, setState] = useState<{ of: string; file: FileText | null; error: ApiProblem | null }>({ of: "", file: null, error: null });
  const version = [s.path, path, s.digest, s.fingerprint, s.last_good, s.state].join(" ");
  useEffect(() => {
    if (!path) return;
    const stop = new AbortController();
    // What an agent may not read is for people who may change it.
    const params = session.peek()?.write ? { inspect: "1", skill_path: s.path } : {};
    const at = skillURL(s.slug, "/files/" + path.split("/").map(encodeURIComponent).join("/"), params);
    text(at, fileLimit, { signal: stop.signal }).then(
      ({ text: t, more }) => setState({ of: s.path + path, file: { text: t, more }, error: null }),
      (err: unknown) => !aborted(err) && setState({ of: s.path + path, file: null, error: asProblem(err) }),
    );
    return () => stop.abort();
  }, [version]);
  return state.of === s.path + path ? state : { file: null, error: null };
}
