import type { ComponentChildren } from "preact";
import { useEffect, useId } from "preact/hooks";
import { onEvent } from "../api/events";
import { Button } from "../ui/Button";
import { Loading } from "../ui/Empty";
import { ErrorBox } from "../ui/ErrorBox";
import { useKeys } from "../lib/keys";
import { isEmpty, type TurnForm } from "../lib/turnform";
import { route, setParams } from "../router";
import { S } from "../strings";
import { current, form, problem, run, runAgain, running } from "./turn/model";
import { PromptPanel } from "./turn/PromptPanel";
import { Outcome } from "./turn/Outcome";

// Events after which a turn can have another answer.
const changing = new Set(["skill_catalog_updated", "skill_state_changed", "policy_changed", "environment_changed", "workspace_changed", "skill_scanned"]);

const textID = "turn-text";

/** Turn tries a turn: which skills it would get, and what the agent would read. */
export function Turn() {
  useKeys({ "/": () => document.getElementById(textID)?.focus() });
  useEffect(() => {
    // What an agent is offered without a message is the best beginning.
    const given = route.peek().params.text;
    if (given) {
      // A link from a skill comes with the message that names it.
      form.value = { ...form.peek(), text: given };
      setParams({ text: "" });
    }
    if (given || !current.peek()) void run();
    // The catalog may have changed while another view was shown.
    else void runAgain();
    let timer: ReturnType<typeof setTimeout> | undefined;
    // Several events follow one change.
    const end = onEvent((event) => {
      if (!changing.has(event.type)) return;
      clearTimeout(timer);
      timer = setTimeout(() => void runAgain(), 100);
    });
    return () => {
      clearTimeout(timer);
      end();
    };
  }, []);
  return (
    <div class="page turn">
      <h1>{S.nav.turn}</h1>
      <p class="hint">{S.turn.lead}</p>
      <Form />
      {problem.value && <ErrorBox error={problem.value} retry={run} />}
      {current.value ? (
        <div class="turn-result" aria-busy={running.value}>
          <Outcome tried={current.value} />
          <PromptPanel tried={current.value} />
        </div>
      ) : (
        !problem.value && <Loading label={S.common.loading} rows={4} />
      )}
    </div>
  );
}

function Form() {
  const f = form.value;
  const set = (change: Partial<TurnForm>) => (form.value = { ...form.peek(), ...change });
  const submit = (e: Event) => {
    e.preventDefault();
    void run();
  };
  const onKeyDown = (e: KeyboardEvent) => {
    if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) submit(e);
  };
  return (
    <form class="turn-form card" onSubmit={submit} onKeyDown={onKeyDown}>
      <Field label={S.turn.text} hint={S.turn.textHint} id={textID}>
        {(props) => <textarea {...props} rows={3} value={f.text} placeholder={S.turn.textExample} onInput={(e) => set({ text: e.currentTarget.value })} />}
      </Field>
      <details open={!isEmpty({ ...f, text: "" })}>
        <summary>{S.turn.more}</summary>
        <div class="fields">
          <Field label={S.turn.paths} hint={S.turn.pathsHint}>
            {(props) => <textarea {...props} rows={2} value={f.paths} onInput={(e) => set({ paths: e.currentTarget.value })} />}
          </Field>
          <Field label={S.turn.projectDir} hint={S.turn.projectDirHint}>
            {(props) => <input {...props} value={f.projectDir} onInput={(e) => set({ projectDir: e.currentTarget.value })} />}
          </Field>
          <Field label={S.turn.capabilities} hint={S.turn.capabilitiesHint}>
            {(props) => <input {...props} value={f.capabilities} onInput={(e) => set({ capabilities: e.currentTarget.value })} />}
          </Field>
          <Field label={S.turn.runtime} hint={S.turn.runtimeHint}>
            {(props) => <input {...props} value={f.runtime} onInput={(e) => set({ runtime: e.currentTarget.value })} />}
          </Field>
          <Field label={S.turn.tools} hint={S.turn.toolsHint}>
            {(props) => <textarea {...props} rows={2} value={f.tools} disabled={f.noTools} onInput={(e) => set({ tools: e.currentTarget.value })} />}
          </Field>
          <label class="check">
            <input type="checkbox" checked={f.noTools} onChange={(e) => set({ noTools: e.currentTarget.checked })} /> {S.turn.noTools}
          </label>
        </div>
      </details>
      <div class="line">
        <Button type="submit" kind="primary" disabled={running.value}>{S.turn.submit}</Button>
        <span class="hint">{S.turn.notRecorded}</span>
      </div>
    </form>
  );
}

interface FieldProps {
  label: string;
  hint: string;
  id?: string;
  children: (props: { id: string; "aria-describedby": string; spellcheck: false; autocomplete: "off" }) => ComponentChildren;
}

function Field({ label, hint, id: own, children }: FieldProps) {
  const made = useId();
  const id = own ?? made;
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children({ id, "aria-describedby": id + "-hint", spellcheck: false, autocomplete: "off" })}
      <small id={id + "-hint"} class="hint">{hint}</small>
    </div>
  );
}
