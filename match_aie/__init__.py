"""match_aie: compiles neural networks for heterogeneous chips.

>>> import match_aie as match
>>> net = match.compile("model.onnx", target="CPU")        # doctest: +SKIP
>>> project = net.write("build/model")                     # doctest: +SKIP
>>> result = project.run(np.zeros((1, 3, 32, 32), "float32"))  # doctest: +SKIP

Names are imported when they are first used: the command line begins with this module, and until it
has begun nobody catches an interrupt.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from match_aie.errors import Infeasible, InfeasibleError, MatchError
    from match_aie.limits import Limits
    from match_aie.pipeline import compile
    from match_aie.toolchain import load

    __version__: str

#: Where names come from.
_FROM = {
    "Infeasible": "match_aie.errors",
    "InfeasibleError": "match_aie.errors",
    "Limits": "match_aie.limits",
    "MatchError": "match_aie.errors",
    "compile": "match_aie.pipeline",
    "load": "match_aie.toolchain",
}

#: Modules that are there without an import of their own.
_MODULES = ("errors", "limits", "pipeline")


def __getattr__(name: str) -> object:
    """What is imported when it is first asked for."""
    from importlib import import_module

    if name == "__version__":
        found: object = import_module("match_aie.version").version()
    elif name in _MODULES:
        return import_module(f"match_aie.{name}")
    elif name in _FROM:
        found = getattr(import_module(_FROM[name]), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_MODULES})


__all__ = [
    "Infeasible",
    "InfeasibleError",
    "Limits",
    "MatchError",
    "__version__",
    "compile",
    "load",
]
