import { useEffect, useState } from "preact/hooks";
import { get, query } from "../../api/client";
import type { AuditCheck, AuditEntry, AuditList } from "../../api/model";
import { changesOf, type Change } from "../../lib/auditlog";
import { href } from "../../router";
import { S } from "../../strings";
import { Badge } from "../../ui/Badge";
import { Button, CopyButton } from "../../ui/Button";
import { Empty, Loading } from "../../ui/Empty";
import { ErrorBox } from "../../ui/ErrorBox";
import { Ago } from "../parts";
import { useLive } from "../live";

// Events that follow a change by a client.
const changing = ["policy_changed", "install_added", "install_replaced", "install_removed", "install_rolled_back", "environment_changed", "skill_scanned", "skill_promotion"];
const page = 100;

/** AuditLog shows who changed what, and whether the log is whole. */
export function AuditLog() {
  const [slug, setSlug] = useState("");
  const [older, setOlder] = useState<AuditEntry[]>([]);
  const [ended, setEnded] = useState(false);
  const { data, error, reload } = useLive((signal) => get<AuditList>("/v1/audit" + query({ limit: page, slug: slug.trim() }), { signal }), changing);
  useAgain(reload);
  useEffect(() => {
    setOlder([]);
    setEnded(false);
    const timer = setTimeout(() => void reload(), 200);
    return () => clearTimeout(timer);
  }, [slug]);
  const entries = [...(data?.entries ?? []), ...older];
  const more = async () => {
    const last = entries.at(-1);
    if (!last) return;
    const next = await get<AuditList>("/v1/audit" + query({ limit: page, slug: slug.trim(), after: String(last.seq) }));
    setOlder([...older, ...next.entries]);
    setEnded(next.entries.length < page);
  };
  return (
    <>
      <Verification />
      <div class="toolbar">
        <input type="search" value={slug} aria-label={S.audit.skill} placeholder={S.audit.skill} onInput={(e) => setSlug(e.currentTarget.value)} />
      </div>
      {error && <ErrorBox error={error} retry={reload} />}
      {!data && !error && <Loading label={S.common.loading} />}
      {data && entries.length === 0 && <Empty title={slug ? S.audit.noneTitle : S.audit.emptyTitle}><p>{slug ? S.audit.none : S.audit.empty}</p></Empty>}
      <ul class="rows audit">{changesOf(entries).map((c) => <li key={c.seq}><Row change={c} /></li>)}</ul>
      {entries.length >= page && !ended && <Button onClick={more}>{S.audit.more}</Button>}
    </>
  );
}

function Row({ change }: { change: Change }) {
  const tone = change.state === "done" ? "ok" : change.state === "failed" ? "bad" : "warn";
  return (
    <div class="audit-row">
      <Ago time={change.time} />
      <span class="event-text">
        <strong>{change.actor}</strong> {S.audit.actions[change.action] ?? change.action}{" "}
        {change.slug && <a href={href("skills", change.slug)}>{change.slug}</a>}
        {change.detail && <div class="because break">{change.detail}</div>}
        {change.error && <div class="because break">{change.error}</div>}
      </span>
      <Badge tone={tone}>{S.audit.states[change.state]}</Badge>
    </div>
  );
}

/** useAgain reads again what no event tells of: refused changes. They are made in a dialog over this view, or in another window. */
function useAgain(reload: () => Promise<void>) {
  useEffect(() => {
    const again = () => void reload();
    addEventListener("focus", again);
    document.addEventListener("close", again, true); // of dialogs; it does not bubble
    return () => {
      removeEventListener("focus", again);
      document.removeEventListener("close", again, true);
    };
  }, []);
}

function Verification() {
  const { data: check, error, reload: verify } = useLive((signal) => get<AuditCheck>("/v1/audit/verify", { signal }), changing);
  useAgain(verify);
  if (error) return <ErrorBox error={error} title={S.audit.notVerified} retry={verify} />;
  if (!check) return <p class="hint">{S.audit.verifying}</p>;
  return (
    <div class={check.ok ? "box ok" : "box bad"} role={check.ok ? "status" : "alert"}>
      <p><strong>{check.ok ? S.audit.intact(check.entries) : S.audit.broken}</strong></p>
      {check.error && <p class="break">{check.error}</p>}
      {check.head && <p class="hint break">{S.audit.head} <code>{check.head}</code> <CopyButton text={check.head} /></p>}
      <Button class="small" onClick={verify}>{S.audit.verify}</Button>
    </div>
  );
}
