"""Random inputs of a network's layers on the array, and what references make of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from match_aie.hardware import ChosenLayer
from match_aie.workload import Operand, reference

Arrays = Mapping[str, np.ndarray]


@dataclass(frozen=True, eq=False)
class Golden:
    """Frames of data; nothing is computed before somebody asks for it.

    Attributes:
        layers: of the array, in execution order.
        count: of frames.
        seed: of the random numbers.
    """

    layers: tuple[ChosenLayer, ...]
    count: int
    seed: int = 0

    @cached_property
    def _frames(self) -> list[tuple[list[Arrays], list[np.ndarray]]]:
        rng = np.random.default_rng(self.seed)
        return [tensors(self.layers, rng) for _ in range(self.count)]

    def of(self, layer: int) -> list[Arrays]:
        """What a layer reads, by operand, and its result "y", in every frame."""
        return [{**taken[layer], "y": made[layer]} for taken, made in self._frames]


def tensors(
    layers: Sequence[ChosenLayer], rng: np.random.Generator
) -> tuple[list[Arrays], list[np.ndarray]]:
    """What each layer reads, by operand, and what it makes of it.

    What layers read of each other is what references make; all else is random.

    Args:
        layers: of the array, in execution order.
        rng: where numbers come from.
    """
    steps: dict[int | None, np.ndarray] = {}
    taken: list[Arrays] = []
    made = []
    for layer in layers:
        found = {}
        for operand, step in zip(layer.workload.inputs, layer.flow.sources, strict=True):
            if step in steps:
                found[operand.name] = steps[step].reshape(operand.shape)
            else:
                found[operand.name] = drawn(operand, rng)
        taken.append(found)
        made.append(reference(layer.workload, list(found.values()), layer.constants))
        steps[layer.flow.step] = made[-1]
    return taken, made


def drawn(operand: Operand, rng: np.random.Generator) -> np.ndarray:
    """Random elements: integers of the whole range, floats of a normal distribution.

    Those of 32 bits are large and small in turns, so that sums with `wide_weights` fit 32 bits.
    """
    if operand.dtype == "int32":
        return in_turns(rng, operand.shape, 2**18, 8)
    if operand.dtype == "float32":
        return rng.standard_normal(operand.shape).astype(np.float32)
    info = np.iinfo(operand.dtype)
    return rng.integers(info.min, info.max + 1, operand.shape).astype(operand.dtype)


def in_turns(rng: np.random.Generator, shape: tuple[int, ...], even: int, odd: int) -> np.ndarray:
    """Integers up to `even` and `odd` at these places of the last axis."""
    most = np.where(np.arange(shape[-1]) % 2, odd, even)
    return rng.integers(-most, most + 1, shape).astype(np.int32)
