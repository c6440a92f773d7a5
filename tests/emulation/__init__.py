"""Code that is emitted for another processor, built for this one: its intrinsics as plain C.

`flags` stands for the compiler's flags of a machine; everything else is compiled as it is emitted.
Only the instructions are replaced: layouts, offsets, packing and blocking are the other machine's.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from match_aie.targets.cpu import machine as facts_of
from match_aie.targets.cpu.machine import PORTABLE, Machine, executes

FOLDER = Path(__file__).resolve().parent


def flags(facts: Machine) -> tuple[str, ...]:
    """What to compile with, instead of `facts.flags`, so that any processor runs the code."""
    if facts.name == PORTABLE:
        return ()
    own = tuple(flag for flag in facts.flags if flag.startswith("-D"))
    return (
        f"-include{FOLDER / 'emulated.h'}",
        f"-I{FOLDER}",
        f"-D{_what(facts)}",
        *own,
        "-Wno-psabi",
    )


def stand_in(patch: pytest.MonkeyPatch) -> None:
    """Emulate what `MATCH_AIE_ARCH` names where this machine lacks it, so that `CPU()` runs.

    Of this process only: programs that a test starts are refused by name.
    """
    pinned = facts_of._pinned

    def runnable(name: str) -> Machine:
        facts = pinned(name)
        if executes(facts):
            return facts
        return replace(facts, flags=flags(facts), compilers=("gcc", "clang"))

    patch.setattr(facts_of, "_pinned", runnable)


def _what(facts: Machine) -> str:
    if facts.family == "x86-64":
        return "EMULATE_AVX512" if facts.vector_bytes == 64 else "EMULATE_AVX2"
    if facts.family == "aarch64":
        return f"EMULATE_NEON={int('dotprod' in facts.features)}"
    return f"EMULATE_RVV={8 * facts.vector_bytes}"
