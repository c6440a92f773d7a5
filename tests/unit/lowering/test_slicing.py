"""Slices that are read where they lie: which ones, and that nothing else changes."""

from __future__ import annotations

import pytest

from match_aie.lowering import Alias, Argument, CFunction, Schedule, Step, Tensor
from match_aie.lowering.plan import places, plan
from match_aie.lowering.slicing import sliced

SIZES = {"x": 100, "a": 100, "part": 40, "copy": 40, "y": 40}


def schedule(
    offset: int = 36, base: str = "a", outputs: tuple[str, ...] = ("y",), function: str = "copy"
) -> Schedule:
    """A step that makes `a` of `x`, a copy of bytes of one of them, a step that reads that."""

    def step(symbol: str, read: str, written: str) -> Step:
        arguments = Argument("tensor", read, "read"), Argument("tensor", written, "write")
        return Step(written, symbol, arguments)

    steps = step("f", "x", "a"), step("g", "part", "copy"), step("h", "copy", "y")
    tensors = tuple(Tensor(name, "int8", (size,)) for name, size in SIZES.items())
    aliases = (Alias("part", base, offset),)
    functions = (CFunction("g", "", function),)
    return Schedule("net", ("x",), outputs, tensors, (), aliases, steps, functions)


@pytest.mark.parametrize("base", ["a", "x"])
def test_a_slice_is_a_view_and_its_copy_is_gone(base: str) -> None:
    made = sliced(schedule(base=base), 4)
    assert [step.symbol for step in made.steps] == ["f", "h"]
    assert made.functions == ()
    assert made.aliases == (Alias("copy", base, 36),)
    where = places(made)["copy"]
    assert (where.owner, where.offset) == (base, 36)
    assert "copy" not in {placement.name for placement in plan(made).placements}


@pytest.mark.parametrize(
    ("kept", "alignment"),
    [
        (schedule(), 8),  # it would begin where code may not
        (schedule(outputs=("y", "copy")), 4),  # the caller's
        (schedule(function="clip"), 4),  # no copy
    ],
)
def test_others_are_copied(kept: Schedule, alignment: int) -> None:
    assert sliced(kept, alignment) is kept
