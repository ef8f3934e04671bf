"""Prints what an agent needs for one turn: the prompt for a text, and the instructions and files of the skills it names.

    python3 turn.py '/skill:pdf-forms fill in form.pdf'
"""

import os
import sys

from pannier import Pannier, PannierError


def main(text):
    pannier = Pannier()
    turn = pannier.resolve(text)
    print(turn["prompt"]["text"])
    for skill in turn["active"]:
        if skill["reason"] == "implicit":
            continue  # offered to the model, not named by the turn
        content = pannier.content(skill["slug"])
        print(f"--- {skill['slug']} in {content['directory']}, for {skill.get('arguments', '')!r}")
        print(content["body"])
        for path in content["resources"]:
            print(f"--- {path}: {len(pannier.file(skill['slug'], path))} bytes")
    for skill in turn["rejected"]:
        print(f"--- {skill['slug']} is not active: {skill['detail']}", file=sys.stderr)


if __name__ == "__main__":
    try:
        main(" ".join(sys.argv[1:]))
        sys.stdout.flush()
    except BrokenPipeError:  # the reader, such as head, has ended
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except PannierError as error:
        sys.exit(str(error))
