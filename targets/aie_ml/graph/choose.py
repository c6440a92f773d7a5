"""The cheapest way to cut an image layer or a sum that fits a few columns of the array."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace

from match_aie.cost_models.aie_image import BandCost, BandWork, band_cost
from match_aie.errors import Infeasible, TargetError
from match_aie.targets.aie_ml.array.assumed import Assumed
from match_aie.targets.aie_ml.devices import Device, Tiling
from match_aie.targets.aie_ml.graph.borders import borders
from match_aie.targets.aie_ml.graph.cycles import window_cycles
from match_aie.targets.aie_ml.graph.fit import fits_local, image_demand
from match_aie.targets.aie_ml.graph.image import CutLayer, ImageCut, ImageLayer
from match_aie.targets.aie_ml.graph.proof import cannot_lie
from match_aie.targets.aie_ml.graph.window import (
    groups,
    ways,
    window_columns,
    window_graph,
)
from match_aie.targets.aie_ml.kernels.fit import check_kernel
from match_aie.targets.aie_ml.kernels.spec import BYTES
from match_aie.targets.aie_ml.known import device as known

#: Parts of the output's channels: as many as one memory tile gathers, its input beside them.
MOST_PARTS = 5

#: Blocks of accumulators that are tried, (rows, columns).
BLOCKS = ((2, 2), (4, 1), (1, 4), (2, 1), (1, 2), (1, 1))

#: Lanes of kernels that multiply none: neighbouring pixels and channels of one vector.
LANES = {1: Tiling(4, 1, 8, native=False), 2: Tiling(4, 1, 4, native=False)}


@dataclass(frozen=True, eq=False)
class Chosen:
    """A cut that fits, its modelled cost, and columns that it takes."""

    plan: CutLayer
    cost: BandCost
    columns: int = 0


@dataclass(frozen=True)
class Split:
    """How a layer is spread over tiles: what `ImageCut` says of that."""

    bands: int
    parts: int
    length: int


def choose_image(
    layer: ImageLayer,
    device: Device,
    columns: int,
    split: Split | None = None,
    assumed: Assumed = Assumed(),
) -> Chosen | Infeasible:
    """The cut of least latency on at most `columns` columns of `device`.

    Args:
        layer: what is cut.
        device: for which.
        columns: at most.
        split: over tiles; any where None.
        assumed: times that no document states.

    Raises:
        TargetError: element types without a kernel there, or facts that are not known.
    """
    reason: Infeasible | None = None
    able: list[tuple[float, int, CutLayer]] = []
    border = borders(layer)
    for number, plan in enumerate(cuts(layer, device, columns, split)):
        refused = fits_local(image_demand(plan, border, device), device)
        if device.documented_only and len(groups(plan, device)) > ways(device):
            continue  # memory tiles would hand results on to each other
        if refused is None and runs(plan, device):
            able.append((least_latency(plan, device, assumed), number, plan))
        elif refused is not None and (reason is None or refused.demand < reason.demand):
            reason = refused
    # Best first: a cut is priced when its bound is the least, and laid out when its cost is.
    able.sort(key=lambda a: (a[0], tiles_of(a[2]), a[1]), reverse=True)
    priced: list[tuple[float, int, int, Chosen]] = []
    while able or priced:
        if able and (not priced or able[-1][0] < priced[0][0]):
            _, number, plan = able.pop()
            cost = _cost(plan, device, assumed)
            if cost is not None:
                key = cost.latency, tiles_of(plan), number
                heapq.heappush(priced, (*key, Chosen(plan, cost)))
            continue
        chosen = heapq.heappop(priced)[-1]
        taken = laid_out(chosen.plan, device, columns)
        if not isinstance(taken, Infeasible):
            return replace(chosen, columns=taken)
        reason = taken
    if reason is None:
        raise TargetError(f"layer {layer.name} has no kernel on {device.name}")
    return reason


def laid_out(plan: CutLayer, device: Device, columns: int) -> int | Infeasible:
    """Columns that a cut layer takes; or what it lacks there, switches and locks included."""
    taken = window_columns(plan, device, columns)
    if isinstance(taken, Infeasible):
        return taken
    graph = window_graph(plan, device, columns)
    reason = graph if isinstance(graph, Infeasible) else cannot_lie(graph, known(device.name))
    return taken if reason is None else reason


def tiles_of(plan: CutLayer) -> int:
    """Cores that a cut takes."""
    return plan.cut.bands * plan.cut.parts * plan.cut.length


def cuts(
    layer: ImageLayer, device: Device, columns: int, split: Split | None = None
) -> Iterator[CutLayer]:
    """All cuts, or those of one split over tiles, that differ in their sizes."""
    splits = (split,) if split is not None else tuple(_splits(layer, device, columns))
    seen: set[tuple[object, ...]] = set()
    for tiling, rows, wide in _blocks(layer, device):
        for each in splits:
            for plan in _over_time(layer, tiling, rows, wide, each):
                key = (
                    tiling,
                    rows,
                    wide,
                    plan.band_rows,
                    plan.part_rows,
                    plan.part_channels,
                    plan.slice_channels,
                )
                if key not in seen:
                    seen.add(key)
                    yield plan


def _splits(layer: ImageLayer, device: Device, columns: int) -> Iterator[Split]:
    """Over at most so many columns, in which every tile may have something to do."""
    most = columns * device.core_rows
    for parts in range(1, min(MOST_PARTS, device.core_rows) + 1):
        for length in range(1, 2 if layer.apart else columns + 1):
            for bands in range(1, min(most // (parts * length), layer.geometry.out_height) + 1):
                yield Split(bands, parts, length)


def _blocks(layer: ImageLayer, device: Device) -> Iterator[tuple[Tiling, int, int]]:
    core = device.architecture.core
    tilings: tuple[Tiling, ...] = (LANES[BYTES[layer.dtype]],)
    if not layer.apart:
        assert layer.weight is not None
        tilings = tuple(
            t for t in core.tilings_of(layer.dtype, str(layer.weight.dtype)) if t.native
        )
    for tiling in tilings:
        # Tall blocks load more than square ones, and are for layers without a second column.
        narrow = layer.apart or layer.geometry.outputs <= tiling.n
        for rows, wide in BLOCKS:
            if rows < 4 or narrow:
                yield tiling, rows, wide


def _over_time(
    layer: ImageLayer, tiling: Tiling, rows: int, wide: int, split: Split
) -> Iterator[CutLayer]:
    """Cuts that differ in the rows of a band; without those that are no whole blocks."""
    whole, bands = layer.geometry.out_height, split.bands
    high = -(-whole // bands)
    sizes = {-(-whole // (bands * firings)) for firings in range(1, high + 1)}
    for size in sorted(sizes):
        cut = ImageCut(tiling, rows, wide, bands, -(-high // size), split.parts, split.length)
        with suppress(TargetError):
            yield CutLayer(layer, cut)


def runs(plan: CutLayer, device: Device) -> bool:
    """Whether cores run the kernel."""
    if plan.layer.epilogue is None:
        return plan.cut.columns == 1
    try:
        for column in range(min(plan.cut.length, 3)):
            check_kernel(plan.kernel(column), device)
    except TargetError:
        return False
    return True


def price_image(plan: CutLayer, device: Device, assumed: Assumed) -> BandCost:
    """Modelled cost of one run."""
    return _price(plan, device, assumed, *window_cycles(plan, device, assumed))


def _cost(plan: CutLayer, device: Device, assumed: Assumed) -> BandCost | None:
    """Of a cut; None where registers do not hold its block of accumulators."""
    try:
        return price_image(plan, device, assumed)
    except TargetError:
        return None


def least_latency(plan: CutLayer, device: Device, assumed: Assumed) -> float:
    """A latency that no schedule of the kernel beats: products at the core's full rate.

    Lane by lane, 32 products of 8 bits fill a vector instruction of 1024 bits of sums.
    """
    walk, arch = plan.walk, device.architecture
    if plan.layer.apart:
        rate = 1024 / (64 if BYTES[plan.layer.dtype] > 1 else 32)
    else:
        spec = plan.kernel()
        rate = arch.core.macs_of(spec.a, spec.b) or spec.tiling.macs
    # A maximum takes no product, and its loads are two words a tile and tap.
    products = 0.0 if plan.layer.epilogue is None else walk.m * walk.k * walk.n / rate
    return _price(plan, device, assumed, products, 0.0).latency


def _price(plan: CutLayer, device: Device, assumed: Assumed, body: float, skew: float) -> BandCost:
    arch, layer = device.architecture, plan.layer
    lock = assumed.acquire + assumed.release
    walks = layer.epilogue is not None
    entering, leaving, handed = _ways(plan, device)
    return band_cost(
        BandWork(
            bands=plan.cut.firings,
            body=body,
            around=2 * lock if walks else assumed.call(2),
            start=assumed.start + 2 * assumed.start_port if walks else 0,
            input_bytes=plan.x_elements * BYTES[layer.dtype],
            output_bytes=plan.y_elements * BYTES[layer.stored],
            entering=entering,
            leaving=leaving,
            handed=handed,
            skew=skew,
            rate=arch.core.dma.bytes_per_cycle,
            descriptor=assumed.descriptor,
            hops=arch.hop_cycles * (device.mem_rows + device.core_rows),
        )
    )


def _ways(plan: CutLayer, device: Device) -> tuple[float, float, float]:
    """Bytes on the busiest way in and way out, and those handed from buffer to buffer."""
    layer, g = plan.layer, plan.layer.geometry
    row_in = plan.stored_channels * plan.stored_columns * BYTES[layer.dtype]
    row_out = plan.left_channels * g.out_width * BYTES[layer.stored]
    found = groups(plan, device)
    if len(found) > ways(device):
        starts = [group.first * plan.part_rows for group in found[1:]]
        handed = sum(g.out_height - start for start in starts)
        return g.height * row_in, g.out_height * row_out, handed * row_out
    most_in = max(plan.input_rows(group.first, group.count)[1] for group in found)
    most_out = max(group.count for group in found) * plan.part_rows
    return most_in * row_in, most_out * row_out, 0.0
