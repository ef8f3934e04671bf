import { useState } from "preact/hooks";
import type { Skill as Entry, SkillDetail } from "../api/model";
import { changePolicy } from "../api/policy";
import { canWrite } from "../api/session";
import { useKeys } from "../lib/keys";
import { needsOf } from "../lib/requirements";
import { trustSource } from "../lib/trust";
import { lineOf } from "../lib/use";
import { href, navigate, route, setParams } from "../router";
import { list } from "../store";
import { S } from "../strings";
import { Badge, UseBadge } from "../ui/Badge";
import { Switch } from "../ui/Button";
import { Empty, Loading } from "../ui/Empty";
import { ErrorBox } from "../ui/ErrorBox";
import { BackIcon } from "../ui/icons";
import { Tabs, type Tab } from "../ui/Tabs";
import { listParams } from "./Skills";
import { Files } from "./skill/Files";
import { Overview } from "./skill/Overview";
import { Problems, Source } from "./skill/Problems";
import { Profiles } from "./skill/Profiles";
import { Requirements } from "./skill/Requirements";
import { Scan } from "./skill/Scan";
import { Tools } from "./skill/Tools";
import { useSkill } from "./skill/useSkill";
import { Versions } from "./skill/Versions";
import { Why } from "./skill/Why";

/** Skill shows everything that is known of one skill. */
export function Skill({ slug, path }: { slug: string; path?: string }) {
  const { skill, gone, error, reload } = useSkill(slug, path);
  const back = (): void => navigate("skills", "", listParams());
  useKeys({ Escape: back });
  const link = (
    <a class="back" href={href("skills", "", listParams())}>
      <BackIcon />
      {S.skill.back}
    </a>
  );
  if (!skill) {
    const known = list.value.find((s) => s.slug === slug && (!path || s.path === path));
    return (
      <div class="page skill">
        {link}
        {!error && <Loading label={S.common.loading} rows={6} />}
        {error?.status === 404 && (
          <Empty title={S.skill.notFound(slug)}>
            <p>{S.skill.notFoundText}</p>
            <a href={href("skills", "", { q: slug })}>{S.skill.searchFor(slug)}</a>
          </Empty>
        )}
        {error?.offline && known ? (
          <>
            <Head s={known} />
            <p class={"skill-line " + lineOf(known).tone}>{lineOf(known).text}</p>
            <p class="hint">{S.skills.partly}</p>
          </>
        ) : (
          error && error.status !== 404 && <ErrorBox error={error} retry={reload} />
        )}
      </div>
    );
  }
  return (
    <div class="page skill">
      {link}
      <Head s={skill} />
      {gone && (
        <div class="box warn" role="status">
          <strong>{S.skill.gone}</strong>
          <p>{S.skill.goneText}</p>
        </div>
      )}
      {error && <ErrorBox title={S.skill.stale} error={error} retry={reload} />}
      <Why s={skill} />
      <Body s={skill} reload={reload} />
    </div>
  );
}

function Head({ s }: { s: Entry }) {
  return (
    <header class="skill-head">
      <span class="emblem large" aria-hidden="true">
        {s.emoji ?? s.slug.slice(0, 1).toUpperCase()}
      </span>
      <div class="skill-id">
        <h1 class="break">{s.slug}</h1>
        {s.name !== s.slug && <p class="muted break">{s.name}</p>}
        <div class="line">
          <UseBadge skill={s} />
          {s.last_good && <Badge tone="warn" title={S.skills.lastGoodHint}>{S.skills.lastGood}</Badge>}
          {s.version && <span class="muted break">{S.skill.version(s.version)}</span>}
          <span class="muted">{S.skills.trust(trustSource(s))}</span>
          <span class="muted mono break">{s.path}</span>
        </div>
      </div>
      <PolicySwitches s={s} />
    </header>
  );
}

function PolicySwitches({ s }: { s: Entry }) {
  const [pending, setPending] = useState<string | null>(null);
  const p = s.policy;
  const own = s.disable_model_invocation; // no policy overrides it
  if (!p) return null;
  const set = async (name: string, change: Parameters<typeof changePolicy>[1]): Promise<void> => {
    setPending(name);
    try {
      await changePolicy(s, change);
    } finally {
      setPending(null);
    }
  };
  const row = (name: string, label: string, on: boolean, source: string, change: Parameters<typeof changePolicy>[1], fixed = false) => (
    <div class="policy-switch">
      {canWrite() ? (
        <Switch on={on} label={label} disabled={fixed || pending !== null} onChange={() => set(name, change)} />
      ) : (
        <Badge tone={on ? "ok" : "off"}>{on ? S.common.yes : S.common.no}</Badge>
      )}
      <span>
        {label}
        <small class="muted"> {S.skill.layer(source)}</small>
      </span>
    </div>
  );
  return (
    <div class="switches">
      {row("enabled", S.skill.enabled, p.enabled, p.source, { enabled: !p.enabled })}
      {row("implicit", S.skill.implicit, p.allow_implicit_invocation && !own, own ? "skill" : p.implicit_source, { allow_implicit_invocation: !p.allow_implicit_invocation }, own)}
    </div>
  );
}

function tabsOf(s: SkillDetail): Tab[] {
  const needs = needsOf(s);
  const missing = needs.filter((n) => n.status === "missing").length;
  const problems = s.problems ?? [];
  return [
    { id: "overview", label: S.skill.tabs.overview! },
    { id: "requirements", label: S.skill.tabs.requirements!, count: missing, bad: true },
    { id: "problems", label: S.skill.tabs.problems!, count: problems.length, bad: problems.some((p) => p.severity === "error") },
    { id: "files", label: S.skill.tabs.files! },
    { id: "scan", label: S.skill.tabs.scan!, count: s.scan?.findings.length ?? 0, bad: s.scan?.decision === "block" },
    { id: "profiles", label: S.skill.tabs.profiles! },
    { id: "tools", label: S.skill.tabs.tools!, count: s.tools.length },
    { id: "versions", label: S.skill.tabs.versions! },
    { id: "source", label: S.skill.tabs.source! },
  ];
}

function Body({ s, reload }: { s: SkillDetail; reload: () => void }) {
  const tabs = tabsOf(s);
  const wanted = route.value.params.tab ?? "overview";
  const tab = tabs.some((t) => t.id === wanted) ? wanted : "overview";
  const panel = () => {
    switch (tab) {
      case "requirements":
        return <Requirements s={s} />;
      case "problems":
        return <Problems s={s} />;
      case "files":
        return <Files s={s} />;
      case "scan":
        return <Scan s={s} reload={reload} />;
      case "profiles":
        return <Profiles s={s} />;
      case "tools":
        return <Tools s={s} />;
      case "versions":
        return <Versions skill={s} />;
      case "source":
        return <Source s={s} />;
      default:
        return <Overview s={s} />;
    }
  };
  return (
    <Tabs label={S.skill.tabsLabel(s.slug)} tabs={tabs} current={tab} onChange={(id) => setParams({ tab: id === "overview" ? "" : id, file: "", line: "" })}>
      {panel()}
    </Tabs>
  );
}
