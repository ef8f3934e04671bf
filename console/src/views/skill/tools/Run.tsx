import type { createParser as CreateParser } from "eventsource-parser";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { aborted, asProblem, ApiProblem, request } from "../../../api/client";
import type { Artifact, ListedTool, ToolResult } from "../../../api/model";
import { argumentsOf, BadField, fieldsOf, type Field } from "../../../lib/toolform";
import { sentence } from "../../../lib/reason";
import { S } from "../../../strings";
import { Badge } from "../../../ui/Badge";
import { Button } from "../../../ui/Button";
import { Code } from "../../../ui/Code";
import { ErrorBox } from "../../../ui/ErrorBox";
import { Hint } from "../../commands";

/** maxLog bounds what is shown of the output of a call that is under way, in characters. */
const maxLog = 100_000;

/** Run calls a tool with what is typed into the form of its parameters, and shows its log, its result and its artifacts. */
export function Run({ t, onClose }: { t: ListedTool; onClose: () => void }) {
  const fields = fieldsOf(t.parameters);
  const [texts, setTexts] = useState<Record<string, string>>({});
  const [bad, setBad] = useState("");
  const [log, setLog] = useState("");
  const [result, setResult] = useState<ToolResult | null>(null);
  const [error, setError] = useState<ApiProblem | null>(null);
  const [stop, setStop] = useState<AbortController | null>(null);
  const running = useRef<AbortController | null>(null);
  useEffect(() => () => running.current?.abort(), []);

  const call = async (e: Event): Promise<void> => {
    e.preventDefault();
    setBad("");
    let args: Record<string, unknown>;
    try {
      args = argumentsOf(fields, texts);
    } catch (err) {
      if (!(err instanceof BadField)) throw err;
      return setBad(err.field);
    }
    const mine = (running.current = new AbortController());
    setStop(mine);
    setLog("");
    setResult(null);
    setError(null);
    try {
      setResult(await stream(t.name, args, mine.signal, (text) => setLog((l) => (l + text).slice(-maxLog))));
    } catch (err) {
      setError(aborted(err) ? new ApiProblem(0, "console.cancelled", S.tools.cancelled) : asProblem(err));
    }
    setStop(null);
  };
  return (
    <form class="stack run" onSubmit={call} aria-label={S.tools.runTitle(t.name)}>
      {fields.length === 0 && <p class="hint">{S.tools.noParameters}</p>}
      {fields.map((f) => (
        <Input key={f.name} f={f} bad={bad === f.name} value={texts[f.name] ?? f.initial} onChange={(v) => setTexts({ ...texts, [f.name]: v })} />
      ))}
      <div class="line">
        <Button kind="primary" type="submit" disabled={stop !== null}>
          {stop ? S.tools.running : S.tools.run}
        </Button>
        {stop ? <Button onClick={() => stop.abort()}>{S.common.cancel}</Button> : <Button onClick={onClose}>{S.common.close}</Button>}
      </div>
      {log && !result && <Code text={log} label={S.tools.log} />}
      {error && <ErrorBox error={error} />}
      {result && <Result r={result} />}
    </form>
  );
}

/** stream calls a tool and returns its result; its output is told while it runs. */
async function stream(name: string, args: Record<string, unknown>, signal: AbortSignal, onOutput: (text: string) => void): Promise<ToolResult> {
  const headers = { Accept: "text/event-stream", "Content-Type": "application/json" };
  const res = await request("POST", "/v1/tools/" + encodeURIComponent(name), JSON.stringify({ arguments: args }), { signal, headers });
  let result: ToolResult | undefined;
  let refused: ApiProblem | undefined;
  // The bundle of the event stream has the parser. A name in a variable keeps the bundler from joining it with the app.
  const bundle = "./stream.js";
  const { createParser } = (await import(bundle)) as { createParser: typeof CreateParser };
  const parser = createParser({
    onEvent({ event, data }) {
      const value = JSON.parse(data) as ToolResult & { text: string; code: string; message: string; hint?: string };
      if (event === "output") onOutput(value.text);
      else if (event === "result") result = value;
      else if (event === "error") refused = new ApiProblem(409, value.code, value.message, value.hint ?? "");
    },
  });
  const reader = res.body!.pipeThrough(new TextDecoderStream()).getReader();
  for (let read = await reader.read(); !read.done; read = await reader.read()) parser.feed(read.value);
  if (refused) throw refused;
  if (!result) throw new ApiProblem(0, "console.offline", S.errors.cut, S.errors.offlineHint);
  return result;
}

function Input({ f, bad, value, onChange }: { f: Field; bad: boolean; value: string; onChange: (v: string) => void }) {
  const id = "parameter-" + f.name;
  const common = { id, required: f.required, "aria-describedby": id + "-hint", "aria-invalid": bad, value };
  const input = () => {
    switch (f.kind) {
      case "flag":
        return (
          <select {...common} onChange={(e) => onChange(e.currentTarget.value)}>
            <option value="">{S.tools.unset}</option>
            <option value="true">{S.common.yes}</option>
            <option value="false">{S.common.no}</option>
          </select>
        );
      case "choice":
        return (
          <select {...common} onChange={(e) => onChange(e.currentTarget.value)}>
            <option value="">{S.tools.unset}</option>
            {f.choices.map((c) => (
              <option key={c}>{c}</option>
            ))}
          </select>
        );
      case "text":
      case "number":
        return <input {...common} type="text" inputMode={f.kind === "number" ? "decimal" : "text"} autocomplete="off" spellcheck={false} onInput={(e) => onChange(e.currentTarget.value)} />;
      default:
        return <textarea {...common} rows={f.kind === "json" ? 3 : 1} spellcheck={false} onInput={(e) => onChange(e.currentTarget.value)} />;
    }
  };
  return (
    <div class="stack tight">
      <label for={id}>
        <code>{f.name}</code> {f.required && <span class="muted">{S.skill.required}</span>}
      </label>
      {input()}
      <p id={id + "-hint"} class={bad ? "field-error" : "hint"}>
        {bad ? S.tools.badField(f.kind) : f.description || (f.kind === "json" ? S.tools.asJSON : "")}
      </p>
    </div>
  );
}

function Result({ r }: { r: ToolResult }) {
  const box = useRef<HTMLElement>(null);
  useLayoutEffect(() => box.current!.scrollIntoView({ block: "nearest" }), [r]);
  return (
    <section ref={box} class="stack" data-result={r.ok}>
      <p class="line">
        <Badge tone={r.ok ? "ok" : "bad"}>{r.ok ? S.tools.ok : S.tools.failed}</Badge>
        <span class="muted">{S.tools.took(r.duration_ms, r.exit_code ?? r.status_code)}</span>
        {r.truncated && <Badge tone="warn">{S.tools.truncated}</Badge>}
        {r.timed_out && <Badge tone="warn">{S.tools.timedOut}</Badge>}
      </p>
      {r.error && (
        <div class="box bad">
          <p>{sentence(r.error.message)}</p>
          {r.error.hint && <Hint text={r.error.hint} />}
        </div>
      )}
      {r.proxy && <p class="hint">{S.tools.proxy(r.proxy.tool)}</p>}
      <Code text={r.structured !== undefined ? JSON.stringify(r.structured, null, 2) : r.output || S.tools.noOutput} label={S.tools.result} />
      {r.network && (
        <p class="hint">{S.tools.asked(r.network.map((h) => h.host + (h.refused ? ` (${S.tools.refusedHost[h.refused] ?? h.refused})` : "")).join(", "))}</p>
      )}
      <Artifacts r={r} />
    </section>
  );
}

function Artifacts({ r }: { r: ToolResult }) {
  const artifacts = r.artifacts ?? [];
  if (artifacts.length === 0) return null;
  const load = async (a: Artifact): Promise<void> => {
    const path = a.name.split("/").map(encodeURIComponent).join("/");
    const res = await request("GET", `/v1/tools/calls/${encodeURIComponent(r.call_id)}/artifacts/${path}`);
    const url = URL.createObjectURL(await res.blob());
    const link = Object.assign(document.createElement("a"), { href: url, download: a.name.split("/").at(-1)! });
    link.click();
    setTimeout(() => URL.revokeObjectURL(url), 60_000);
  };
  return (
    <>
      <p>
        <strong>{S.tools.artifacts}</strong>
      </p>
      <ul class="rows">
        {artifacts.map((a) => (
          <li key={a.name} class="line" data-artifact={a.name}>
            <code class="break">{a.name}</code>
            <span class="muted">
              {S.common.bytes(a.bytes)} · {a.media_type}
            </span>
            <Button class="small" onClick={() => load(a)}>
              {S.tools.download}
            </Button>
          </li>
        ))}
      </ul>
    </>
  );
}
