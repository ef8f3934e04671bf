import { useCallback } from "preact/hooks";
import type { ComponentChildren } from "preact";
import type { SkillDetail } from "../../api/model";
import { canWrite } from "../../api/session";
import { splitSource } from "../../lib/frontmatter";
import { href } from "../../router";
import { S } from "../../strings";
import { Badge } from "../../ui/Badge";
import { CopyButton } from "../../ui/Button";
import { Loading } from "../../ui/Empty";
import { Markdown } from "../../ui/Markdown";
import { FileRefused } from "./Files";
import { mainFile, useFile } from "./useSkill";

/** Overview shows the instructions as the agent reads them, beside what the skill says about itself. */
export function Overview({ s }: { s: SkillDetail }) {
  return (
    <div class="overview">
      <section aria-label={S.skill.instructions} class="card">
        <p class="description">{s.description || S.skills.noDescription}</p>
        <Instructions s={s} />
      </section>
      <aside class="facts">
        <Facts s={s} />
        <Commands s={s} />
        <Frontmatter s={s} />
      </aside>
    </div>
  );
}

function Instructions({ s }: { s: SkillDetail }) {
  const name = mainFile(s);
  const { file, error } = useFile(s, name);
  const link = useCallback(
    (path: string) => (s.files.some((f) => f.path === path) ? href("skills", s.slug, { path: s.shadowed_by ? s.path : undefined, tab: "files", file: path }) : null),
    [s.slug, s.path, s.files],
  );
  if (!name) return <p class="hint">{S.skill.toolsOnly}</p>;
  if (error) return <FileRefused error={error} s={s} />;
  if (!file) return <Loading label={S.common.loading} rows={5} />;
  const { body } = splitSource(file.text);
  return (
    <>
      {body.trim() ? <Markdown text={body} fileHref={link} /> : <p class="hint">{S.skill.noBody}</p>}
      {file.more && <p class="hint">{S.skill.cut}</p>}
    </>
  );
}

function Facts({ s }: { s: SkillDetail }) {
  const rows: [string, ComponentChildren][] = [
    [S.facts.license, s.license],
    [S.facts.homepage, safeLink(s.homepage)],
    [S.facts.owner, s.owner],
    [S.facts.tags, list(s.tags)],
    [S.facts.triggers, list(s.triggers)],
    [S.facts.examples, list(s.examples)],
    [S.facts.paths, list(s.paths)],
    [S.facts.allowedTools, list(s.allowed_tools)],
    [S.facts.conflicts, list(s.conflicts)],
    [S.facts.compatibility, s.compatibility],
    [S.facts.primaryEnv, s.primary_env],
    [S.facts.userInvocable, s.user_invocable ? undefined : S.common.no],
    [S.facts.modelInvocation, s.disable_model_invocation ? S.common.no : undefined],
    [S.facts.root, `${s.root} (${s.source_kind})`],
    [S.facts.managed, s.managed ? S.common.yes : undefined],
    [S.facts.fingerprint, digest(s.fingerprint)],
    [S.facts.digest, digest(s.digest)],
  ];
  return (
    <dl class="card fact-list">
      {rows
        .filter(([, value]) => value !== undefined && value !== "" && value !== null)
        .map(([label, value]) => (
          <div key={label}>
            <dt>{label}</dt>
            <dd class="break">{value}</dd>
          </div>
        ))}
    </dl>
  );
}

const list = (items?: string[]) =>
  items && items.length > 0 ? (
    <span class="line tight">
      {items.map((i) => (
        <Badge key={i}>{i}</Badge>
      ))}
    </span>
  ) : undefined;

const digest = (d?: string) =>
  d && (
    <span class="line tight">
      <code title={d}>{d.slice(0, 19)}…</code>
      <CopyButton text={d} />
    </span>
  );

/** safeLink links only to web pages, and shows where the link leads. */
function safeLink(url?: string) {
  if (!url) return undefined;
  if (!/^https?:\/\//i.test(url)) return url;
  return (
    <a href={url} target="_blank" rel="noopener noreferrer nofollow">
      {url}
    </a>
  );
}

function Commands({ s }: { s: SkillDetail }) {
  if (s.commands.length === 0) return null;
  return (
    <section class="card">
      <h2>{S.skill.commands}</h2>
      <ul class="plain">
        {s.commands.map((c) => (
          <li key={c.name}>
            <strong class="mono break">
              /{c.name} {c.args ?? (c.arguments ?? []).map((a) => (a.required ? `<${a.name}>` : `[${a.name}]`)).join(" ")}
            </strong>
            {c.description && <p class="break">{c.description}</p>}
            {(c.arguments ?? []).map((a) => (
              <p key={a.name} class="hint break">
                <code>{a.name}</code> {a.description} {a.required && S.skill.required}
              </p>
            ))}
          </li>
        ))}
      </ul>
    </section>
  );
}

function Frontmatter({ s }: { s: SkillDetail }) {
  const entries = s.frontmatter && typeof s.frontmatter === "object" ? Object.entries(s.frontmatter as Record<string, unknown>) : [];
  if (entries.length === 0) return null;
  return (
    <details class="card">
      <summary>
        <h2>{S.skill.frontmatter}</h2>
      </summary>
      <p class="hint">{canWrite() || s.usable ? S.skill.frontmatterHint : ""}</p>
      <dl class="fact-list">
        {entries.map(([key, value]) => (
          <div key={key}>
            <dt class="mono break">{key}</dt>
            <dd class="break">{typeof value === "object" && value !== null ? <pre class="code small">{JSON.stringify(value, null, 2)}</pre> : String(value)}</dd>
          </div>
        ))}
      </dl>
    </details>
  );
}
