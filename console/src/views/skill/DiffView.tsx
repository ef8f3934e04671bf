import { S } from "../../strings";
import { Badge, type Tone } from "../../ui/Badge";

export interface Diff {
  from: { version?: string; fingerprint?: string };
  to: { version?: string; fingerprint?: string };
  files: DiffFile[];
  truncated?: boolean;
}

interface DiffFile {
  path: string;
  change: "added" | "removed" | "changed" | "mode";
  binary?: boolean;
  additions: number;
  deletions: number;
  patch?: string;
  truncated?: boolean;
}

const tones: Record<DiffFile["change"], Tone> = { added: "ok", removed: "bad", changed: "info", mode: "plain" };

/** DiffView shows what changed from the previous version to the current one. All of it is text of the skill: only text nodes. */
export function DiffView({ diff }: { diff: Diff }) {
  return (
    <section class="version-diff" aria-label={S.versions.diff}>
      <h3>{S.versions.diffTitle(diff.from.version, diff.to.version)}</h3>
      {diff.files.length === 0 && <p>{S.versions.same}</p>}
      {diff.files.map((f) => (
        <details key={f.path} open={diff.files.length <= 5}>
          <summary>
            <Badge tone={tones[f.change]}>{S.versions.changes[f.change]}</Badge> <code class="break">{f.path}</code>{" "}
            {!f.binary && (f.additions > 0 || f.deletions > 0) && (
              <span class="muted">
                +{f.additions} −{f.deletions}
              </span>
            )}
          </summary>
          {f.binary ? <p class="hint">{S.versions.binary}</p> : f.patch ? <Patch text={f.patch} path={f.path} /> : <p class="hint">{f.truncated ? S.versions.cut : S.versions.modeOnly}</p>}
          {f.patch && f.truncated && <p class="hint">{S.versions.cut}</p>}
        </details>
      ))}
      {diff.truncated && <p class="hint">{S.versions.moreFiles}</p>}
    </section>
  );
}

/** kindOf tells the kind of a line of a unified diff. */
export function kindOf(line: string): "add" | "del" | "hunk" | "same" {
  if (line.startsWith("@@")) return "hunk";
  return line.startsWith("+") ? "add" : line.startsWith("-") ? "del" : "same";
}

function Patch({ text, path }: { text: string; path: string }) {
  const all = text.replace(/\n$/, "").split("\n");
  const lines = all[0]?.startsWith("--- ") && all[1]?.startsWith("+++ ") ? all.slice(2) : all; // the names stand above
  return (
    <pre class="code patch" tabIndex={0} aria-label={path}>
      {lines.map((line, i) => (
        <span key={i} class={kindOf(line)}>
          {line + "\n"}
        </span>
      ))}
    </pre>
  );
}
