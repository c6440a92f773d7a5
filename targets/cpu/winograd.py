"""Decisions behind 3x3 convolutions by Winograd's F(m x m, 3 x 3), exactly, in integers.

In one dimension y = A^T ((G g) * (B^T d)) makes m outputs of m + 2 data and a filter of three.
`FILTERS` has A, B and G in integers, rows of G scaled so that y comes out `scale` times too large.
Transformed 8-bit data and weights fit int16 (`largest`); what follows is exact modulo 2^32. In two
dimensions sums are scale^2 = 2^shift * odd times too large; the odd factor is divided away modulo
2^32. Where 2^shift times every sum fits int32 (`refuses_constants`), that goes into the scale
of requantisation, whose products and roundings are the same then.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from match_aie.cost_models.winograd import WinogradTile
from match_aie.hardware import Constants
from match_aie.targets.cpu.cores import Split
from match_aie.targets.cpu.fetch import Fetch, fetch
from match_aie.targets.cpu.machine import Dot, Machine
from match_aie.targets.cpu.product import Panel, panels
from match_aie.targets.cpu.sums import SumKernel, pack_sums, sum_kernels
from match_aie.workload import ITEMSIZE, Workload

#: Bytes of a cache line: what lies between the data of two points beside themselves, so that not
#: all points go to the same few sets of a cache.
LINE = 64


@dataclass(frozen=True)
class Filter:
    """F(m, 3) in one dimension.

    Attributes:
        data: B^T, [m + 2, m + 2].
        weight: G times what makes it whole, [m + 2, 3].
        sums: A^T times what the rows of G lack to `scale`, [m, m + 2].
        scale: what outputs are too large by.
        shift: the power of two in scale^2.
    """

    data: tuple[tuple[int, ...], ...]
    weight: tuple[tuple[int, ...], ...]
    sums: tuple[tuple[int, ...], ...]
    scale: int
    shift: int


#: By m. Points 0, 1, -1 and infinity; for 4 also 2 and -2.
FILTERS = {
    2: Filter(
        data=((1, 0, -1, 0), (0, 1, 1, 0), (0, -1, 1, 0), (0, 1, 0, -1)),
        weight=((2, 0, 0), (1, 1, 1), (1, -1, 1), (0, 0, 2)),
        sums=((1, 1, 1, 0), (0, 1, -1, -1)),
        scale=2,
        shift=2,
    ),
    4: Filter(
        data=(
            (4, 0, -5, 0, 1, 0),
            (0, -4, -4, 1, 1, 0),
            (0, 4, -4, -1, 1, 0),
            (0, -2, -1, 2, 1, 0),
            (0, 2, -1, -2, 1, 0),
            (0, 4, 0, -5, 0, 1),
        ),
        weight=((6, 0, 0), (-4, -4, -4), (-4, 4, -4), (1, 2, 4), (1, -2, 4), (0, 0, 12)),
        sums=((1, 1, 1, 1, 1, 0), (0, 1, -1, 2, -2, 0), (0, 1, 1, 4, 4, 0), (0, 1, -1, 8, -8, 2)),
        scale=24,
        shift=6,
    ),
}
#: In both dimensions, the point whose sum goes into every output once, so that it takes the bias.
ONES = 1


def largest(matrix: tuple[tuple[int, ...], ...], low: int, high: int) -> int:
    """The largest magnitude that `matrix` makes of values in [low, high], in both dimensions."""
    rows = np.asarray(matrix)
    both = np.einsum("ir,js->ijrs", rows, rows).reshape(len(rows) ** 2, -1)
    above, below = np.clip(both, 0, None).sum(axis=1), np.clip(both, None, 0).sum(axis=1)
    return int(max((above * high + below * low).max(), -(above * low + below * high).min()))


def refuses(machine: Machine, workload: Workload) -> str | None:
    """Why minimal filtering cannot run a convolution, in a sentence; None where it can."""
    sizes, window = workload.sizes, workload.window
    least = 2 * machine.lanes
    if (sizes["FY"], sizes["FX"]) != (3, 3):
        return f"the filter is {sizes['FY']}x{sizes['FX']}, not 3x3"
    assert window is not None
    if window.stride != (1, 1) or window.dilation != (1, 1):
        return f"it takes steps of {window.stride} with dilation {window.dilation}, not of 1"
    if sizes["G"] > 1:
        return f"there are {sizes['G']} groups"
    if workload.operand("weight").dtype != "int8":
        return "the weights are wider than 8 bits"
    if sizes["C"] < least:
        return f"{sizes['C']} input channels do not fill a vector of {least}"
    return None


def refuses_constants(outputs: int, workload: Workload, constants: Constants) -> str | None:
    """Why the sums of this layer are too large, in a sentence; None where all are exact."""
    shift = FILTERS[outputs].shift
    x = workload.operand("x")
    info = np.iinfo(x.dtype)
    weight = constants["weight"].astype(np.int64).reshape(workload.sizes["K"], -1)
    above, below = np.clip(weight, 0, None).sum(axis=1), np.clip(weight, None, 0).sum(axis=1)
    low, high = int(info.min) - x.zero_point, int(info.max) - x.zero_point
    bias = constants["bias"].astype(np.int64)
    most = np.maximum(above * high + below * low + bias, -(above * low + below * high + bias))
    if most.max() << shift > np.iinfo(np.int32).max:
        return f"2^{shift} times a sum of up to {int(most.max())} does not fit 32 bits"
    if "scale" in constants:
        scale = constants["scale"]
        if np.any(np.ldexp(np.ldexp(scale, -shift), shift) != scale):
            return "a scale is so small that its rounding would differ"
    return None


@dataclass(frozen=True)
class WinogradKernel:
    """What the template needs beside the layer.

    Attributes:
        lanes: 32-bit elements of a vector.
        dot: how products are summed.
        group: of them that a lane sums at once.
        tile: the blocking.
        rows: tiles of the image along its lines.
        columns: tiles of a line.
        inputs: channels of x.
        channels: these, rounded up to whole groups.
        panel: of all output channels but the last few.
        panels: how many of them.
        last: of what is left; None where nothing is.
        shift: of sums, whose power of two is in the scale where there is one.
        fetch: how weights of the next point are asked for ahead; None where they are not.
        split: over cores; None for one.
        sums: that are taken along.
    """

    lanes: int
    dot: Dot
    group: int
    tile: WinogradTile
    rows: int
    columns: int
    inputs: int
    channels: int
    panel: Panel
    panels: int
    last: Panel | None
    shift: int
    fetch: Fetch | None = None
    split: Split | None = None
    sums: tuple[SumKernel, ...] = ()

    @property
    def counts(self) -> frozenset[int]:
        """Tiles that blocks have."""
        m, rows = self.tile.outputs, frozenset({self.rows})
        if self.split is not None and self.split.dim == "OY":
            rows = frozenset(-(-size // m) for size in self.split.sizes)
        found = set()
        for tiles in (lines * self.columns for lines in rows):
            whole, left = divmod(tiles, self.tile.block)
            found |= ({self.tile.block} if whole else set()) | ({left} if left else set())
        return frozenset(found)

    @property
    def data_pitch(self) -> int:
        """Elements of transformed data from a point to the next."""
        return -(-2 * self.tile.block * self.channels // LINE) * LINE // 2 + LINE // 2

    @property
    def sums_pitch(self) -> int:
        """Elements of sums from a point to the next."""
        wide = self.lanes * self.panel.vectors
        return -(-4 * self.tile.block * wide // LINE) * LINE // 4 + LINE // 4

    @property
    def data_bytes(self) -> int:
        """Scratch for transformed data."""
        return 2 * self.tile.points * self.data_pitch

    @property
    def sums_bytes(self) -> int:
        """Scratch for sums of products."""
        return 4 * self.tile.points * self.sums_pitch

    @property
    def part_bytes(self) -> int:
        """Scratch of one core: transformed data, sums, what one tile sees over the edge of x."""
        seen = -(-self.tile.points * self.inputs // LINE) * LINE
        return self.data_bytes + self.sums_bytes + seen

    @property
    def scratch_bytes(self) -> int:
        """Scratch, of every core its own."""
        return self.part_bytes * (self.split.parts if self.split else 1)


def plan_winograd(
    machine: Machine,
    workload: Workload,
    dot: Dot,
    group: int,
    tile: WinogradTile,
    split: Split | None = None,
) -> WinogradKernel:
    """The kernel of `workload` in blocks of `tile`.

    Args:
        machine: with its vectors.
        workload: the layer.
        dot: the instruction of products.
        group: products that a lane sums at once.
        tile: pixels and registers of a block.
        split: of the layer over cores.
    """
    sizes, m = workload.sizes, tile.outputs
    whole, panel, last = panels(sizes["K"], tile.registers.vectors, machine.lanes)
    channels = -(-sizes["C"] // group) * group
    across = machine.lanes * (panel.vectors if whole or last is None else last.vectors)
    asked = fetch(
        machine,
        weights=ITEMSIZE["int16"] * tile.points * channels * sizes["K"],
        panel=ITEMSIZE["int16"] * channels * across,
        tiles=-(-tile.block // tile.registers.rows),
        runs=1,
        steps=channels // group,
    )
    return WinogradKernel(
        lanes=machine.lanes,
        dot=dot,
        group=group,
        tile=tile,
        rows=-(-sizes["OY"] // m),
        columns=-(-sizes["OX"] // m),
        inputs=sizes["C"],
        channels=channels,
        panel=panel,
        panels=whole,
        last=last,
        shift=FILTERS[m].shift,
        fetch=asked,
        split=split,
        sums=sum_kernels(machine, workload),
    )


def pack_winograd(kernel: WinogradKernel, workload: Workload, constants: Constants) -> Constants:
    """Weights transformed, int16, by panel, point, step and lane; bias and scale for every lane.

    Weights lie as [panel][point][channel / group][column][group]. The bias is what the sums of the
    point `ONES` begin with: scale^2 times it, less what the zero point of x, which is not
    subtracted from data, adds to every sum; modulo 2^32.
    """
    made = FILTERS[kernel.tile.outputs]
    sizes, lanes = workload.sizes, kernel.lanes
    matrix = np.asarray(made.weight, np.int64)
    weight = constants["weight"].astype(np.int64)
    transformed = np.einsum("ir,js,krsc->ijkc", matrix, matrix, weight)
    points = transformed.reshape(-1, sizes["K"], sizes["C"])
    more = kernel.channels - sizes["C"]
    points = np.pad(points, ((0, 0), (0, 0), (0, more)))
    packed = dict(constants)
    wide = kernel.panel.vectors * lanes
    pieces = []
    for first in range(0, sizes["K"], wide):
        panel = points[:, first : first + wide]
        panel = np.pad(panel, ((0, 0), (0, -panel.shape[1] % lanes), (0, 0)))
        by_step = panel.reshape(*panel.shape[:2], -1, kernel.group)
        pieces.append(by_step.transpose(0, 2, 1, 3).reshape(-1))
    packed["weight"] = np.concatenate(pieces).astype(np.int16)
    zero = workload.operand("x").zero_point * weight.sum(axis=(1, 2, 3))
    start = made.scale**2 * (constants["bias"].astype(np.int64) - zero)
    packed["bias"] = _spread(start.astype(np.uint32).view(np.int32), lanes)
    if "scale" in constants:
        scale = np.ldexp(np.broadcast_to(constants["scale"], (sizes["K"],)), -made.shift)
        packed["scale"] = _spread(scale.astype(np.float32), lanes)
    return pack_sums(kernel.sums, -(-sizes["K"] // lanes) * lanes, 1, packed)


def _spread(values: np.ndarray, lanes: int) -> np.ndarray:
    """Zeros behind, to whole vectors."""
    return np.pad(values, (0, -len(values) % lanes))
