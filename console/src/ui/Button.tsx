import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";
import { S } from "../strings";
import { toast } from "./Toast";
import { asProblem } from "../api/client";

type Kind = "primary" | "plain" | "quiet" | "danger";

interface Props extends Omit<JSX.IntrinsicElements["button"], "onClick"> {
  kind?: Kind;
  icon?: ComponentChildren;
  /** onClick may return a promise: the button waits for it and shows its failure as a toast. */
  onClick?: (e: MouseEvent) => unknown;
  children?: ComponentChildren;
}

/** Button is disabled while its action runs. */
export function Button({ kind = "plain", icon, onClick, children, disabled, class: cls, ...rest }: Props) {
  const [busy, setBusy] = useState(false);
  const click = async (e: MouseEvent): Promise<void> => {
    const done = onClick?.(e);
    if (!(done instanceof Promise)) return;
    setBusy(true);
    try {
      await done;
    } catch (err) {
      const p = asProblem(err);
      toast({ kind: "error", text: p.detail, hint: p.hint });
    } finally {
      setBusy(false);
    }
  };
  return (
    <button type="button" {...rest} class={`button ${kind}${cls ? " " + String(cls) : ""}`} disabled={busy || Boolean(disabled)} aria-busy={busy} onClick={click}>
      {icon}
      {children}
    </button>
  );
}

/** CopyButton copies a text. */
export function CopyButton({ text, label = S.common.copy }: { text: string; label?: string }) {
  const [done, setDone] = useState(false);
  const copy = async (): Promise<void> => {
    await copyText(text);
    setDone(true);
    setTimeout(() => setDone(false), 1500);
  };
  return (
    <Button kind="quiet" class="small" onClick={copy}>
      <span aria-live="polite">{done ? S.common.copied : label}</span>
    </Button>
  );
}

async function copyText(text: string): Promise<void> {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  // The clipboard needs a secure context; over plain HTTP on another name there is only this.
  const area = document.createElement("textarea");
  area.value = text;
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}

/** Switch is an accessible on/off switch. */
export function Switch({ on, label, disabled, onChange }: { on: boolean; label: string; disabled?: boolean; onChange: (on: boolean) => unknown }) {
  const [busy, setBusy] = useState(false);
  const click = async (): Promise<void> => {
    setBusy(true);
    try {
      await onChange(!on);
    } catch (err) {
      const p = asProblem(err);
      toast({ kind: "error", text: p.detail, hint: p.hint });
    } finally {
      setBusy(false);
    }
  };
  return <button type="button" role="switch" class="switch" aria-checked={on} aria-label={label} title={label} disabled={busy || disabled} onClick={click} />;
}
