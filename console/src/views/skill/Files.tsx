import type { ApiProblem } from "../../api/client";
import type { SkillDetail } from "../../api/model";
import { canWrite } from "../../api/session";
import { looksLikeText } from "../../lib/frontmatter";
import { route, setParams } from "../../router";
import { S } from "../../strings";
import { Badge } from "../../ui/Badge";
import { Code, type Mark } from "../../ui/Code";
import { Loading } from "../../ui/Empty";
import { ErrorBox } from "../../ui/ErrorBox";
import { FileIcon } from "../../ui/icons";
import { marksOf } from "./marks";
import { mainFile, useFile } from "./useSkill";

/** lineLimit bounds what the viewer puts into the document. */
const lineLimit = 5000;

/** Files lists the files of a skill and shows one of them, always as text. */
export function Files({ s }: { s: SkillDetail }) {
  const wanted = route.value.params.file;
  const current = wanted && s.files.some((f) => f.path === wanted) ? wanted : (mainFile(s) ?? s.files[0]?.path ?? null);
  if (s.files.length === 0) return <p class="hint">{S.files.none}</p>;
  return (
    <div class="files">
      <ul class="file-list plain" aria-label={S.files.list}>
        {s.files.slice(0, 1000).map((f) => (
          <li key={f.path}>
            <button type="button" class="file" aria-current={f.path === current ? "true" : undefined} onClick={() => setParams({ file: f.path, line: "" })}>
              <FileIcon />
              <span class="break">{f.path}</span>
              {f.executable && <Badge title={S.files.executableHint}>{S.files.executable}</Badge>}
              <small class="muted">{S.common.bytes(f.size)}</small>
            </button>
          </li>
        ))}
        {(s.files_truncated || s.files.length > 1000) && <li class="hint">{S.files.truncated}</li>}
      </ul>
      {current && <Viewer key={current} s={s} path={current} />}
    </div>
  );
}

/** Viewer shows the beginning of a file with line numbers and what was found in it. */
export function Viewer({ s, path }: { s: SkillDetail; path: string }) {
  const { file, error } = useFile(s, path);
  const size = s.files.find((f) => f.path === path)?.size;
  return (
    <section class="viewer">
      <h2 class="mono break">{path}</h2>
      {error ? <FileRefused error={error} s={s} /> : !file ? <Loading label={S.common.loading} rows={6} /> : <Text text={file.text} more={file.more} marks={marksOf(s, path)} label={path} size={size} />}
    </section>
  );
}

function Text({ text, more, marks, label, size }: { text: string; more: boolean; marks: Mark[]; label: string; size?: number }) {
  if (text === "") return <p class="hint">{S.files.empty}</p>;
  if (!looksLikeText(text)) return <p class="hint">{S.files.binary(size)}</p>;
  const lines = text.split("\n");
  const cut = lines.length > lineLimit;
  const line = Number(route.value.params.line) || undefined;
  return (
    <>
      {(more || cut) && <p class="hint">{S.files.cut}</p>}
      <Code numbers text={cut ? lines.slice(0, lineLimit).join("\n") : text} marks={marks} focus={line} label={label} />
    </>
  );
}

/** FileRefused says why a file is not shown. */
export function FileRefused({ error, s }: { error: ApiProblem; s: SkillDetail }) {
  if (error.status === 409 && !s.usable && !canWrite()) {
    return (
      <div class="box info">
        <p>{S.files.readOnly}</p>
      </div>
    );
  }
  return <ErrorBox title={S.files.refused} error={error} />;
}
