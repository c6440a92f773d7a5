"""Which operators a network calls, found before anything is lowered."""

from __future__ import annotations

from collections.abc import Iterator

from match_aie.frontend.relay import syntax


def operators_of(module: syntax.Module, main: syntax.Function) -> Iterator[tuple[str, int]]:
    """(operator, where) of every call that `main` reaches, in the order of the text."""
    waiting: list[syntax.Expression] = [main]
    seen: set[str] = set()
    while waiting:
        match waiting.pop():
            case syntax.Call(at, function, arguments, _):
                if isinstance(function, syntax.Operator):
                    yield function.name, at
                else:
                    waiting.append(function)
                waiting.extend(reversed(arguments))
            case syntax.Tuple(_, items):
                waiting.extend(reversed(items))
            case syntax.Project(_, source, _):
                waiting.append(source)
            case syntax.Block(_, bindings, result):
                waiting.append(result)
                waiting.extend(binding.value for binding in reversed(bindings))
            case syntax.Function() as function:
                waiting.append(function.body)
            case syntax.Global(_, name):
                if name in module.functions and name not in seen:
                    seen.add(name)
                    waiting.append(module.functions[name])
            case _:
                pass
