"""Constants that hold the same bytes, such as weights that layers share, are stored once."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import numpy as np

from match_aie.lowering.program import Constant, NetworkProgram, Step

#: Smaller constants stay apart: nothing is gained, and every layer keeps names of its own.
LEAST_BYTES = 4096


def share(program: NetworkProgram) -> NetworkProgram:
    """`program` with large constants that are alike under the name of the first of them.

    Where constants are fetched from another memory, each fetch has its own copy of what it needs,
    and nothing is shared.
    """
    if program.streams:
        return program
    schedule = program.schedule
    kept: list[Constant] = []
    first: dict[tuple[str, bytes], str] = {}
    names: dict[str, str] = {}
    for constant in schedule.constants:
        if constant.value.nbytes >= LEAST_BYTES:
            names[constant.name] = first.setdefault(_key(constant.value), constant.name)
        if names.get(constant.name, constant.name) == constant.name:
            kept.append(constant)
    if len(kept) == len(schedule.constants):
        return program
    steps = tuple(_renamed(step, names) for step in schedule.steps)
    return replace(program, schedule=replace(schedule, steps=steps, constants=tuple(kept)))


def _key(value: np.ndarray) -> tuple[str, bytes]:
    """Equal for arrays of one element type, shape and content."""
    content = hashlib.sha256(np.ascontiguousarray(value).view(np.uint8).data).digest()
    return f"{value.dtype}{value.shape}", content


def _renamed(step: Step, names: dict[str, str]) -> Step:
    arguments = tuple(
        replace(a, name=names.get(a.name, a.name)) if a.kind == "constant" else a
        for a in step.arguments
    )
    return step if arguments == step.arguments else replace(step, arguments=arguments)
