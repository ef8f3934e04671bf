import { computed, effect, signal } from "@preact/signals";
import { ApiProblem, asProblem, get, query } from "./api/client";
import { connected, follow, onEvent, onOpen, startEvents, unfollow } from "./api/events";
import type { Health, Problem, Skill, SkillList, StreamEvent } from "./api/model";
import { over, session, token } from "./api/session";
import { warm } from "./lib/search";
import { mergeSlugs, replaceAll, type Change, type Skills } from "./lib/merge";

/** skills are all known skills by path, in the order of lists. */
export const skills = signal<Skills>(new Map());
/** list has the same skills as an array. */
export const list = computed<readonly Skill[]>(() => [...skills.value.values()]);
/** total is how many skills there are, while they are still being read. */
export const total = signal(0);
/** loading says that the list is being read. */
export const loading = signal(false);
/** loaded says that the whole list was read once. */
export const loaded = signal(false);
/** loadError is why the list could not be read. */
export const loadError = signal<ApiProblem | null>(null);
/** changed has, by path, what changed a moment ago. */
export const changed = signal<ReadonlyMap<string, { text: string; at: number }>>(new Map());
/** lastChange is the newest of them, also where its row is gone; null after a moment. */
export const lastChange = signal<{ slug: string; text: string; more: number } | null>(null);
/** listProblems are faults that concern all skills: of config.yaml, prompt files, the environment file and roots. */
export const listProblems = signal<readonly Problem[]>([]);
/** faults are problems of usable skills that a person should see in the list, by path. They are read after the list. */
export const faults = signal<ReadonlyMap<string, Problem>>(new Map());
/** health is the newest health; null until it is read. */
export const health = signal<Health | null>(null);
export const healthError = signal<ApiProblem | null>(null);

/** listFields are the fields that rows, search and the way to the card (id) need. */
const listFields =
  "slug,owner,path,root,source_kind,name,description,version,emoji,tags,digest,fingerprint,last_good,deleting,trust_level,managed,state,usable,reasons,shadowed_by,scan_summary,user_invocable,disable_model_invocation,tools_only,id";

/** firstPage is small, so that it is painted soon. */
const firstPage = 100;
const nextPages = 1000;
/** maxSlugs is how many skills one request names; of more changes the whole list is read. */
const maxSlugs = 100;
/** coalesce is how long changes are collected before they are read: the events of one change come together. */
const coalesce = 5;
/** interval is the least time between two reads, so that many changes do not keep the page busy. */
let interval = 100;
const calm = 2_000;
const highlight = 6_000;

interface Page extends SkillList {
  total?: number;
  next_cursor?: string;
}

let generation = 0;
// The snapshot that the list was read from, and when the reading began.
let version = 0;
let began = -Infinity;

/** loadAll reads the whole list, page by page. */
export async function loadAll(): Promise<void> {
  const mine = ++generation;
  dirty.clear();
  loading.value = true;
  began = performance.now();
  try {
    const all: Skill[] = [];
    let cursor: string | undefined;
    do {
      const limit = all.length === 0 ? firstPage : nextPages;
      const page = await get<Page>("/v1/skills" + query({ include: "policy", fields: listFields, limit, cursor }));
      if (mine !== generation) return;
      if (all.length === 0) version = page.snapshot_version;
      all.push(...page.skills);
      listProblems.value = page.problems ?? [];
      cursor = page.next_cursor;
      total.value = page.total ?? all.length;
      // What was painted before stays until the list is whole, unless there was nothing.
      if (cursor && !loaded.peek()) skills.value = replaceAll(new Map(), all).skills;
    } while (cursor);
    apply(replaceAll(loaded.peek() ? skills.peek() : new Map(), all));
    loaded.value = true;
    loadError.value = null;
    void loadFaults(mine);
  } catch (err) {
    if (mine === generation) loadError.value = asProblem(err);
  } finally {
    if (mine === generation) {
      loading.value = false;
      if (dirty.size > 0) schedule();
    }
  }
}

const faultOf = (problems: readonly Problem[] | undefined): Problem | undefined =>
  problems?.find((p) => p.severity === "error" || p.code === "skill.frontmatter.repaired");

/** faultsDelay is how long the page rests before each page of problems is read: changes go first. */
const faultsDelay = 500;

/** loadFaults reads the problems of all skills, page by page, after the list is shown. */
async function loadFaults(mine: number): Promise<void> {
  const found = new Map<string, Problem>();
  let cursor: string | undefined;
  try {
    do {
      await new Promise((r) => setTimeout(r, faultsDelay));
      const page = await get<Page>("/v1/skills" + query({ include: "problems", fields: "path,problems", limit: nextPages, cursor }));
      if (mine !== generation) return;
      for (const s of page.skills) {
        const fault = faultOf(s.problems);
        if (fault) found.set(s.path, fault);
      }
      cursor = page.next_cursor;
    } while (cursor);
    faults.value = found;
  } catch {
    // The list is whole without them.
  }
}

/** ranked are the paths of the skills that the sidecar has found for a query, the most relevant first. */
export const ranked = signal<{ query: string; paths: readonly string[] }>({ query: "", paths: [] });
let ranking: AbortController | undefined;

/** rank asks the sidecar which skills a query is about. Until it answers, and without an answer, the page searches alone. */
export async function rank(q: string): Promise<void> {
  ranking?.abort();
  const mine = (ranking = new AbortController());
  if (q.trim() === "") return;
  try {
    const page = await get<Page>("/v1/skills" + query({ q: q.trim().slice(0, 64), fields: "slug", limit: nextPages }), { signal: mine.signal });
    ranked.value = { query: q, paths: page.skills.map((s) => s.path) };
  } catch {
    // The page has its own search.
  }
}

const dirty = new Set<string>();
let timer: ReturnType<typeof setTimeout> | undefined;
let reading = false;

/** touch says that these skills have changed and have to be read. */
export function touch(slugs: Iterable<string>): void {
  for (const s of slugs) dirty.add(s);
  if (dirty.size > 0) schedule();
}

let readAt = 0;

function schedule(): void {
  timer ??= setTimeout(() => void readDirty(), Math.max(coalesce, readAt + interval - performance.now()));
}

/** calmly reads less often while the page itself changes many skills, and at once when it has. */
export async function calmly<T>(work: Promise<T>): Promise<T> {
  const before = interval;
  interval = calm;
  try {
    return await work;
  } finally {
    interval = before;
    clearTimeout(timer);
    timer = undefined;
    if (dirty.size > 0) schedule();
  }
}

async function readDirty(): Promise<void> {
  timer = undefined;
  // A read that is under way may be older than the change: it is followed by another.
  if (reading || loading.peek()) return;
  if (dirty.size > maxSlugs || !loaded.peek()) return loadAll();
  const slugs = new Set(dirty);
  dirty.clear();
  if (slugs.size === 0) return;
  reading = true;
  readAt = performance.now();
  const mine = generation;
  try {
    const page = await get<Page>("/v1/skills" + query({ include: "policy,problems", fields: listFields + ",problems", slug: [...slugs].join(",") }));
    if (mine !== generation) return;
    listProblems.value = page.problems ?? [];
    const next = new Map(faults.peek());
    for (const s of page.skills) {
      const fault = faultOf(s.problems);
      if (fault) next.set(s.path, fault);
      else next.delete(s.path);
    }
    faults.value = next;
    apply(mergeSlugs(skills.peek(), slugs, page.skills));
  } catch (err) {
    const p = asProblem(err);
    if (!p.offline) loadError.value = p;
    // The stream reads everything again when it is back.
  } finally {
    reading = false;
    if (dirty.size > 0) schedule();
  }
}

function apply(merged: { skills: Skills; changes: Change[] }): void {
  skills.value = merged.skills;
  total.value = merged.skills.size;
  warm(list.peek());
  if (merged.changes.length === 0) return;
  const at = Date.now();
  const next = new Map([...changed.peek()].filter(([, c]) => at - c.at < highlight));
  for (const c of merged.changes) next.set(c.path, { text: c.text, at });
  changed.value = next;
  const last = merged.changes.at(-1)!;
  const shown = { slug: last.slug, text: last.text, more: merged.changes.length - 1 };
  lastChange.value = shown;
  setTimeout(() => {
    const now = Date.now();
    changed.value = new Map([...changed.peek()].filter(([, c]) => now - c.at < highlight));
    if (lastChange.peek() === shown) lastChange.value = null;
  }, highlight + 50);
}

let healthTimer: ReturnType<typeof setTimeout> | undefined;
let healthAt = 0;
let startedAt = "";

/** refreshHealth reads health soon, at most once a second. */
export function refreshHealth(): void {
  healthTimer ??= setTimeout(() => void readHealth(), Math.max(0, healthAt + 1000 - Date.now()));
}

async function readHealth(): Promise<void> {
  healthTimer = undefined;
  healthAt = Date.now();
  try {
    const h = await get<Health>("/v1/health");
    health.value = h;
    healthError.value = null;
    // Another process may have another history: nothing that was read before can be trusted.
    if (startedAt && startedAt !== h.started_at) void loadAll();
    startedAt = h.started_at;
  } catch (err) {
    healthError.value = asProblem(err);
  }
}

function received(e: StreamEvent): void {
  const d = e.data as { slug?: string; added?: string[]; changed?: string[]; removed?: string[] };
  switch (e.type) {
    case "skill_catalog_updated":
      touch([...(d.added ?? []), ...(d.changed ?? []), ...(d.removed ?? [])]);
      break;
    case "skill_state_changed":
    case "policy_changed":
    case "skill_scanned":
    case "install_added":
    case "install_replaced":
    case "install_removed":
    case "install_rolled_back":
      if (d.slug) touch([d.slug]);
      break;
    case "workspace_changed":
    case "environment_changed":
    case "card_pushed":
    case "card_rejected":
      break;
    default:
      return;
  }
  refreshHealth();
}

/** fresh is how old a list may be when the stream begins, so that only its snapshot is compared, in milliseconds. */
const fresh = 5_000;

/** catchUp reads the list again when the stream begins, unless it was read from the present snapshot just now. */
async function catchUp(): Promise<void> {
  if (performance.now() - began > fresh) return loadAll();
  const mine = generation;
  const now = await get<Page>("/v1/skills" + query({ fields: "slug", limit: 1 })).catch(() => null);
  if (mine === generation && now?.snapshot_version !== version) await loadAll();
}

/** startStore reads everything and follows the events for as long as there is a session. */
export function startStore(): void {
  startEvents();
  onEvent(received);
  onOpen(() => {
    refreshHealth();
    void catchUp();
  });
  effect(() => {
    if (!session.value || over.value) return unfollow();
    follow(token.value);
    void loadAll();
  });
  setInterval(() => {
    if (connected.peek() && document.visibilityState === "visible") refreshHealth();
  }, 30_000);
}
