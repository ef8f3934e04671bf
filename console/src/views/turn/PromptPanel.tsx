import { useEffect } from "preact/hooks";
import { signal } from "@preact/signals";
import type { Prompt } from "../../api/model";
import { linesOf } from "../../lib/linediff";
import { S } from "../../strings";
import { CopyButton } from "../../ui/Button";
import { Code } from "../../ui/Code";
import { Loading } from "../../ui/Empty";
import { ErrorBox } from "../../ui/ErrorBox";
import { Tabs } from "../../ui/Tabs";
import { maxLines, SideBySide } from "../../ui/TextDiff";
import { choose, format, formats, previous, promptProblem, readPrompt, running, type Tried } from "./model";

const compare = signal(true);

/** PromptPanel shows what the agent would read, in each format, beside what it read in the turn before. */
export function PromptPanel({ tried }: { tried: Tried }) {
  const chosen = format.value;
  useEffect(() => void readPrompt(), [tried.resolution, chosen]);
  const prompt = tried.prompts[chosen];
  const tabs = formats.map((id) => ({ id, label: tried.prompts[id] ? `${id} ${S.turn.tokensShort(tried.prompts[id].tokens_estimate)}` : id }));
  return (
    <section class="card prompt">
      <h2>{S.turn.prompt}</h2>
      <Tabs label={S.turn.formats} tabs={tabs} current={chosen} onChange={(id) => choose(id as typeof chosen)}>
        <p class="hint">{S.turn.formatMeanings[chosen]}</p>
        {promptProblem.value && <ErrorBox error={promptProblem.value} retry={readPrompt} />}
        {prompt ? <PromptText prompt={prompt} before={previous.value?.prompts[chosen]} /> : !promptProblem.value && !running.value && <Loading label={S.common.loading} />}
      </Tabs>
    </section>
  );
}

function PromptText({ prompt, before }: { prompt: Prompt; before?: Prompt }) {
  const lines = linesOf(prompt.text);
  const differs = before !== undefined && before.text !== prompt.text;
  return (
    <>
      <div class="toolbar spread">
        <span>
          <strong>{S.turn.tokens(prompt.tokens_estimate)}</strong> <span class="hint">{S.turn.chars(prompt.chars)}</span>
          {before && <Change by={prompt.tokens_estimate - before.tokens_estimate} />}
        </span>
        <span class="line">
          {differs && (
            <label class="check">
              <input type="checkbox" checked={compare.value} onChange={(e) => (compare.value = e.currentTarget.checked)} /> {S.turn.compare}
            </label>
          )}
          <CopyButton text={prompt.text} label={S.turn.copyPrompt} />
        </span>
      </div>
      {prompt.omitted.length > 0 && <p class="box warn">{S.turn.omitted(prompt.omitted.length, prompt.omitted.slice(0, 10).join(", "))}</p>}
      {prompt.shortened && (
        <details>
          <summary>{S.turn.shortened(prompt.shortened.length)}</summary>
          <ul class="rows">
            {prompt.shortened.slice(0, 200).map((s) => <li key={s.slug}>{s.slug} <span class="hint">{S.turn.leftOut[s.left_out] ?? s.left_out}</span></li>)}
          </ul>
        </details>
      )}
      {before && !differs && <p class="hint">{S.turn.same}</p>}
      {!before && previous.value && <p class="hint">{S.turn.noBefore}</p>}
      {prompt.text === "" ? (
        <p class="hint">{S.turn.emptyPrompt}</p>
      ) : differs && compare.value ? (
        <SideBySide before={before.text} after={prompt.text} />
      ) : (
        <>
          <Code numbers text={lines.length > maxLines ? lines.slice(0, maxLines).join("\n") : prompt.text} label={S.turn.prompt} />
          {lines.length > maxLines && <p class="hint">{S.turn.cut(maxLines, lines.length)}</p>}
        </>
      )}
    </>
  );
}

function Change({ by }: { by: number }) {
  if (by === 0) return null;
  return <span class="hint"> {S.turn.tokensChanged(by)}</span>;
}
