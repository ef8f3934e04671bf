"""Calls one function of one file: driver.py FILE FUNCTION SKILL.

The arguments are in the file $PANNIER_ARGUMENTS, the result goes to the file $PANNIER_RESULT as JSON.
What the function prints is output like that of any program.
"""

import importlib.abc
import importlib.util
import inspect
import json
import os
import sys
import types


def mark(*args, **options):
    """Stands for a decorator that only marks a function."""
    if len(args) == 1 and callable(args[0]) and not options:
        return args[0]
    return lambda function: function


class Marks(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Gives the modules that decorators come from, where they are not installed."""

    modules = {"langchain": None, "langchain.tools": "tool", "langchain_core": None, "langchain_core.tools": "tool"}

    def find_spec(self, name, path=None, target=None):
        if name in self.modules:
            return importlib.util.spec_from_loader(name, self, is_package=self.modules[name] is None)
        return None

    def create_module(self, spec):
        return types.ModuleType(spec.name)

    def exec_module(self, module):
        if self.modules[module.__name__]:
            setattr(module, self.modules[module.__name__], mark)


def find(module, name):
    found = getattr(module, name)
    for wrapped in ("coroutine", "func", "fn"):  # decorators that make an object of the function
        inner = getattr(found, wrapped, None)
        if not inspect.isroutine(found) and inspect.isroutine(inner):
            return inner
    return found


def main():
    file, name, skill = sys.argv[1:4]
    result = os.environ.pop("PANNIER_RESULT")
    with open(os.environ["PANNIER_ARGUMENTS"], encoding="utf-8") as text:
        arguments = json.load(text)
    sys.argv = [file]
    sys.path[:0] = [os.path.dirname(file), skill]
    sys.meta_path.append(Marks())
    spec = importlib.util.spec_from_file_location(os.path.splitext(os.path.basename(file))[0], file)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    value = find(module, name)(**arguments)
    if inspect.isawaitable(value):
        import asyncio

        async def wait():
            return await value

        value = asyncio.run(wait())
    text = json.dumps(value, default=str, ensure_ascii=False, allow_nan=False)
    with open(result, "x", encoding="utf-8", errors="replace") as out:
        out.write(text)


main()
