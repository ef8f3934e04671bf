import { useEffect, useRef } from "preact/hooks";
import { CopyButton } from "./Button";
import { S } from "../strings";

export interface Mark {
  line: number;
  tone: "bad" | "warn" | "info";
  text: string;
}

/** Code shows a text as it is. With `numbers` it has line numbers, and marks below their lines. */
export function Code({ text, numbers, marks = [], focus, label }: { text: string; numbers?: boolean; marks?: Mark[]; focus?: number; label?: string }) {
  const ref = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (focus) ref.current?.querySelector(`[data-line="${focus}"]`)?.scrollIntoView({ block: "center" });
  }, [focus, text]);
  if (!numbers) {
    return (
      <pre class="code" tabIndex={0} aria-label={label ?? S.common.code}>
        {text}
      </pre>
    );
  }
  const lines = text.replace(/\n$/, "").split("\n");
  const byLine = new Map<number, Mark[]>();
  for (const m of marks) {
    const line = Math.min(Math.max(1, m.line), lines.length);
    byLine.set(line, [...(byLine.get(line) ?? []), m]);
  }
  return (
    <div class="code numbered" ref={ref} tabIndex={0} role="region" aria-label={label ?? S.common.code}>
      <ol>
        {lines.map((line, i) => {
          const here = byLine.get(i + 1);
          return (
            <li key={i} data-line={i + 1} class={here ? "marked " + here[0]!.tone : focus === i + 1 ? "marked info" : undefined}>
              <code>{line || " "}</code>
              {here?.map((m) => (
                <p key={m.text} class={"mark " + m.tone}>
                  {m.text}
                </p>
              ))}
            </li>
          );
        })}
      </ol>
    </div>
  );
}

/** Command shows a command line with a button that copies it. */
export function Command({ text }: { text: string }) {
  return (
    <div class="command">
      <code>{text}</code>
      <CopyButton text={text} />
    </div>
  );
}
