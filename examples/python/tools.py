"""Handles one turn with tools of skills: resolves it, offers its tools to a model, calls the one that the model chooses.

    python3 tools.py '/skill:repo-review is this ready?'
    python3 tools.py '/skill:greet {"name": "Ann"}'

There is no model in here. `stub_model` stands for one, so that this runs without network and without a key: it always
chooses the first tool, one of the named skill if it has any, and repeats what the tool answered. Its arguments are the
JSON object after the name of the skill, else none. Replace it with your model.
"""

import json
import sys

from pannier import Pannier, PannierError

# The tools of this agent itself, which skills can name as `target_tool` of a function_proxy.
OWN_TOOLS = {"echo": lambda arguments: json.dumps(arguments)}


def stub_model(text, tools, answer=None):
    """Stand for a model: no answer yet means call the first tool; an answer means tell it to the user."""
    if answer is None and tools:
        try:
            arguments = json.loads(text[text.index("{") :])
        except ValueError:
            arguments = {}
        return {"tool": tools[0]["name"], "arguments": arguments}
    return {"text": "there is no tool for this turn" if answer is None else f"the tool answered: {answer}"}


def call(pannier, name, arguments):
    """Return what a model is told of a call, also of one that was refused or failed: it can choose another way."""
    try:
        result = pannier.call_tool(name, arguments)
    except PannierError as error:
        if error.status == 0:
            raise  # no sidecar: the model cannot act on that
        return f"refused: {error}"
    if "proxy" in result:
        own = OWN_TOOLS.get(result["proxy"]["tool"])
        return own(result["proxy"]["arguments"]) if own else f"this agent has no tool {result['proxy']['tool']!r}"
    if not result["ok"]:
        error = result["error"]
        return f"failed: {error['message']} ({error['code']}); hint: {error.get('hint', '')}\n{result['output']}"
    return result["output"]


def main(text):
    pannier = Pannier()
    turn = pannier.resolve(text)
    active = [skill["slug"] for skill in turn["active"]]  # the named ones first
    listed = pannier.tools()
    tools = [
        {"name": tool["model_name"], "description": tool["description"], "parameters": tool["parameters"]}
        for slug in active
        for tool in listed
        if tool["skill"] == slug and tool["callable"]
    ]
    print("# a stub model chooses, not a real one", file=sys.stderr)
    for tool in tools:
        print(f"# offered: {tool['name']}", file=sys.stderr)
    said = stub_model(text, tools)
    if "tool" in said:
        print(f"# called: {said['tool']}", file=sys.stderr)
        said = stub_model(text, tools, call(pannier, said["tool"], said["arguments"]))
    print(said["text"])


if __name__ == "__main__":
    try:
        main(" ".join(sys.argv[1:]))
    except PannierError as error:
        sys.exit(str(error))
