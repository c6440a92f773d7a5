"""Random legal mappings: what the cost model and the simulator are compared on."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

from match_aie.errors import Infeasible, TargetError
from match_aie.targets.aie_ml.array.check import violations
from match_aie.targets.aie_ml.array.layer import ArrayMapping, DenseLayer
from match_aie.targets.aie_ml.array.price import Priced
from match_aie.targets.aie_ml.array.program import ArrayProgram
from match_aie.targets.aie_ml.array.shapes import (
    Split,
    blocks,
    candidates,
    native_tilings,
    splits,
)
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.graph.given import priced_of, program_of
from match_aie.targets.aie_ml.schedule import Variant

#: Share of mappings that walk the reduction in turns.
IN_TURNS = 0.2

#: Draws without a new mapping after which a layer is taken to have no more of them.
MOST_IN_VAIN = 3000

VARIANTS: tuple[Variant, ...] = ("flat", "overlapped", "exposed")


def sample(layer: DenseLayer, device: Device, count: int, seed: int) -> tuple[Priced, ...]:
    """`count` different mappings that keep all rules; see `sampled`."""
    return tuple(priced for priced, _ in sampled(layer, device, count, seed))


def sampled(
    layer: DenseLayer, device: Device, count: int, seed: int
) -> Iterator[tuple[Priced, ArrayProgram]]:
    """`count` different mappings that keep all rules, with their programs, by a fixed seed.

    Splits, calls, residency, order, blocks and epilogues are drawn independently; fewer are given
    where the layer has fewer, or nothing new is drawn for long.
    """
    dice = random.Random(seed)
    options = list(splits(layer, device, native_tilings(layer, device)[0], None))
    seen: set[ArrayMapping] = set()
    left, since = count, 0
    while left and since < MOST_IN_VAIN:
        since += 1
        mapping = _draw(layer, device, dice.choice(options), dice)
        if mapping is None or mapping in seen:
            continue
        seen.add(mapping)
        try:
            priced = priced_of(mapping, device)
            program = program_of(mapping, device)
        except TargetError:
            continue
        if isinstance(priced, Infeasible) or isinstance(program, Infeasible):
            continue
        if not violations(program, device):
            left, since = left - 1, 0
            yield priced, program


def _draw(
    layer: DenseLayer, device: Device, split: Split, dice: random.Random
) -> ArrayMapping | None:
    """A mapping of `split`, with calls no larger than the largest that fit."""
    tiling, turns = native_tilings(layer, device)[0], dice.random() < IN_TURNS
    shapes = list(candidates(layer, device, tiling, split, turns=turns))
    if not shapes:
        return None
    shape = dice.choice(shapes)
    tiles = shape.call_rows // shape.tiling.m
    rows = dice.choice([tiles, tiles, max(1, tiles // 2)])
    sized = replace(shape, call_rows=rows * shape.tiling.m)
    return replace(
        sized,
        block=dice.choice(blocks(sized)),
        variant=dice.choice(VARIANTS),
    )
