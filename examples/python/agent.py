"""Prints the skills section of the system prompt, and prints it anew whenever the catalog has changed."""

import signal
import sys

from pannier import Pannier, PannierError


def note(text):
    print(f"# {text}", file=sys.stderr, flush=True)


def main():
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: sys.exit(0))

    pannier = Pannier()
    shown = None
    for event in pannier.events():
        kind = event["type"]
        if kind == "disconnected":
            note(f"the sidecar is lost, trying again: {event['error']}")
        if kind == "skill_catalog_updated":
            told = event["data"]
            note("the whole catalog" if event["gap"] else "the catalog has changed")
            note(f"added {told['added']}, changed {told['changed']}, removed {told['removed']}")
        if kind not in ("connected", "skill_catalog_updated"):
            continue
        try:
            prompt = pannier.prompt()
        except PannierError as error:
            note(error)  # an event follows when the sidecar is back
            continue
        if kind == "skill_catalog_updated" or prompt != shown:
            print(prompt, flush=True)  # your agent: put it into the system prompt of the next turn
            shown = prompt


if __name__ == "__main__":
    main()
