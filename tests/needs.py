"""What tests need beside Python: marks that skip where it is absent, and what was absent in a run.

    @needs("qemu-aarch64", "aarch64-linux-gnu-gcc")      # all of them
    @needs_one_of("clang-22", "clang-19")                # any of them
    pytest.param("clang-15", marks=needs("clang-15"))

Every skip whose reason begins with `NOT_INSTALLED` counts, and so does `pytest.importorskip`.
"""

from __future__ import annotations

import re
import shutil
from collections import Counter
from collections.abc import Iterable

import pytest

NOT_INSTALLED = "not installed: "
_IMPORT = re.compile(r"could not import '([^'.]+)")


def missing(*tools: str) -> tuple[str, ...]:
    """Those of `tools` that no folder of PATH holds."""
    return tuple(tool for tool in tools if shutil.which(tool) is None)


def reason(absent: Iterable[str]) -> str:
    """What to skip with, so that the end of the run names it."""
    return NOT_INSTALLED + ", ".join(absent)


def needs(*tools: str) -> pytest.MarkDecorator:
    """Skips where one of `tools` is not on PATH."""
    absent = missing(*tools)
    return pytest.mark.skipif(bool(absent), reason=reason(absent))


def needs_one_of(*tools: str) -> pytest.MarkDecorator:
    """Skips where none of `tools` is on PATH."""
    absent = missing(*tools)
    return pytest.mark.skipif(len(absent) == len(tools), reason=reason([" or ".join(tools)]))


def counted(reasons: Iterable[str]) -> tuple[tuple[str, int], ...]:
    """(what was absent, tests skipped for it), most first, from the reasons of all skips.

    >>> counted(["Skipped: not installed: clang-15, make", "Skipped: not installed: make"])
    (('make', 2), ('clang-15', 1))
    >>> counted(["Skipped: could not import 'tvm': No module named 'tvm'", "Skipped: root"])
    (('tvm (Python)', 1),)
    """
    found: Counter[str] = Counter()
    for text in reasons:
        _, stated, names = text.partition(NOT_INSTALLED)
        imported = _IMPORT.search(text)
        if stated:
            found.update(name.strip() for name in names.split(","))
        elif imported:
            found[f"{imported[1]} (Python)"] += 1
    return tuple(sorted(found.items(), key=lambda item: (-item[1], item[0])))


def lines(reasons: Iterable[str]) -> list[str]:
    """What the end of a run says of it; nothing where nothing was absent."""
    found = counted(reasons)
    if not found:
        return []
    parts = [f"{name} ({count} test{'s' if count > 1 else ''})" for name, count in found]
    return ["not installed here, so skipped: " + ", ".join(parts)]
