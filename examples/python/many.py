"""Handles the turns of a conversation with many skills: within a budget, the prompt describes the relevant ones.

    python3 many.py 'convert the invoices of finance to CSV' 'archive the receipts of travel'

Each argument is a message of the user. `stub_model` stands for a model: replace it, and offer your model both tools.
"""

import sys
from collections import Counter

from pannier import Pannier, PannierError


def call(pannier, tool, argument, recent_skills):
    """Return the answer of a tool. That of a refused call is text too: the model can choose another way."""
    try:
        if tool == "find_skills":
            found = [skill for skill in pannier.find(argument)["skills"] if skill["offered"]]
            return "\n".join(f"{skill['slug']}: {skill['description']}" for skill in found[:5])
        content = pannier.content(argument)
        recent_skills[:] = [argument, *(slug for slug in recent_skills if slug != argument)][:32]  # newest first
        return content["body"]
    except PannierError as error:
        if error.status == 0:
            raise  # no sidecar: the model cannot act on that
        return f"refused: {error}"


def stub_model(messages):
    """Stand for a model: find skills for the message, then read the first. Return (tool, argument), or None to end."""
    text = messages[-1]["content"]
    if messages[-1]["role"] == "user":
        return "find_skills", text
    found = messages[-2]["role"] == "user" and text and not text.startswith("refused: ")
    return ("read_skill", text.split(":")[0]) if found else None


def main(texts):
    pannier, recent_skills, messages = Pannier(), [], []
    print("# a stub model chooses, not a real one", file=sys.stderr)
    for text in texts:
        before = [message["content"] for message in messages if message["role"] == "user"]
        context = {"recent_texts": before[::-1][:8], "recent_skills": recent_skills}
        turn = pannier.resolve(text, context=context, limits={"max_tokens": 2000}, format="compact")
        prompt = turn["prompt"]
        messages = [{"role": "system", "content": prompt["text"]}, *messages[1:], {"role": "user", "content": text}]
        for skill in turn["active"][:3]:
            print(f"first: {skill['slug']}, matched: {skill.get('relevance', {}).get('matched', 'no relevance')}")
        shortened = dict(Counter(skill["left_out"] for skill in prompt.get("shortened", [])))
        print(f"prompt: {prompt['tokens_estimate']} tokens, shortened: {shortened}, omitted: {len(prompt['omitted'])}")
        while chosen := stub_model(messages):
            messages.append({"role": "tool", "content": call(pannier, *chosen, recent_skills)})
            print(f"{chosen[0]}({chosen[1]!r}):\n{messages[-1]['content'].strip()}")


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except PannierError as error:
        sys.exit(str(error))
