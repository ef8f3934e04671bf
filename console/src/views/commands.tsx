import { config, flags } from "../api/session";
import { sentence } from "../lib/reason";
import { quote, splitHint, withFlags } from "../lib/remedy";
import { health } from "../store";
import { Command } from "../ui/Code";

/** sessionFlags returns the flags with which a command reaches the sidecar of this session. */
export function sessionFlags(): string {
  if (config.value?.mode === "token") return `--url ${quote(location.origin)}`;
  return flags.value || (health.value ? `--socket ${quote(health.value.socket)}` : "");
}

/** command returns a command line that reaches the sidecar of this session. */
export const command = (text: string): string => withFlags(text, sessionFlags());

/** Hint shows what to do; its commands can be copied and reach the sidecar of this session. */
export function Hint({ text, slugs }: { text: string; slugs?: string[] }) {
  const parts = splitHint(sentence(text), slugs);
  return (
    <>
      <p class="hint">{parts.map((p, i) => (p.kind === "text" ? p.text : <code key={i}>{p.text}</code>))}</p>
      {parts.filter((p) => p.kind === "command").map((p) => <Command key={p.text} text={command(p.text)} />)}
    </>
  );
}
