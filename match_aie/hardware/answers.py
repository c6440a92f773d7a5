"""What the methods of a target may give back, as the door to its code holds them to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from match_aie.errors import Infeasible, shorten
from match_aie.hardware.blocked import Blocked
from match_aie.hardware.mapping import Loop
from match_aie.hardware.pattern import Pattern
from match_aie.hardware.roof import Roof
from match_aie.workload import Converted

#: What emulates scratchpads and their DMA, among the files of a runtime.
EMULATION = "emulation/ma_host.c"


def unlike(method: str, answer: object) -> str:
    """What is wrong with an answer, as the end of a sentence; "" where nothing is known to be.

    Args:
        method: by name.
        answer: what it gave.
    """
    if method in _EXPECTED:
        expected, right = _EXPECTED[method]
        if not right(answer):
            return f"gives {shorten(repr(answer), 80)}, not {expected}"
    if method == "modules":
        return _lonely(answer)
    if method == "runtime":
        return _runtime(answer)
    if method in _PRICES:
        return _price(answer, endless=_PRICES[method])
    return _whole_cost(answer) if method == "cost" else ""


def _price(answer: object, *, endless: bool = False) -> str:
    """Of cycles, picojoules or bytes, one of them or as many as there are tiles.

    Args:
        answer: what was given.
        endless: whether it may be infinite: the search combines infinite cycles of what fits not.
    """
    try:
        numbers = np.asarray(answer, np.float64)
    except (TypeError, ValueError):
        return f"gives {shorten(repr(answer), 80)}, not numbers"
    wrong = numbers[~((numbers >= 0) & (np.isfinite(numbers) | endless))]
    return f"gives {wrong.flat[0]}; it must be a finite number, not below 0" if wrong.size else ""


def _whole_cost(answer: object) -> str:
    if isinstance(answer, Infeasible):
        return ""
    cycles = getattr(answer, "cycles", None)
    if isinstance(cycles, bool) or not isinstance(cycles, int | float | np.number):
        return f"gives {shorten(repr(answer), 80)}, not a Cost or an Infeasible"
    if not (np.isfinite(cycles) and cycles >= 0):
        return f"gives {cycles} cycles; a cost is a finite number, not below 0"
    return ""


def _several(*kinds: type) -> Callable[[object], bool]:
    return lambda found: (
        isinstance(found, list | tuple) and all(isinstance(one, kinds) for one in found)
    )


def _table(kind: type) -> Callable[[object], bool]:
    return lambda found: (
        isinstance(found, Mapping)
        and all(isinstance(name, str) and isinstance(one, kind) for name, one in found.items())
    )


def _called(name: str) -> Callable[[object], bool]:
    """Of a class that is defined where this file cannot import it from."""
    return lambda found: any(base.__name__ == name for base in type(found).__mro__)


def _size(found: object) -> bool:
    return isinstance(found, int | np.integer) and not isinstance(found, bool) and int(found) >= 0


def _truths(found: object) -> bool:
    return np.asarray(found).dtype == bool


def _modules(found: object) -> bool:
    return isinstance(found, list | tuple) and all(map(_called("ExecModule"), found))


def _lonely(found: object) -> str:
    """Of modules whose `beside` does not say what company takes."""
    for module in found if isinstance(found, list | tuple) else ():
        beside = getattr(module, "beside", None)
        if beside is not None and not _called("Company")(beside):
            return (
                f"gives module {module.name!r}, whose beside is {shorten(repr(beside), 80)}, not a "
                "Company: write beside = Company(), or Company(enter, call, slowed) with what it "
                "takes"
            )
    return ""


def _runtime(found: object) -> str:
    """Of C that moves tiles and lacks what its emulation needs."""
    files: Mapping[str, bytes] = getattr(found, "files", {})
    for header in (*getattr(found, "headers", ()), *getattr(found, "layer_headers", ())):
        if f"include/{header}" not in files:
            return (
                f"names header {header!r}, and no include/{header} is among its files: add it, or "
                "include what the system has from a header of your own"
            )
    if EMULATION not in files:
        return ""
    if "emulation/ma_chip.h" not in files:
        return (
            "gives no emulation/ma_chip.h, which says how large the inner memories are: add it to "
            'the files, such as runtime_files("my_chip", ("emulation/ma_chip.h",))'
        )
    if not getattr(found, "entry", ""):
        return (
            "gives the emulation of scratchpads and no entry, without which it stops at the first "
            'transfer: Runtime(files, headers, entry="ma_network")'
        )
    return ""


def _prices(found: object) -> bool:
    methods = ("cost", "kernel_cycles")
    # A class has its methods, too, but nobody to call them on.
    return not isinstance(found, type) and any(callable(getattr(found, m, None)) for m in methods)


_Expected = Mapping[str, tuple[str, Callable[[object], bool]]]
_EXPECTED: _Expected = MappingProxyType(
    {
        "modules": ("a list of ExecModule", _modules),
        "patterns": ("a list of Pattern", _several(Pattern)),
        "spatial": ("a list of Loop", _several(Loop)),
        "cost_model": ("an object with cost(), or with the methods of TileCostModel", _prices),
        "template": ("the name of a template", lambda f: isinstance(f, str) and bool(f)),
        "convert": (
            "Converted(...) or a sentence why not",
            lambda f: isinstance(f, Converted | str),
        ),
        "tiled_reductions": ("a tuple of dimensions", _several(str)),
        "constrain": ("an array of bool, one for each tile", _truths),
        "in_place": ("a tuple of names of inputs", _several(str)),
        "layouts": ("Blocked(...) by operand name", _table(Blocked)),
        "scratch_bytes": ("a number of bytes", _size),
        "workspace_bytes": ("a number of bytes", _size),
        "roof": ("a Roof or None", lambda f: f is None or isinstance(f, Roof)),
        "demands": ("numbers by name", lambda f: isinstance(f, Mapping)),
        "capacities": ("numbers by name", lambda f: isinstance(f, Mapping)),
        "options": ("the constructor's arguments by name", lambda f: isinstance(f, Mapping)),
        "storage": ("a Storage", _called("Storage")),
        "build_profile": ("a BuildProfile", _called("BuildProfile")),
        "runtime": ("a Runtime", _called("Runtime")),
    }
)

#: Methods that give one number or an array of them, and whether infinite ones may be among them.
_PRICES: Mapping[str, bool] = MappingProxyType(
    {
        **dict.fromkeys(
            "kernel_cycles transfer_cycles kernel_energy transfer_energy reserved_bytes".split(),
            False,
        ),
        "combine": True,
    }
)
