"""How image layers can be cut, what a cut lacks, and what it costs: for `candidates.Candidates`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from match_aie.cost_models.aie_image import BandCost, BandWork, Handed, band_cost
from match_aie.errors import Infeasible, TargetError
from match_aie.hardware import Loop, Mapping
from match_aie.targets.aie_ml.array.assumed import Assumed
from match_aie.targets.aie_ml.devices import Device, Tiling
from match_aie.targets.aie_ml.graph.borders import borders
from match_aie.targets.aie_ml.graph.candidates import Cuts, Priced
from match_aie.targets.aie_ml.graph.cycles import least_cycles, window_cycles
from match_aie.targets.aie_ml.graph.fit import fits_local, image_demand
from match_aie.targets.aie_ml.graph.gather import handing_begins
from match_aie.targets.aie_ml.graph.image import (
    CutLayer,
    ImageCut,
    ImageLayer,
    has_empty_parts,
    sizes_of,
)
from match_aie.targets.aie_ml.graph.kinds import IMAGE_KINDS
from match_aie.targets.aie_ml.graph.layer import Arrays
from match_aie.targets.aie_ml.graph.plan import LayerGraph
from match_aie.targets.aie_ml.graph.proof import columns_of
from match_aie.targets.aie_ml.graph.timed_splits import REQUEST_CYCLES
from match_aie.targets.aie_ml.graph.window import (
    groups,
    ways,
    window_graph,
)
from match_aie.targets.aie_ml.kernels.fit import check_kernel
from match_aie.targets.aie_ml.kernels.spec import BYTES
from match_aie.targets.aie_ml.known import device as known
from match_aie.workload import Workload

#: Parts of the output's channels: as many as one memory tile gathers, its input beside them.
MOST_PARTS = 5

#: Blocks of accumulators that are tried, (rows, columns).
BLOCKS = ((2, 2), (4, 1), (1, 4), (2, 1), (1, 2), (1, 1))

#: Lanes of kernels that multiply none: neighbouring pixels and channels of one vector.
LANES = {1: Tiling(4, 1, 8, native=False), 2: Tiling(4, 1, 4, native=False)}


@dataclass(frozen=True)
class ImageSplit:
    """How a layer is spread over tiles: what `ImageCut` says of that."""

    bands: int
    parts: int
    length: int


@dataclass(frozen=True, eq=False)
class WindowCuts(Cuts[CutLayer]):
    """An image layer as the search sees it.

    Attributes:
        layer: what is cut.
        device: for which.
        assumed: times that no document states.
    """

    layer: ImageLayer
    device: Device
    assumed: Assumed = Assumed()

    def all(self, columns: int) -> Iterator[CutLayer]:
        """See `cuts`."""
        return cuts(self.layer, self.device, columns)

    def shape(self, cut: CutLayer) -> tuple[int, int]:
        """Cores that a cut takes, and how long its cascades are."""
        c = cut.cut
        return c.bands * c.parts * c.length, c.length

    def refuses(self, cut: CutLayer) -> Infeasible | None:
        """What the fullest tile lacks."""
        return fits_local(image_demand(cut, borders(self.layer), self.device), self.device)

    def runs(self, cut: CutLayer) -> bool:
        """Whether cores run the kernel; and no memory tiles hand results on, if none may."""
        if self.device.documented_only and len(groups(cut, self.device)) > ways(self.device):
            return False
        return runs(cut, self.device)

    def bound(self, cut: CutLayer) -> float:
        """See `least_latency`."""
        return least_latency(cut, self.device, self.assumed)

    def tight(self, cut: CutLayer) -> float:
        """With the least cycles of its kernels; a maximum's schedule takes no search."""
        if cut.layer.epilogue is None:
            return self.bound(cut)
        try:
            least = least_cycles(cut, self.device, self.assumed)
            return _price(cut, self.device, self.assumed, *least).latency
        except TargetError:
            return self.bound(cut)

    def price(self, cut: CutLayer) -> Priced[CutLayer] | None:
        """Of a cut; None where registers do not hold its block of accumulators."""
        try:
            return cut, price_image(cut, self.device, self.assumed)
        except TargetError:
            return None

    def graph(
        self, cut: CutLayer, columns: int, name: str, workload: Workload, constants: Arrays
    ) -> LayerGraph | Infeasible:
        """See `window_graph`."""
        layer = IMAGE_KINDS[workload.kind].layer(workload, constants, name)
        return window_graph(CutLayer(layer, cut.cut), self.device, columns)

    def lay_out(self, cut: CutLayer, columns: int) -> int | Infeasible:
        """See `laid_out`."""
        return laid_out(cut, self.device, columns)

    def loops(self, cut: CutLayer, workload: Workload) -> tuple[Loop, ...]:
        """Parts of rows, output and input channels, then lanes of the same."""
        del workload
        c, t = cut.cut, cut.cut.tiling
        outputs = "G" if self.layer.apart else "K"
        loops = [("OY", c.bands), (outputs, c.parts), ("C", c.length)]
        loops += [("OX", t.m), (outputs, t.n), ("C", t.k)]
        return tuple(Loop(dim, size) for dim, size in loops if dim != "C" or not self.layer.apart)

    def times(self, cut: CutLayer, workload: Workload) -> tuple[Loop, ...]:
        """Bands, their blocks of pixels and channels, steps of the reduction, and a block.

        Pixels of a band are its rows one behind the other, each filled up to whole tiles.
        """
        del workload
        c, t, walk = cut.cut, cut.cut.tiling, cut.walk
        outputs = "G" if self.layer.apart else "K"
        depth = () if self.layer.apart else (Loop("C", cut.slice_channels // t.k, t.k),)
        rows, columns = self.layer.geometry.filter
        return (
            Loop("OY", c.firings, cut.band_rows),
            Loop("OX", walk.m // (t.m * c.rows), t.m * c.rows),
            Loop(outputs, walk.n // (t.n * c.columns), t.n * c.columns),
            *(Loop("FY", rows), Loop("FX", columns), *depth),
            *(Loop("OX", c.rows, t.m), Loop(outputs, c.columns, t.n)),
        )

    def read(self, nest: Mapping, workload: Workload) -> Priced[CutLayer] | Infeasible | None:
        """Every size of a cut is a loop's."""
        over = [loop.size for loop in nest.spatial]
        chain = () if self.layer.apart else (over.pop(2),)
        sizes = tuple(over[2:4]) + ((1,) if self.layer.apart else tuple(over[4:]))
        for tiling in _tilings(self.layer, self.device):
            if (tiling.m, tiling.n, tiling.k) == sizes and len(nest.temporal) > len(sizes):
                firings, *_, rows, columns = (loop.size for loop in nest.temporal)
                made = ImageCut(tiling, rows, columns, over[0], firings, over[1], *chain)
                cut = CutLayer(self.layer, made)
                if self.nest(cut, workload) == nest:
                    return self.refuses(cut) or self.price(cut)
        raise TargetError(f"{nest} is no nest of a {workload.kind}")

    def ways(self, cut: CutLayer) -> tuple[int, int]:
        """One each way for each group; a single one where there are too few."""
        count = len(groups(cut, self.device))
        return (1, 1) if count > ways(self.device) else (count, count)


def laid_out(plan: CutLayer, device: Device, columns: int) -> int | Infeasible:
    """Columns that a cut layer takes; or what it lacks there, switches and locks included."""
    return columns_of(window_graph(plan, device, columns), known(device.name))


def cuts(layer: ImageLayer, device: Device, columns: int) -> Iterator[CutLayer]:
    """All cuts that differ in their sizes."""
    splits = tuple(_splits(layer, device, columns))
    seen: set[tuple[object, ...]] = set()
    for tiling, rows, wide in _blocks(layer, device):
        for each in splits:
            for cut in _over_time(layer, tiling, rows, wide, each):
                sizes = sizes_of(layer, cut)
                key = (tiling, rows, wide, *sizes)
                if key in seen or has_empty_parts(layer, cut, sizes):
                    continue
                try:
                    plan = CutLayer(layer, cut)
                except TargetError:
                    continue
                seen.add(key)
                yield plan


def _splits(layer: ImageLayer, device: Device, columns: int) -> Iterator[ImageSplit]:
    """Over at most so many columns, in which every tile may have something to do."""
    most = columns * device.core_rows
    for parts in range(1, min(MOST_PARTS, device.core_rows) + 1):
        for length in range(1, 2 if layer.apart else columns + 1):
            for bands in range(1, min(most // (parts * length), layer.geometry.out_height) + 1):
                yield ImageSplit(bands, parts, length)


def _tilings(layer: ImageLayer, device: Device) -> tuple[Tiling, ...]:
    """Shapes of products, or lanes where channels stay apart."""
    if layer.apart:
        return (LANES[BYTES[layer.dtype]],)
    found = device.architecture.core.tilings_of(layer.dtype, layer.multiplied)
    return tuple(t for t in found if t.native)


def _blocks(layer: ImageLayer, device: Device) -> Iterator[tuple[Tiling, int, int]]:
    for tiling in _tilings(layer, device):
        # Tall blocks load more than square ones, and are for layers without a second column.
        narrow = layer.apart or layer.geometry.outputs <= tiling.n
        for rows, wide in BLOCKS:
            if rows < 4 or narrow:
                yield tiling, rows, wide


def _over_time(
    layer: ImageLayer, tiling: Tiling, rows: int, wide: int, split: ImageSplit
) -> Iterator[ImageCut]:
    """Cuts that differ in the rows of a band."""
    whole, bands = layer.geometry.out_height, split.bands
    high = -(-whole // bands)
    sizes = {-(-whole // (bands * firings)) for firings in range(1, high + 1)}
    for size in sorted(sizes):
        yield ImageCut(tiling, rows, wide, bands, -(-high // size), split.parts, split.length)


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


def least_latency(plan: CutLayer, device: Device, assumed: Assumed) -> float:
    """A latency that no schedule of the kernel beats: products at the core's full rate.

    Lane by lane, 32 products of 8 bits fill a vector instruction of 1024 bits of sums.
    """
    walk, arch = plan.walk, device.architecture
    if plan.layer.apart:
        rate = 1024 / (64 if BYTES[plan.layer.dtype] > 1 else 32)
    else:
        types = plan.layer.dtype, plan.layer.multiplied
        rate = arch.core.macs_of(*types) or plan.cut.tiling.macs
    # A maximum takes no product, and its loads are two words a tile and tap.
    products = 0.0 if plan.layer.epilogue is None else walk.m * walk.k * walk.n / rate
    return _price(plan, device, assumed, products, 0.0).latency


def _price(plan: CutLayer, device: Device, assumed: Assumed, body: float, skew: float) -> BandCost:
    arch, layer = device.architecture, plan.layer
    lock = assumed.acquire + assumed.release
    walks = layer.epilogue is not None
    started = assumed.start + 2 * assumed.start_port
    entering, leaving, handed = _ways(plan, device)
    stall = image_demand(plan, borders(layer), device).stall(device)
    return band_cost(
        BandWork(
            bands=plan.cut.firings,
            body=body + stall,
            around=2 * lock if walks else assumed.call(2),
            # The band that starts the kernel calls no function besides.
            start=started - device.call_cycles if walks else 0,
            input_bytes=plan.x_elements * BYTES[layer.dtype],
            output_bytes=plan.y_elements * BYTES[layer.stored],
            entering=entering,
            leaving=leaving,
            handed=handed,
            skew=skew,
            rate=arch.core.dma.bytes_per_cycle,
            way_rate=arch.shim_dma.bytes_per_cycle,
            descriptor=assumed.descriptor,
            hops=arch.hop_cycles * (device.mem_rows + _high(plan, device)),
            request=REQUEST_CYCLES,
            restart=0 if walks else started,
            handing=handing_begins(plan.cut.length, device),
        )
    )


def _high(plan: CutLayer, device: Device) -> int:
    """Rows of a column that have tiles of the layer; chains lie beside each other."""
    return min(device.core_rows, plan.cut.bands * plan.cut.parts)


def _ways(plan: CutLayer, device: Device) -> tuple[float, float, tuple[Handed, ...]]:
    """Bytes on the busiest way in and way out, and what goes from buffer to buffer."""
    layer, g = plan.layer, plan.layer.geometry
    row_in = plan.stored_channels * plan.stored_columns * BYTES[layer.dtype]
    row_out = plan.left_channels * g.out_width * BYTES[layer.stored]
    found = groups(plan, device)
    if len(found) > ways(device):
        handed = (
            # Only the last part of the rows may have fewer bands than the first.
            Handed(plan.firings_of(group.first), (g.out_height - first) * row_out)
            for group in reversed(found[1:])
            for first in (group.first * plan.part_rows,)
        )
        return g.height * row_in, g.out_height * row_out, tuple(handed)
    most_in = max(plan.input_rows(group.first, group.count)[1] for group in found)
    most_out = max(group.count for group in found) * plan.part_rows
    return most_in * row_in, most_out * row_out, ()
