"""A client of pannier, the sidecar that keeps an agent's skills live. One file, standard library only, Python 3.9+."""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import random
import socket
import time
from contextlib import contextmanager
from typing import Any, Iterator, Mapping
from urllib.parse import quote

ANSWER_TIMEOUT = 60.0  # seconds for one answer
CALL_TIMEOUT = 600.0  # seconds for the call of a tool: the wait for its turn, and the call itself
SILENCE = 45.0  # seconds after which a stream is lost; the sidecar sends a ping every 15
FIRST_WAIT, LONGEST_WAIT = 0.1, 5.0  # seconds between two tries to connect


def default_socket(environ: Mapping[str, str] = os.environ, uid: int | None = None) -> str:
    """Return the socket that the sidecar serves by default, which `pannier socket` prints.

    The first that applies: $PANNIER_SOCKET; /run/pannier for root; $XDG_RUNTIME_DIR/pannier; $XDG_STATE_HOME/pannier;
    $HOME/.local/state/pannier. Relative directories do not count. Without any of them it is empty.
    """
    if environ.get("PANNIER_SOCKET"):
        return environ["PANNIER_SOCKET"]
    if (os.geteuid() if uid is None else uid) == 0:
        return "/run/pannier/pannier.sock"
    for variable, below in (("XDG_RUNTIME_DIR", ""), ("XDG_STATE_HOME", ""), ("HOME", ".local/state")):
        if environ.get(variable, "").startswith("/"):
            return os.path.normpath(os.path.join(environ[variable], below, "pannier", "pannier.sock"))
    return ""


class PannierError(Exception):
    """What went wrong, and what to do about it. `code` is stable; `status` is 0 where there was no whole answer."""

    def __init__(self, status: int, code: str, detail: str, hint: str = "") -> None:
        super().__init__(f"{detail} ({code})" + (f"; hint: {hint}" if hint else ""))
        self.status, self.code, self.detail, self.hint = status, code, detail, hint


class Pannier:
    """Asks one sidecar. It keeps no connection between two calls, so threads may share it."""

    def __init__(self, socket_path: str | None = None) -> None:
        self.socket = socket_path or default_socket()

    def prompt(self) -> str:
        """Return the skills section of the system prompt; empty where there is no skill."""
        return self._read("GET", "/v1/prompt", accept="text/plain").decode()

    def resolve(self, text: str, **turn: Any) -> dict[str, Any]:
        """Return which skills are active for what a user wrote: {active, rejected, prompt, ...}.

        `turn` are the other fields of a turn, such as capabilities=[{"id": "c1", "slug": "csv-report"}].
        """
        return json.loads(self._read("POST", "/v1/resolve", json.dumps({"text": text, **turn})))

    def find(self, text: str, limit: int = 20) -> dict[str, Any]:
        """Return the skills that a text is about, usable or not, the most relevant first: {skills, total, ...}."""
        return json.loads(self._read("POST", "/v1/find", json.dumps({"text": text, "limit": limit})))

    def content(self, slug: str) -> dict[str, Any]:
        """Return what an agent needs to follow a skill: {name, body, directory, resources, ...}."""
        return json.loads(self._read("GET", f"{_skill(slug)}/content"))

    def file(self, slug: str, path: str) -> bytes:
        """Return a file of a skill, byte for byte. `path` is one of the `resources` of its content."""
        with self._ask("GET", f"{_skill(slug)}/files/{quote(path)}", None, {}) as response:
            data, digest = response.read(), response.headers["ETag"]
        if digest != f'"sha256:{hashlib.sha256(data).hexdigest()}"':
            raise PannierError(0, "torn", f"{path} of {slug} has changed while it was read", "try again")
        return data

    def skills(self) -> list[dict[str, Any]]:
        """Return every skill that was found, usable or not."""
        return json.loads(self._read("GET", "/v1/skills"))["skills"]

    def tools(self) -> list[dict[str, Any]]:
        """Return the tools of all usable skills. Those with `callable` can be called now; `why` says why others cannot."""
        return json.loads(self._read("GET", "/v1/tools"))["tools"]

    def call_tool(self, name: str, arguments: Mapping[str, Any] | None = None, **call: Any) -> dict[str, Any]:
        """Call a tool of a skill and return {ok, output, structured?, proxy?, error?, ...}. A refused call is raised.

        `call` are the other fields of a call: call_id, session, project_dir. A result with `proxy` names a tool of your
        agent, for your agent to call.
        """
        body = json.dumps({"arguments": arguments or {}, **call})
        return json.loads(self._read("POST", f"/v1/tools/{quote(name, safe='')}", body, timeout=CALL_TIMEOUT))

    def events(self, last_event_id: int | None = None) -> Iterator[dict[str, Any]]:
        """Yield the events after a number, else those from now on, for ever: a lost stream is opened again.

        Two events come from here and not from the sidecar. After `connected`, read what you need: nothing that changes
        from then on goes untold. `disconnected`, with the `error`, comes once each time the sidecar is lost.

        An event with `gap` does not follow the last one: the sidecar does not keep those between any more, and tells
        the whole catalog instead, with every slug in `added`. Read skills() again rather than add to what you know.
        """
        wait, told = FIRST_WAIT, False
        while True:
            headers = {} if last_event_id is None else {"Last-Event-ID": str(last_event_id)}
            try:
                with self._ask("GET", "/v1/events", None, headers, timeout=SILENCE) as stream:
                    told = False
                    yield {"type": "connected"}
                    for event in _parse(stream):
                        event["gap"] = last_event_id is not None and event["seq"] != last_event_id + 1
                        last_event_id = event["seq"]  # smaller than before if the sidecar lost its events
                        wait = FIRST_WAIT
                        yield event
                raise PannierError(0, "stream_ended", "the sidecar ended the event stream")
            except PannierError as error:
                if 400 <= error.status < 500:
                    raise  # a retry would not help
                if not told:
                    told = True
                    yield {"type": "disconnected", "error": error}
            time.sleep(wait * random.uniform(0.5, 1))
            wait = min(2 * wait, LONGEST_WAIT)

    def _read(
        self, method: str, path: str, body: str | None = None, accept: str = "application/json", timeout: float = ANSWER_TIMEOUT
    ) -> bytes:
        with self._ask(method, path, body, {"Accept": accept}, timeout) as response:
            return response.read()

    @contextmanager
    def _ask(
        self, method: str, path: str, body: str | None, headers: dict[str, str], timeout: float = ANSWER_TIMEOUT
    ) -> Iterator[http.client.HTTPResponse]:
        """Send a request and give the answer, still unread. One that is an error is raised."""
        connection = _UnixConnection(self.socket, timeout)
        try:
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            if response.status != 200:
                raise _error_of(response)
            yield response
        except (OSError, http.client.HTTPException) as error:
            hint = "is `pannier run` up, and is this its socket? PANNIER_SOCKET names another"
            raise PannierError(0, "no_answer", f"no answer from {self.socket}: {error}", hint) from error
        finally:
            connection.close()


def _skill(slug: str) -> str:
    return "/v1/skills/" + quote(slug, safe="").replace(".", "%2E")  # a slug of dots must not name a parent directory


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str, timeout: float) -> None:
        super().__init__("pannier", timeout=timeout)
        self.path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


def _error_of(response: http.client.HTTPResponse) -> PannierError:
    """Return the error that an answer tells, or what stands for it where something else than a sidecar answered."""
    text = response.read()
    try:
        told = json.loads(text)
        return PannierError(response.status, told["code"], told["detail"], told.get("hint", ""))
    except (ValueError, LookupError, TypeError):
        detail = text.decode(errors="replace").strip() or response.reason
        return PannierError(response.status, "unexpected_answer", detail)


def _parse(stream: http.client.HTTPResponse) -> Iterator[dict[str, Any]]:
    """Yield the events of a stream. Comments, such as `: ping`, are none, and nor is one that was cut off."""
    data: list[bytes] = []
    for line in stream:
        line = line.rstrip(b"\r\n")
        if line.startswith(b"data:"):
            data.append(line[len(b"data:"):])
        elif not line and data:
            yield json.loads(b"\n".join(data))
            data = []
