"""The cheapest way to cut a sum of two activations that fits a few columns of the array."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace

from match_aie.cost_models.aie_image import BandCost, BandWork, band_cost
from match_aie.errors import Infeasible, TargetError
from match_aie.targets.aie_ml.array.assumed import Assumed
from match_aie.targets.aie_ml.array.local import Demand
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.graph.cycles import sum_cycles
from match_aie.targets.aie_ml.graph.fit import fits_local
from match_aie.targets.aie_ml.graph.proof import cannot_lie
from match_aie.targets.aie_ml.graph.sum import (
    TILES,
    CutSum,
    SumCut,
    SumLayer,
    sum_columns,
    sum_graph,
)
from match_aie.targets.aie_ml.graph.window import ways
from match_aie.targets.aie_ml.kernels.spec import BYTES
from match_aie.targets.aie_ml.known import device as known

#: Firings of a tile that are tried: more of them overlap better, and start more often.
FIRINGS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)


@dataclass(frozen=True)
class ChosenSum:
    """A cut that fits, its modelled cost, and columns that it takes."""

    plan: CutSum
    cost: BandCost
    columns: int = 0


def choose_sum(
    layer: SumLayer,
    device: Device,
    columns: int,
    tiles: int | None = None,
    assumed: Assumed = Assumed(),
) -> ChosenSum | Infeasible:
    """The cut of least latency on at most `columns` columns of `device`.

    Args:
        layer: what is cut.
        device: for which.
        columns: at most.
        tiles: that take part; any number where None.
        assumed: times that no document states.
    """
    reason: Infeasible | None = None
    found = []
    for plan in sum_cuts(layer, device, columns, tiles):
        if device.documented_only and plan.groups(device) > ways(device, operands=2):
            continue  # memory tiles would hand results on to each other
        refused = fits_local(sum_demand(plan, device), device)
        if refused is None:
            found.append(ChosenSum(plan, price_sum(plan, device, assumed)))
        elif reason is None or refused.demand < reason.demand:
            reason = refused
    for chosen in sorted(found, key=lambda c: (c.cost.latency, c.plan.cut.tiles)):
        taken = sum_columns(chosen.plan, device, columns)
        graph = sum_graph(chosen.plan, device, columns)
        if not isinstance(taken, Infeasible) and not isinstance(graph, Infeasible):
            refused = cannot_lie(graph, known(device.name))
            if refused is None:
                return replace(chosen, columns=taken)
            reason = refused
        reason = taken if isinstance(taken, Infeasible) else reason
    if reason is None:
        raise TargetError(f"layer {layer.name} has no cut on {device.name}")
    return reason


def sum_cuts(
    layer: SumLayer, device: Device, columns: int, tiles: int | None = None
) -> Iterator[CutSum]:
    """Cuts, or those on so many tiles, without tiles that have nothing to do."""
    most = columns * min(TILES, device.core_rows)
    for each in range(1, most + 1) if tiles is None else (tiles,):
        for firings in FIRINGS:
            with suppress(TargetError):
                yield CutSum(layer, SumCut(each, firings))


def sum_demand(plan: CutSum, device: Device) -> Demand:
    """Bytes of a tile's buffers."""
    spec = plan.layer.spec
    stack = device.need(device.architecture.core.stack_default_bytes, "default stack")
    return Demand(2 * plan.chunk * BYTES[spec.a], 0, 0, plan.chunk * BYTES[spec.dtype], stack)


def price_sum(plan: CutSum, device: Device, assumed: Assumed) -> BandCost:
    """Modelled cost of one run."""
    arch, layer, spec = device.architecture, plan.layer, plan.layer.spec
    groups = plan.groups(device)
    single = groups > ways(device, operands=2)
    each = layer.elements if single else -(-layer.elements // groups)
    group = plan.share * min(TILES, device.core_rows)
    handed = sum(max(0, layer.elements - group * at) for at in range(1, groups)) if single else 0
    return band_cost(
        BandWork(
            bands=plan.cut.firings,
            body=sum_cycles(plan, device),
            around=assumed.call(3),
            start=0,
            input_bytes=plan.chunk * BYTES[spec.a],
            output_bytes=plan.chunk * BYTES[spec.dtype],
            entering=each * BYTES[spec.a],
            leaving=each * BYTES[spec.dtype],
            handed=handed * BYTES[spec.dtype],
            skew=0,
            rate=arch.core.dma.bytes_per_cycle,
            descriptor=assumed.descriptor,
            hops=arch.hop_cycles * (device.mem_rows + device.core_rows),
        )
    )
