// State of "Try a turn". It outlives the view, so that nothing is lost by looking at a skill and coming back.
import { batch, signal } from "@preact/signals";
import { aborted, ApiProblem, asProblem, query, send } from "../../api/client";
import type { Prompt, PromptFormat, Resolution } from "../../api/model";
import { emptyForm, turnOf, type TurnBody, type TurnForm } from "../../lib/turnform";

// Every format of the API stands here: the type of the record is an error where one is missing or unknown.
const all: Record<PromptFormat, true> = {
  compact: true,
  available_skills: true,
  available_skills_reference: true,
  openclaw: true,
  skills_xml: true,
  molecule: true,
  molecule_system: true,
};
export const formats = Object.keys(all) as PromptFormat[];

/** A tried turn and its prompts, as far as they were read. */
export interface Tried {
  turn: TurnBody;
  /** why says what made the page try the turn: a person, or a change of the catalog. */
  why: "asked" | "changed";
  at: number;
  resolution: Resolution;
  prompts: Partial<Record<PromptFormat, Prompt>>;
}

export const form = signal<TurnForm>(emptyForm);
export const format = signal<PromptFormat>("compact");
/** verbose asks for the skills that the turn did not name as well. */
export const verbose = signal(true);
export const current = signal<Tried | null>(null);
export const previous = signal<Tried | null>(null);
export const running = signal(false);
export const problem = signal<ApiProblem | null>(null);
/** promptProblem is why the prompt of the chosen format could not be read. */
export const promptProblem = signal<ApiProblem | null>(null);

let attempt: AbortController | null = null;
let reading: AbortController | null = null;

/** run tries the turn of the form; nothing of it is recorded. */
export function run(): Promise<void> {
  return tryTurn(turnOf(form.peek()), "asked");
}

/** runAgain tries the last turn again after a change of the catalog. */
export async function runAgain(): Promise<void> {
  const last = current.peek();
  if (last) await tryTurn(last.turn, "changed");
}

async function tryTurn(turn: TurnBody, why: Tried["why"]): Promise<void> {
  attempt?.abort();
  const mine = (attempt = new AbortController());
  const wanted = format.peek();
  running.value = true;
  try {
    const resolution = await send<Resolution>("POST", "/v1/resolve" + query({ dry_run: true, verbose: verbose.peek() }), { ...turn, format: wanted }, { signal: mine.signal });
    const prompts = resolution.prompt ? { [wanted]: resolution.prompt } : {};
    batch(() => {
      keep({ turn, why, at: Date.now(), resolution, prompts });
      problem.value = null;
      promptProblem.value = null;
    });
    void readOthers();
  } catch (err) {
    if (!aborted(err)) problem.value = asProblem(err);
  } finally {
    if (attempt === mine) running.value = false;
  }
}

/** keep shows a result. The one before stays beside it, unless both are equal. */
function keep(next: Tried): void {
  const last = current.peek();
  if (last && !sameResult(last, next)) previous.value = last;
  if (last && sameResult(last, next)) next.prompts = { ...last.prompts, ...next.prompts };
  current.value = next;
}

function sameResult(a: Tried, b: Tried): boolean {
  return a.resolution.digest === b.resolution.digest && JSON.stringify(a.turn) === JSON.stringify(b.turn);
}

/** choose shows the prompt in another format. */
export function choose(next: PromptFormat): void {
  format.value = next;
  void readPrompt();
}

// In a large workspace a prompt with the instructions of every skill takes time: it is read when its tab is opened.
const fewSkills = 200;

/** readOthers reads the prompts in the other formats one after the other, so that their sizes can be compared. */
async function readOthers(): Promise<void> {
  await readPrompt();
  const result = current.peek();
  if (!result || result.resolution.active.length + result.resolution.rejected.length > fewSkills) return;
  for (const other of formats) {
    if (current.peek()?.resolution !== result.resolution) return;
    try {
      await read(current.peek()!, other);
    } catch {
      return; // It is read again, and the fault shown, when its tab is opened.
    }
  }
}

/** read reads the prompt of a result in a format, unless it is there. */
async function read(result: Tried, wanted: PromptFormat, abort?: AbortSignal): Promise<void> {
  if (result.prompts[wanted]) return;
  const prompt = await send<Prompt>("POST", "/v1/prompt" + query({ dry_run: true }), { ...result.turn, format: wanted }, { signal: abort, headers: { Accept: "application/json" } });
  const now = current.peek();
  if (now?.resolution === result.resolution) current.value = { ...now, prompts: { ...now.prompts, [wanted]: prompt } };
}

/** readPrompt reads the prompt of the current result in the chosen format, unless it is there. */
export async function readPrompt(): Promise<void> {
  const result = current.peek();
  reading?.abort();
  promptProblem.value = null;
  if (!result) return;
  const mine = (reading = new AbortController());
  try {
    await read(result, format.peek(), mine.signal);
  } catch (err) {
    if (!aborted(err)) promptProblem.value = asProblem(err);
  }
}
