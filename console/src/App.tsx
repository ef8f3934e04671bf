import { Component, type ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { slow } from "./api/client";
import { connected, lost, reconnect, refused, stuck } from "./api/events";
import { canWrite, config, embedded, logout, over, session, starting } from "./api/session";
import { DropBar, DropLayer } from "./drop/index";
import { DropZone } from "./drop/Panel";
import { drops, openDropPanel } from "./drop/panel_state";
import { useKeys } from "./lib/keys";
import { flush, href, route, views } from "./router";
import { health } from "./store";
import { S } from "./strings";
import { Badge } from "./ui/Badge";
import { Button } from "./ui/Button";
import { Dialog } from "./ui/Dialog";
import { Loading } from "./ui/Empty";
import { ErrorBox } from "./ui/ErrorBox";
import { DropIcon, HelpIcon, Logo } from "./ui/icons";
import { Toasts } from "./ui/Toast";
import { Activity } from "./views/Activity";
import { Card } from "./views/Card";
import { Health } from "./views/Health";
import { Help } from "./views/Help";
import { Login, SessionOver } from "./views/Login";
import { Palette } from "./views/Palette";
import { Skill } from "./views/Skill";
import { Skills } from "./views/Skills";
import { Turn } from "./views/Turn";

/** App is the whole page: the login, or the frame around the view of the address. */
export function App() {
  if (starting.value && !session.value) return <main class="splash"><Loading label={S.common.loading} />{slow.value > 0 && <p role="status">{S.app.stuck}</p>}</main>;
  if (!session.value) return <Login />;
  return <Frame />;
}

function Frame() {
  const [help, setHelp] = useState(false);
  useKeys({ "?": () => setHelp(true) });
  useEffect(() => {
    addEventListener("pagehide", flush);
    return () => removeEventListener("pagehide", flush);
  }, []);
  const r = route.value;
  const dropOnly = embedded && location.pathname.endsWith("/drop");
  return (
    <DropLayer>
      <div class="frame">
        {!embedded && <Header onHelp={() => setHelp(true)} />}
        <ConnectionBar />
        <DropBar />
        <Main>
          {embedded ? (
            <div class="embed">
              {canWrite() && <DropZone drops={drops.value} onClose={() => {}} />}
              {!canWrite() && dropOnly && <p class="hint">{S.drop.readOnly}</p>}
              {!dropOnly && <Fault key={r.view + "/" + r.slug}>{viewOf()}</Fault>}
            </div>
          ) : (
            <Fault key={r.view + "/" + r.slug}>{viewOf()}</Fault>
          )}
        </Main>
        <Toasts />
      </div>
      <Help open={help} onClose={() => setHelp(false)} />
      {!embedded && <Palette onHelp={() => setHelp(true)} />}
      <Dialog title={S.login.endedTitle} open={over.value} onClose={() => {}} fixed>
        <SessionOver />
      </Dialog>
    </DropLayer>
  );
}

function viewOf() {
  const r = route.value;
  switch (r.view) {
    case "turn":
      return <Turn />;
    case "card":
      return <Card />;
    case "activity":
      return <Activity />;
    case "health":
      return <Health />;
    default:
      return r.slug ? <Skill slug={r.slug} path={r.params.path} /> : <Skills />;
  }
}

function Header({ onHelp }: { onHelp: () => void }) {
  const s = session.value!;
  const nav = useRef<HTMLElement>(null);
  // Where the window is narrow, the items scroll.
  useEffect(() => {
    nav.current!.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
  }, [route.value.view]);
  return (
    <header class="top">
      <a class="skip" href="#main" onClick={(e) => (e.preventDefault(), document.getElementById("main")!.focus())}>
        {S.app.skip}
      </a>
      <a class="brand" href={href("skills")} title={S.app.workspace(s.workspace)}>
        <Logo />
        <span>
          <strong>{S.app.name}</strong>
          <small>{workspaceName(s.workspace, s.workspace_id)}</small>
        </span>
      </a>
      <nav ref={nav} aria-label={S.app.nav}>
        {views.map((v) => (
          <a key={v} href={href(v)} aria-current={route.value.view === v ? "page" : undefined}>
            {S.nav[v]}
            {v === "health" && health.value && health.value.status !== "ok" && (
              <span class={`count ${health.value.status === "failing" ? "bad" : "warn"}`} title={health.value.status}>
                {health.value.conditions.filter((c) => c.severity !== "info").length}
              </span>
            )}
          </a>
        ))}
      </nav>
      <div class="top-actions">
        <Live />
        {!s.write && <Badge title={S.app.readOnlyHint}>{S.app.readOnly}</Badge>}
        {canWrite() && (
          <Button kind="primary" class="add" icon={<DropIcon />} onClick={openDropPanel}>
            {S.app.add}
          </Button>
        )}
        <Button kind="quiet" class="icon" aria-label={S.app.help} title={S.app.help + " (?)"} icon={<HelpIcon />} onClick={onHelp} />
        {config.value?.mode === "token" && (
          <Button kind="quiet" class="small" onClick={logout}>
            {S.app.logout}
          </Button>
        )}
      </div>
    </header>
  );
}

/** workspaceName leads with the directory, by which people know a workspace. */
function workspaceName(directory: string, id: string): string {
  const last = directory.split("/").filter(Boolean).at(-1);
  return [last, id].filter(Boolean).join(" · ");
}

function Live() {
  const on = connected.value;
  return (
    <span class={on ? "live on" : "live"} role="status">
      <i aria-hidden="true" />
      {on ? S.app.live : S.app.connecting}
    </span>
  );
}

/** ConnectionBar says why nothing arrives. */
function ConnectionBar() {
  const text = stuck.value || slow.value > 0 ? S.app.stuck : connected.value ? "" : refused.value ? S.app.refused(refused.value.detail) : lost.value ? S.app.lost : "";
  if (!text || over.value) return null;
  return (
    <div class="bar warn" role="status">
      <span>{text}</span>
      <Button kind="quiet" class="small" onClick={reconnect}>
        {S.app.retryNow}
      </Button>
    </div>
  );
}

/** Main is the only part that scrolls. A view begins at its top, and with the keyboard in it. */
function Main({ children }: { children: ComponentChildren }) {
  const ref = useRef<HTMLElement>(null);
  const r = route.value;
  const place = r.view + "/" + r.slug;
  const first = useRef(true);
  const scrolls = useRef(new Map<string, number>());
  useLayoutEffect(() => {
    // The list of skills is found where it was left; any other view begins at its top.
    ref.current!.scrollTop = place === "skills/" ? (scrolls.current.get(place) ?? 0) : 0;
  }, [place]);
  useEffect(() => {
    document.title = (r.slug || S.nav[r.view]) + " – " + S.app.name;
    if (first.current) {
      first.current = false;
      return;
    }
    if (!ref.current!.contains(document.activeElement)) ref.current!.focus({ preventScroll: true });
  }, [place]);
  return (
    <main id="main" class="scroll" tabIndex={-1} ref={ref} onScroll={(e) => scrolls.current.set(place, e.currentTarget.scrollTop)}>
      {children}
    </main>
  );
}

/** Fault keeps a view that fails from taking the whole page with it. */
class Fault extends Component<{ children: ComponentChildren }, { error: unknown }> {
  override state = { error: null };

  override componentDidCatch(error: unknown): void {
    console.error(error);
    this.setState({ error });
  }

  override render() {
    if (this.state.error === null) return this.props.children;
    return (
      <div class="page">
        <ErrorBox title={S.errors.page} error={this.state.error}>
          <p class="hint">{S.errors.pageHint}</p>
        </ErrorBox>
      </div>
    );
  }
}

