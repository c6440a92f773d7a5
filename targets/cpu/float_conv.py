"""What the templates of float32 convolutions read, and how their weights are packed."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from match_aie.hardware import Constants
from match_aie.targets.cpu.cores import Split, over, part_bytes
from match_aie.targets.cpu.float_cost import FLOAT, SHARE
from match_aie.targets.cpu.float_depthwise import Channels, vectors
from match_aie.targets.cpu.float_kernel import LINE, UNROLL, Ending, Product, literal
from match_aie.targets.cpu.float_tile import (
    Tile,
    choose,
    fits,
    overlapped,
    pack_panels,
    padded,
    panel_rate,
    product_cycles,
)
from match_aie.targets.cpu.machine import Machine
from match_aie.workload import Workload


def channelwise(workload: Workload) -> bool:
    """A depthwise convolution with one filter per channel."""
    return workload.depthwise and workload.sizes["K"] == 1


@dataclass(frozen=True)
class ConvKernel:
    """A convolution as products of the pixels of a line by the channels of a group.

    Attributes:
        product: of a line.
        nest: loops of the window around the contiguous part of the reduction: (size, distance).
        framed: whether the image is copied into a frame of zeros.
        height: rows of the image as it is read.
        width: columns of it.
        copied_rows: of the image, into the frame.
        copied_columns: of the image, into the frame.
        bias_group: elements of the packed bias per group.
        block: channels of a group that all lines are computed of before the next ones.
        lines: of the output that a register tile has at most; 1 where it has a part of one.
        fetch: cache lines of the next channels' weights that a register tile asks for in every
            `UNROLL` steps; 0 where many tiles share the work, or all channels are done at once.
        scratch: elements of one core.
        split: over cores; None for one.
    """

    product: Product
    nest: tuple[tuple[int, int], ...]
    framed: bool
    height: int
    width: int
    copied_rows: int
    copied_columns: int
    bias_group: int
    block: int
    lines: int
    fetch: int
    scratch: int
    split: Split | None = None

    @property
    def skips(self) -> bool:
        """Whether lines at the edges leave out rows of the window that see padding only."""
        return self.framed and bool(self.nest) and self.height > self.copied_rows

    @property
    def tiles(self) -> int:
        """Register tiles of a line, or of several together."""
        return -(-self.product.heights[-1] // self.product.tile.mr)

    def share(self, lines: int) -> int:
        """Elements of the next panel that each of the tiles of so many lines asks for."""
        return (
            self.product.inner * self.product.tile.width // (-(-lines // self.lines) * self.tiles)
        )

    def over(self, dim: str, size: int) -> tuple[str, str]:
        """C expressions of where `dim` begins, and what it stays below."""
        return over(self.split, dim, size)

    @property
    def part_bytes(self) -> int:
        """Scratch of one core where there are more."""
        return part_bytes(self.split, self.scratch)


def ending_of(workload: Workload, length: int) -> Ending:
    """What follows the sums of a convolution whose reduction has `length` steps side by side."""
    names = {o.name for o in workload.operands}
    tail = workload.real
    assert tail is not None
    return Ending(
        bias="columns" if "bias" in names else "",
        residual="residual" in names,
        activation=tail.activation,
        lo=literal(tail.lo),
        hi=literal(tail.hi),
        length=length,
    )


def conv_kernel(workload: Workload, machine: Machine, split: Split | None = None) -> ConvKernel:
    """Tiles, the window's loops, and the frame."""
    d, window = workload.sizes, workload.window
    assert window is not None
    _, rows, columns, channels = workload.operand("x").shape
    (sy, sx), (dy, dx), (top, left, _, _) = window.stride, window.dilation, window.padding
    height = (d["OY"] - 1) * sy + (d["FY"] - 1) * dy + 1
    width = (d["OX"] - 1) * sx + (d["FX"] - 1) * dx + 1
    framed = bool(top or left or height > rows or width > columns)
    if not framed:
        height, width = rows, columns
    elif split is not None and split.dim == "OY":
        height = (split.most - 1) * sy + (d["FY"] - 1) * dy + 1
    inner = d["C"] * d["FY"] * d["FX"]
    line = (d["FY"], dy * width * channels)
    nest: tuple[tuple[int, int], ...]
    if dx == 1 and d["G"] == 1:
        nest, length = (line,), d["FX"] * d["C"]
    else:
        nest, length = (line, (d["FX"], dx * channels)), d["C"]
    if d["FY"] == 1 and len(nest) == 1:
        nest = ()
    tile, lines = _tile(workload, machine)
    product = Product(
        tile,
        tuple(d["OX"] * count for count in range(1, lines + 1)),
        d["K"],
        inner,
        sx * channels,
        d["G"] * d["K"],
        ending_of(workload, length),
        (d["OX"], sy * width * channels) if lines > 1 else None,
    )
    kernel = ConvKernel(
        product,
        nest,
        framed,
        height,
        width,
        max(0, min(rows, height - top)),  # windows that are far apart may see padding only
        max(0, min(columns, width - left)),
        padded(tile, d["K"]),
        at_a_time(machine, product, -(-d["OY"] // lines), height * width * channels),
        lines,
        0,
        height * width * channels if framed else 0,
        split,
    )
    return replace(kernel, fetch=_fetch(kernel, d["OY"]))


#: Tiles that weights are shared by at most where they are fetched ahead: more would ask again.
MOST_SHARED = 24


def _fetch(kernel: ConvKernel, lines: int) -> int:
    """Of the weights of the next channels, while `lines` are computed with those of some."""
    product, shared = kernel.product, -(-lines // kernel.lines) * kernel.tiles
    if kernel.block >= product.columns or not 1 < shared <= MOST_SHARED:
        return 0
    return -(-UNROLL * product.tile.width // (LINE * shared))


#: Rows of a register tile that has several lines at most.
MOST_PIXELS = 14


def _tile(workload: Workload, machine: Machine) -> tuple[Tile, int]:
    """The register tile, and how many lines it has: several where lines are short.

    Weights come for every row of tiles, so tall and narrow ones need fewer of them; what they take
    longer than they multiply counts, at the rate of the cache that holds a panel.
    """
    d = workload.sizes
    columns, inner = d["K"], d["C"] * d["FY"] * d["FX"]

    def busy(rows: int, tile: Tile) -> float:
        sides = (np.asarray(rows), np.asarray(columns), np.asarray(inner))
        rate = panel_rate(machine, FLOAT * inner * tile.width, SHARE)
        panels = FLOAT * inner * padded(tile, columns) * -(-rows // tile.mr)
        cycles = product_cycles(machine, tile, *sides)
        return float(overlapped(cycles, np.asarray(panels / rate)))

    def price(lines: int, tile: Tile) -> float:
        whole, rest = divmod(d["OY"], lines)
        return whole * busy(lines * d["OX"], tile) + (busy(rest * d["OX"], tile) if rest else 0.0)

    found = [(choose(machine, d["OX"], columns, inner), 1)]
    for lines in range(2, min(MOST_PIXELS // d["OX"], d["OY"]) + 1):
        rows = lines * d["OX"]
        if fits(rows, 1, machine.vector_registers):
            found.append((choose(machine, rows, columns, inner, rows), lines))
    return min(found, key=lambda each: price(each[1], each[0]))


def at_a_time(machine: Machine, product: Product, lines: int, image: int) -> int:
    """Channels that all lines are computed of before the next ones; all where that saves nothing.

    Weights of more channels than the second cache keeps come from beyond it once for each line; in
    blocks that it keeps, they come once, and the image once for each block.

    Args:
        machine: the core.
        product: of a line.
        lines: rows of tiles of the output.
        image: elements of it as it is read.
    """
    cache = machine.caches[min(1, len(machine.caches) - 1)]
    # Half of it for the lines of the image, or what is left by all of them.
    room = cache.bytes * SHARE - min(cache.bytes * SHARE / 2, FLOAT * image)
    width = product.tile.width
    fits = int(room // (FLOAT * product.inner * width)) * width
    block = min(max(fits, width), product.columns)
    again = (-(-product.columns // block) - 1) * image
    saved = (lines - 1) * product.inner * product.columns
    return block if again < saved else product.columns


def pack_conv(kernel: ConvKernel, workload: Workload, constants: Constants) -> Constants:
    """Weights of each group in panels, [FY, FX, C] as the reduction; bias padded per group."""
    d = workload.sizes
    tile = kernel.product.tile
    weight = constants["weight"].reshape(d["G"], d["K"], -1)
    packed = {"weight": np.concatenate([pack_panels(group.T, tile) for group in weight])}
    if "bias" in constants:
        pad = kernel.bias_group - d["K"]
        packed["bias"] = np.pad(constants["bias"].reshape(d["G"], d["K"]), ((0, 0), (0, pad)))
    return packed


@dataclass(frozen=True)
class PoolKernel:
    """A pool.

    Attributes:
        lanes: of a vector.
        channels: whole vectors of them, then the rest.
        split: over cores; None for one.
    """

    lanes: int
    channels: tuple[Channels, ...]
    split: Split | None = None

    def over(self, dim: str, size: int) -> tuple[str, str]:
        """C expressions of where `dim` begins, and what it stays below."""
        return over(self.split, dim, size)


def pool_kernel(workload: Workload, machine: Machine, split: Split | None = None) -> PoolKernel:
    """Vectors of channels."""
    return PoolKernel(machine.lanes, vectors(workload.sizes["G"], machine.lanes), split)
