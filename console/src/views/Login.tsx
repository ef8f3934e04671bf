import { useState } from "preact/hooks";
import { asProblem } from "../api/client";
import { config, embedded, ended, exchange, login, over, start, starting } from "../api/session";
import { S } from "../strings";
import { Button } from "../ui/Button";
import { Command } from "../ui/Code";
import { ErrorBox } from "../ui/ErrorBox";
import { Logo } from "../ui/icons";

const command = "pannier console";

/** Login is shown before a session. */
export function Login() {
  const mode = config.value?.mode;
  const retry = (): void => {
    starting.value = true;
    void start();
  };
  return (
    <main class="splash">
      <div class="login">
        <h1>
          <Logo /> {S.app.name}
        </h1>
        {!mode ? (
          <ErrorBox title={S.login.unreachable} error={ended.value ?? asProblem(S.errors.offline)} retry={retry} />
        ) : embedded ? (
          <p>{S.login.embedded}</p>
        ) : mode === "command" ? (
          <>
            <h2>{S.login.commandTitle}</h2>
            {ended.value && <ErrorBox error={ended.value} retry={ended.value.offline ? retry : undefined} />}
            <CommandLogin />
          </>
        ) : (
          <>
            <h2>{S.login.title}</h2>
            <p>{S.login.intro}</p>
            <TokenForm />
          </>
        )}
      </div>
    </main>
  );
}

/** SessionOver asks for a new login without leaving the view. */
export function SessionOver() {
  const mode = config.value?.mode;
  if (embedded) return <p>{S.login.embedded}</p>;
  return mode === "token" ? (
    <>
      <p>{S.login.endedToken}</p>
      <TokenForm />
    </>
  ) : (
    <>
      <p>{S.login.endedCommand}</p>
      <CommandLogin />
    </>
  );
}

function TokenForm() {
  const [value, setValue] = useState("");
  const [busy, setBusy] = useState(false);
  const [tried, setTried] = useState(!over.peek()); // why the session ended is said above the form
  const submit = async (e: Event): Promise<void> => {
    e.preventDefault();
    if (!value.trim()) return;
    setBusy(true);
    await login(value.trim());
    setBusy(false);
    setTried(true);
  };
  return (
    <form class="stack" onSubmit={submit}>
      <label>
        {S.login.token}
        <input type="password" autocomplete="off" spellcheck={false} autofocus value={value} onInput={(e) => setValue(e.currentTarget.value)} />
      </label>
      {tried && ended.value && <ErrorBox error={ended.value} />}
      <Button kind="primary" type="submit" disabled={busy}>
        {S.login.submit}
      </Button>
    </form>
  );
}

/** codeOf returns the code of a link of pannier console, or of the code alone. */
export function codeOf(link: string): string {
  return /#code=([^&\s]+)/.exec(link)?.[1] ?? "";
}

function CommandLogin() {
  const [link, setLink] = useState("");
  const [bad, setBad] = useState("");
  const submit = async (e: Event): Promise<void> => {
    e.preventDefault();
    const code = codeOf(link);
    const origin = /^(https?:\/\/[^/]+)/.exec(link.trim())?.[1];
    setBad("");
    if (!code) setBad(S.login.badLink);
    else if (origin && origin !== location.origin) setBad(S.login.otherLink(origin));
    else await exchange(decodeURIComponent(code));
  };
  return (
    <form class="stack" onSubmit={submit}>
      <p>{S.login.command}</p>
      <Command text={command} />
      <label>
        {S.login.link}
        <input type="text" autocomplete="off" spellcheck={false} value={link} onInput={(e) => setLink(e.currentTarget.value)} />
      </label>
      {bad && <p class="field-error" role="alert">{bad}</p>}
      <Button type="submit">{S.login.open}</Button>
    </form>
  );
}
