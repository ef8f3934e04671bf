import { useEffect, useRef, useState } from "preact/hooks";
import type { render as Render } from "../lazy/markdown";
import { S } from "../strings";
import { ErrorBox } from "./ErrorBox";
import { Loading } from "./Empty";

/** Markdown shows an untrusted text. `fileHref` returns where a link to a file of the skill leads. */
export function Markdown({ text, fileHref }: { text: string; fileHref?: (path: string) => string | null }) {
  const ref = useRef<HTMLDivElement>(null);
  const [render, setRender] = useState<{ f: typeof Render } | null>(null);
  const [error, setError] = useState<unknown>(null);
  useEffect(() => {
    let here = true;
    // A bundle of its own, beside app.js: a name in a variable keeps the bundler from joining them.
    const bundle = "./markdown.js";
    (import(bundle) as Promise<{ render: typeof Render }>).then(
      (m) => here && setRender({ f: m.render }),
      (err: unknown) => here && setError(err),
    );
    return () => void (here = false);
  }, []);
  useEffect(() => {
    if (render) ref.current?.replaceChildren(render.f(text, fileHref ?? (() => null)));
  }, [render, text, fileHref]);
  if (error) return <ErrorBox error={error} />;
  if (!render) return <Loading label={S.common.loading} />;
  return <div class="markdown" ref={ref} />;
}
