"""Constants of the same bytes are stored once."""

from dataclasses import replace

import numpy as np
import pytest

from match_aie.lowering import (
    Argument,
    Constant,
    MemoryPlan,
    NetworkProgram,
    Schedule,
    Step,
    Stream,
    share,
)
from match_aie.lowering.sharing import LEAST_BYTES

WORDS = LEAST_BYTES // 4


def program(**values):
    """A network that reads each of these arrays in a step of its own."""
    constants = tuple(Constant(name, np.asarray(value)) for name, value in values.items())
    steps = tuple(
        Step(
            name,
            f"f_{name}",
            (Argument("constant", name, "read"), Argument("tensor", "y", "write")),
        )
        for name in values
    )
    schedule = Schedule("net", (), (), (), constants, (), steps, ())
    return NetworkProgram(schedule, MemoryPlan("arena", 0, 64, 0, (), (), 0))


def read(shared):
    """Step label -> the constant that it reads."""
    return {step.label: step.arguments[0].name for step in shared.schedule.steps}


def test_weights_that_layers_share_are_kept_once():
    same = np.arange(WORDS, dtype=np.float32)
    shared = share(program(a=same, b=same + 1, c=same.copy(), d=same.reshape(2, -1)))
    assert read(shared) == {"a": "a", "b": "b", "c": "a", "d": "d"}
    assert [constant.name for constant in shared.schedule.constants] == ["a", "b", "d"]


@pytest.mark.parametrize("other", [np.float32, np.int32])
def test_small_constants_and_other_types_stay_apart(other):
    size = WORDS - 1 if other is np.float32 else WORDS
    before = program(a=np.zeros(size, np.float32), b=np.zeros(size, other))
    assert share(before) is before


def test_constants_that_are_fetched_stay_apart():
    same = np.zeros(WORDS, np.float32)
    before = program(a=same, b=same)
    before = replace(before, streams=(Stream(1, ("b",), "space", same.nbytes),))
    assert share(before) is before
