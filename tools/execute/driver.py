"""Calls one function of one file: driver.py FILE FUNCTION SKILL PACKAGES.

The arguments are in the file $PANNIER_ARGUMENTS, the result goes to the file $PANNIER_RESULT as JSON.
What the function prints is output like that of any program.
"""

import enum
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


class BaseTool:
    """Stands for the base class of tools: it keeps what it is made with."""

    def __init__(self, **given):
        for name, value in given.items():
            setattr(self, name, value)


class StructuredTool(BaseTool):
    """Stands for a tool that is made of a function."""

    @classmethod
    def from_function(cls, func=None, coroutine=None, **given):
        return cls(func=func, coroutine=coroutine, **given)


class Marks(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Gives the modules that decorators come from, where they are not installed."""

    packages = ("langchain", "langchain_core", "langchain.callbacks")
    tools = ("langchain.tools", "langchain.tools.base", "langchain_core.tools", "langchain_core.tools.base")
    others = ("langchain_core.callbacks", "langchain.callbacks.manager", "langchain_core.runnables")
    modules = packages + tools + others

    def find_spec(self, name, path=None, target=None):
        if name in self.modules:
            return importlib.util.spec_from_loader(name, self, is_package=name in self.packages or name + ".base" in self.tools)
        return None

    def create_module(self, spec):
        return types.ModuleType(spec.name)

    def exec_module(self, module):
        if module.__name__ in self.tools:
            module.tool, module.BaseTool, module.StructuredTool = mark, BaseTool, StructuredTool
            module.InjectedToolArg, module.ToolException = type("InjectedToolArg", (), {}), type("ToolException", (Exception,), {})
        if module.__name__ in self.others:
            for name in ("CallbackManagerForToolRun", "AsyncCallbackManagerForToolRun"):
                setattr(module, name, type(name, (), {}))
            module.RunnableConfig = dict


def find(module, name):
    name, _, method = name.partition(".")
    found = getattr(module, name)
    if method:  # of a subclass of BaseTool
        return getattr(found(), method)
    for wrapped in ("coroutine", "func", "fn"):  # decorators that make an object of the function
        inner = getattr(found, wrapped, None)
        if not inspect.isroutine(found) and inspect.isroutine(inner):
            return inner
    return found


def convert(given, hint):
    """Return an argument as the type that its hint names, where JSON has none for it."""
    import typing

    kind, parts = typing.get_origin(hint) or hint, typing.get_args(hint)
    if kind is typing.Union or kind is getattr(types, "UnionType", None):
        for part in () if given is None else parts:
            try:
                return convert(given, part)
            except (TypeError, ValueError, KeyError):
                continue
        return given
    if not isinstance(kind, type) or hasattr(kind, "__total__"):  # a TypedDict is a dict
        return given
    if isinstance(given, dict):
        if hasattr(kind, "model_validate"):
            return kind.model_validate(given)
        if hasattr(kind, "__dataclass_fields__"):
            hints = hints_of(kind)
            return kind(**{name: convert(value, hints.get(name)) for name, value in given.items()})
        return {name: convert(value, parts[1]) for name, value in given.items()} if len(parts) == 2 else given
    if isinstance(given, list):
        if parts and kind is not tuple or len(parts) == 2 and parts[1] is ...:
            given = [convert(value, parts[0]) for value in given]
        return kind(given) if kind in (set, frozenset, tuple) else given
    if issubclass(kind, enum.Enum):
        return kind[given] if isinstance(given, str) and given in kind.__members__ else kind(given)
    if isinstance(given, str) and kind.__module__.partition(".")[0] in ("pathlib", "uuid"):
        return kind(given)
    if isinstance(given, str) and kind.__module__ == "datetime":
        return kind.fromisoformat(given)
    return given


def hints_of(item):
    import typing

    try:
        return typing.get_type_hints(item)
    except Exception:  # names that only a type checker knows
        return {}


def bind(function, given):
    """Return the arguments by place, and those by name. What does not fit the function ends the program."""
    hints = hints_of(function)
    try:
        signature = inspect.signature(function)
        for name in given:
            given[name] = convert(given[name], hints.get(name))
        places = []
        for name, parameter in signature.parameters.items():
            if parameter.kind is not parameter.POSITIONAL_ONLY or name not in given:
                break
            places.append(given.pop(name))
        signature.bind(*places, **given)
    except (TypeError, ValueError, KeyError) as error:
        sys.exit(f"{function.__name__} cannot be called with these arguments: {error}")
    return places, given


def result_of(value):
    """Return what a function has returned, or what it yields as a list."""
    if inspect.isawaitable(value) or inspect.isasyncgen(value):
        import asyncio

        async def wait():
            return [item async for item in value] if inspect.isasyncgen(value) else await value

        return asyncio.run(wait())
    return list(value) if inspect.isgenerator(value) else value


def plain(value):
    """Return a value that JSON has, for one that it does not have."""
    if hasattr(value, "__dataclass_fields__") and not isinstance(value, type):
        return {name: getattr(value, name) for name in value.__dataclass_fields__}
    if hasattr(value, "model_dump") and not isinstance(value, type):
        return value.model_dump()
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, (set, frozenset)):
        return sorted(value, key=repr)
    return str(value)


def main():
    file, name, *paths = sys.argv[1:]
    result = os.environ.pop("PANNIER_RESULT")
    with open(os.environ["PANNIER_ARGUMENTS"], encoding="utf-8") as text:
        arguments = json.load(text)
    sys.argv = [file]
    sys.path[:0] = [os.path.dirname(file), *filter(None, paths)]
    sys.meta_path.append(Marks())
    spec = importlib.util.spec_from_file_location(os.path.splitext(os.path.basename(file))[0], file)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    function = find(module, name)
    places, named = bind(function, arguments)
    value = result_of(function(*places, **named))
    text = json.dumps(value, default=plain, ensure_ascii=False, allow_nan=False)
    with open(result, "x", encoding="utf-8", errors="replace") as out:
        out.write(text)


try:
    main()
except Exception as error:
    import traceback

    at = error.__traceback__
    while at and at.tb_frame.f_code.co_filename.startswith((__file__, "<frozen importlib")):
        at = at.tb_next  # the frames of the skill are what its author can use
    traceback.print_exception(type(error), error, at)
    sys.exit(1)
