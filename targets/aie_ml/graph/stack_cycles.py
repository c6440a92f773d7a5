"""Modelled cycles of dense layers in a row on tiles that they share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import ceil

from match_aie.targets.aie_ml.array.assumed import Assumed
from match_aie.targets.aie_ml.array.emit import call_spec, tile_nest
from match_aie.targets.aie_ml.graph.timed import Timed
from match_aie.targets.aie_ml.kernels.call import LayerCall
from match_aie.targets.aie_ml.kernels.nest import Nest
from match_aie.targets.aie_ml.known import device as known
from match_aie.targets.aie_ml.schedule.generated import schedule_of
from match_aie.targets.aie_ml.schedule.kernel import ELEMENT_BYTES


def nest_of(timed: Timed) -> Nest:
    """The function of a layer on one tile, its numbers apart."""
    m = timed.mapping
    nest = tile_nest(m, LayerCall("layer", "", call_spec(m, 0)))
    return replace(nest, order="mn", m_tiles=timed.passes)


def layer_cycles(nest: Nest, name: str) -> int:
    """Of a call of a layer's kernel."""
    return schedule_of(nest.call.spec, known(name).architecture).body


def stack_cycles(
    layers: Sequence[Timed], tiles: Sequence[range], name: str, request: float = 0.0
) -> tuple[tuple[float, ...], float]:
    """Cycles of each layer in a run, and between runs, modelled.

    Args:
        layers: on a tile each, or sharing some.
        tiles: which layers are on each.
        name: of the device.
        request: cycles until the chip's memory gives, or takes, the rows of a pass; 0 of streams.
    """
    device, assumed, passes = known(name), Assumed(), layers[0].passes
    nests = [nest_of(timed) for timed in layers]
    arch, lock = device.architecture, assumed.acquire + assumed.release
    bodies = [float(layer_cycles(nest, name) + device.call_cycles) for nest in nests]
    rate = arch.core.dma.bytes_per_cycle
    for part in tiles:  # the DMA fills a copy of x beside what a tile's layers load
        shared = ceil(_copy(nests[part[0]]) / len(part))
        for at in part:
            bodies[at] += device.lost_cycles(shared)
    hop = arch.hop_cycles
    moved = [assumed.descriptor + _copy(nests[part[0]]) / rate + lock + 2 * hop for part in tiles]
    moved[0] += request
    last = nests[-1].call.spec
    results = last.m * last.n * ELEMENT_BYTES[layers[0].mapping.layer.out] / rate
    leaves = assumed.descriptor + results + lock + request
    slowest = max(
        leaves,
        *(
            max(sum(bodies[at] for at in part) + 2 * lock, way)
            for part, way in zip(tiles, moved, strict=True)
        ),
    )
    taken = list(bodies)
    for part, way in zip(tiles, moved, strict=True):
        taken[part[0]] += way
    taken[-1] += leaves + hop * (device.mem_rows + device.core_rows)
    taken[-1] += (passes - 1) * slowest
    if arch.mem is not None:  # where x waits for all of its rows, and results for some
        first = layers[0].mapping
        taken[0] += first.layer.rows * first.part_reduction * ELEMENT_BYTES[first.layer.a] / rate
        taken[0] += hop * (device.mem_rows + 1)
        taken[-1] += results / last.tiling.m
    return tuple(taken), passes * slowest + assumed.start + 2 * assumed.start_port


def _copy(nest: Nest) -> int:
    """Bytes of x of a pass."""
    return nest.call.spec.m * nest.call.spec.k * ELEMENT_BYTES[nest.call.spec.a]
