"""Puts @tool before each function of a module's top level, and tells what Python makes of these functions.

Reads paths, one a line, and writes a JSON object a line: the path, the changed text, and the functions in it.
"""

import ast
import inspect
import json
import sys

MAX_TOOLS, MAX_PARAMS, MAX_BYTES = 256, 256, 256 << 10


def top_level(body):
    """Yields the functions of a module, and those in its compound statements."""
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node
        elif not isinstance(node, ast.ClassDef) and not is_script(node):
            for part in ("body", "handlers", "orelse", "finalbody", "cases"):
                yield from top_level(getattr(node, part, None) or [])
        elif is_script(node):
            yield from top_level(node.orelse)


def is_script(node):
    test = getattr(node, "test", None)
    return isinstance(node, ast.If) and ast.unparse(test).startswith("__name__ ==")


def decorated(text):
    """Returns a text with the decorator before each function, or None where a function does not begin its line."""
    lines = text.split("\n")
    for node in sorted(top_level(ast.parse(text).body), key=lambda n: n.lineno, reverse=True):
        if any("tool" in ast.unparse(d) for d in node.decorator_list):
            return None
        at = min([node.lineno] + [d.lineno for d in node.decorator_list]) - 1
        word = lines[at].lstrip(" \t\f")
        if not word.startswith(("@", "def", "async")):
            return None
        lines.insert(at, lines[at][: len(lines[at]) - len(word)] + "@tool" + ("\r" if lines[at].endswith("\r") else ""))
    return "\n".join(lines)


def plain(node):
    """Returns a default that is a text, a number, a bool or None, in a list; an empty one for others."""
    try:
        value = ast.literal_eval(node)
        if any(isinstance(part, (ast.BinOp, ast.JoinedStr)) for part in ast.walk(node)) or not isinstance(value, (str, int, float, type(None))):
            return []
        if isinstance(node, ast.UnaryOp) and not isinstance(node.operand, ast.Constant):
            return []
        json.dumps(value, allow_nan=False, ensure_ascii=False).encode()
        return [value]
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return []


def function(node):
    a = node.args
    params = [{"name": p.arg} for p in a.posonlyargs + a.args]
    for param, default in zip(params[len(params) - len(a.defaults):], a.defaults):
        param.update(optional=True, default=plain(default))
    if params and params[0]["name"] in ("self", "cls") and (a.posonlyargs + a.args)[0].annotation is None:
        params = params[1:]
    for p, default in zip(a.kwonlyargs, a.kw_defaults):
        params.append({"name": p.arg})
        if default is not None:
            params[-1].update(optional=True, default=plain(default))
    doc = ast.get_docstring(node, clean=False)
    return {
        "name": node.name,
        "line": node.lineno,
        "params": params,
        "kwargs": a.kwarg is not None,
        "doc": None if doc is None else inspect.cleandoc(doc),
    }


def main():
    sys.setrecursionlimit(20000)
    for path in sys.stdin.read().splitlines():
        try:
            with open(path, encoding="utf-8-sig", newline="") as file:
                text = file.read()
            text = decorated(text)
            functions = {}
            for node in sorted(top_level(ast.parse(text).body), key=lambda n: n.lineno):
                functions.pop(node.name, None)
                functions[node.name] = function(node)
        except (SyntaxError, UnicodeDecodeError, ValueError, TypeError, RecursionError):
            continue
        if len(text.encode()) > MAX_BYTES or len(functions) > MAX_TOOLS or "\r" in text.replace("\r\n", ""):
            continue
        if all(len(f["params"]) <= MAX_PARAMS for f in functions.values()):
            print(json.dumps({"path": path, "text": text, "functions": list(functions.values())}))


main()
