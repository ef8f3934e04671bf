import type { ComponentChildren } from "preact";
import { asProblem } from "../api/client";
import { S } from "../strings";
import { Button } from "./Button";

/** ErrorBox shows what failed and what to do. */
export function ErrorBox({ error, title, retry, children }: { error: unknown; title?: string; retry?: () => unknown; children?: ComponentChildren }) {
  const p = asProblem(error);
  return (
    <div class="box bad" role="alert">
      <strong>{title ?? S.errors.title}</strong>
      <p>{p.detail}</p>
      {p.hint && <p class="hint">{p.hint}</p>}
      {children}
      {retry && <Button onClick={retry}>{S.common.retry}</Button>}
    </div>
  );
}
