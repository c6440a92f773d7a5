"""Decisions behind the kernels that sum products: conv2d, dense, matmul in 8 bits.

All of them are one matrix product: pixels by channels, over what the filter sees of the image. Data
are first brought into the form that the processor multiplies (`Form`), with padding in place; then
every `rows` by `vectors` register tile is summed without leaving the registers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from match_aie.cost_models.products import RegisterTile
from match_aie.hardware import Mapping
from match_aie.targets.cpu.blocks import Blocks, Range, blocks
from match_aie.targets.cpu.columns import SLACK, Columns, columns_of
from match_aie.targets.cpu.cores import Split
from match_aie.targets.cpu.fetch import Fetch, fetch
from match_aie.targets.cpu.form import Form, Shape, form, shape, stored_zero
from match_aie.targets.cpu.machine import Machine
from match_aie.targets.cpu.seen import Piece, Seen, pieces, seen
from match_aie.targets.cpu.sums import SumKernel, sum_kernels
from match_aie.workload import ITEMSIZE, Operand, Workload


@dataclass(frozen=True)
class Panel:
    """Output channels that are computed together.

    Attributes:
        vectors: of sums, side by side.
        columns: channels that exist; less than the vectors have lanes in a last panel only.
    """

    vectors: int
    columns: int


@dataclass(frozen=True)
class Image:
    """Prepared data of one tile of x.

    Attributes:
        direct: x itself is read, nothing is prepared.
        columns: pixels of a prepared row.
        rows: prepared rows.
        pixel: elements from an output pixel to the next.
        line: elements from a row of output to the next.
        tap: elements from a filter row to the next.
        run: elements from a run of a filter row to the next.
        group: elements from a group to the next.
        image: elements from an image to the next.
        column_step: from a prepared column to the next, in columns of x.
        row_step: from a prepared row to the next, in rows of x.
        elements: in all, without `SLACK`.
    """

    direct: bool
    columns: int
    rows: int
    pixel: int
    line: int
    tap: int
    run: int
    group: int
    image: int
    column_step: int
    row_step: int
    elements: int


@dataclass(frozen=True)
class ProductKernel:
    """What the template of products needs beside the layer.

    Attributes:
        lanes: 32-bit elements of a vector.
        form: how data are multiplied.
        shape: which product it is.
        blocks: loops over tiles.
        prepare: number of loops inside which x is prepared.
        pack: number of loops inside which a run-time x1 is packed.
        image: prepared data.
        rows: pixels of a register tile; where a block has fewer, one at a time.
        panel: of all channels of a group but the last few.
        panels: how many of them.
        last: of what is left; None where nothing is.
        flat: whether the rows of a block follow each other without a gap.
        packed: x1 that is packed at run time; None where weights are constant.
        fetch: how weights are asked for ahead; None where they are not.
        split: over cores; None for one.
        sums: that are taken along.
        seen: of the filter, where lines leave rows out that see padding alone; None where none do.
        pieces: of a run, where pixels leave columns out; () where none do.
    """

    lanes: int
    form: Form
    shape: Shape
    blocks: Blocks
    prepare: int
    pack: int
    image: Image
    rows: int
    panel: Panel
    panels: int
    last: Panel | None
    flat: bool
    packed: Columns | None
    fetch: Fetch | None = None
    split: Split | None = None
    sums: tuple[SumKernel, ...] = ()
    seen: Seen | None = None
    pieces: tuple[Piece, ...] = ()

    def range(self, index: int, dim: str) -> Range:
        """The range of `dim` inside `index` loops over tiles; one element where there is none."""
        return self.blocks.inside(index, dim) if dim else Range("0", "1", 1, 1)

    @property
    def steps(self) -> int:
        """Elements of weights for one channel, padding included."""
        return self.shape.taps[0] * self.shape.runs * self.shape.padded_run(self.form.group)

    @property
    def group_columns(self) -> int:
        """Channels of a group, rounded up to whole vectors."""
        last = self.last.vectors if self.last else 0
        return self.lanes * (self.panels * self.panel.vectors + last)

    @property
    def image_bytes(self) -> int:
        """Scratch for prepared data."""
        if self.image.direct:
            return 0
        nbytes = self.image.elements * ITEMSIZE[self.form.element] + SLACK
        return -(-nbytes // SLACK) * SLACK

    @property
    def scratch_bytes(self) -> int:
        """Scratch for prepared data and for packed x1, of every core its own."""
        return self.part_bytes * (self.split.parts if self.split else 1)

    @property
    def part_bytes(self) -> int:
        """Scratch of one core."""
        nbytes = self.image_bytes + (self.packed.nbytes if self.packed else 0)
        return -(-nbytes // SLACK) * SLACK if self.split else nbytes


def panels(outputs: int, vectors: int, lanes: int) -> tuple[int, Panel, Panel | None]:
    """(number of whole panels, whole panel, panel of what is left).

    >>> panels(20, 2, 8)
    (1, Panel(vectors=2, columns=16), Panel(vectors=1, columns=4))
    """
    whole, left = divmod(outputs, vectors * lanes)
    last = Panel(-(-left // lanes), left) if left else None
    return whole, Panel(vectors, vectors * lanes), last


def plan(
    machine: Machine,
    workload: Workload,
    mapping: Mapping,
    tile: RegisterTile,
    split: Split | None = None,
) -> ProductKernel:
    """The kernel of `workload` with register tiles of `tile`, in the loops of `mapping`.

    Args:
        machine: with its vectors.
        workload: the layer.
        mapping: of it.
        tile: sums that registers hold.
        split: of the layer over cores.
    """
    made, product = form(machine, workload), shape(workload)
    around = blocks(workload, mapping, split=split)
    prepare = _cut(workload, mapping, "x")
    image = _image(workload, product, made, around, prepare)
    whole, panel, last = panels(product.outputs, tile.vectors, machine.lanes)
    row = around.inside(mapping.kernel, product.pixel)
    flat = (
        product.taps == (1, 1)
        and bool(product.line)
        and row.fixed == product.pixels
        and image.line == image.pixel * product.pixels
    )
    columns = machine.lanes * (whole * tile.vectors + (last.vectors if last else 0))
    packed = None
    if workload.kind == "matmul":
        images = around.inside(_cut(workload, mapping, "x1"), "B").most
        x_zero = stored_zero(machine, workload)
        rows = math.prod(around.inside(prepare, dim).most for dim in ("B", product.pixel))
        steps = product.padded_run(made.group)
        packed = columns_of(workload, made.element, x_zero, columns, steps, images, rows)
    kernel = ProductKernel(
        lanes=machine.lanes,
        form=made,
        shape=product,
        blocks=around,
        prepare=prepare,
        pack=_cut(workload, mapping, "x1"),
        image=image,
        rows=tile.rows,
        panel=panel,
        panels=whole,
        last=last,
        flat=flat,
        packed=packed,
        split=split,
        sums=sum_kernels(machine, workload),
    )
    found = seen(machine, workload, made, product)
    if found is not None:
        whole_line = row.fixed == product.pixels == tile.rows
        parts = pieces(found, product) if found.skips_columns and whole_line else ()
        kernel = replace(kernel, seen=found if found.skips_lines else None, pieces=parts)
    return replace(kernel, fetch=_fetch(machine, workload, kernel))


def _fetch(machine: Machine, workload: Workload, kernel: ProductKernel) -> Fetch | None:
    """How the tiles of a panel ask for the next one; None where weights come at run time."""
    product, inside, weights = kernel.shape, len(kernel.blocks.loops), workload.operands[1]
    if kernel.packed or not kernel.panels:
        return None
    pixels = kernel.range(inside, product.pixel).least
    lines = kernel.range(inside, product.line).least
    columns = product.taps[1] if kernel.pieces else 1  # runs of which each asks
    tiles = -(-pixels * lines // kernel.rows) if kernel.flat else lines * -(-pixels // kernel.rows)
    return fetch(
        machine,
        weights=weights.nbytes,
        panel=kernel.steps * kernel.panel.columns * ITEMSIZE[weights.dtype],
        tiles=tiles,
        runs=product.taps[0] * product.runs * columns,
        steps=product.padded_run(kernel.form.group) // kernel.form.group // columns,
        least=kernel.seen.least_lines / product.taps[0] if kernel.seen else 1.0,
    )


def _cut(workload: Workload, mapping: Mapping, name: str) -> int:
    """Number of loops inside which a tile of `name` is made for the innermost memory."""
    cuts = [cut.index for cut in mapping.cuts if cut.operand == name]
    del workload
    return max(cuts, default=0)


def _image(workload: Workload, product: Shape, made: Form, around: Blocks, prepare: int) -> Image:
    x = workload.operand("x")
    if _readable(workload, product, made, x):
        return _direct(workload, product, x)
    (fy, fx), channels = product.taps, product.inputs
    window = workload.window
    (sy, sx), (dy, dx) = (window.stride, window.dilation) if window else ((1, 1), (1, 1))
    # Where the filter is one position wide, only what it sees is prepared.
    column_step, row_step = (sx if fx == 1 else 1), (sy if fy == 1 else 1)
    most = {dim: around.inside(prepare, dim).most for dim in ("B", "G", product.pixel)}
    lines = around.inside(prepare, product.line).most if product.line else 1
    columns = (most[product.pixel] - 1) * (sx // column_step) + (fx - 1) * dx + 1
    rows = (lines - 1) * (sy // row_step) + (fy - 1) * dy + 1
    group = rows * columns * channels
    images = most["B"] if product.outer else 1
    return Image(
        direct=False,
        columns=columns,
        rows=rows,
        pixel=(sx // column_step) * channels,
        line=(sy // row_step) * columns * channels,
        tap=dy * columns * channels,
        run=dx * channels,
        group=group,
        image=most["G"] * group,
        column_step=column_step,
        row_step=row_step,
        elements=images * most["G"] * group,
    )


def _readable(workload: Workload, product: Shape, made: Form, x: Operand) -> bool:
    """Whether x is in the form already: no padding, no other type, no run that reads too far."""
    window = workload.window
    return (
        made.element == x.dtype
        and not made.subtract
        and product.groups == 1
        and product.run % made.group == 0
        and (window is None or not any(window.padding))
    )


def _direct(workload: Workload, product: Shape, x: Operand) -> Image:
    window = workload.window
    (sy, sx), (dy, dx) = (window.stride, window.dilation) if window else ((1, 1), (1, 1))
    channels = product.inputs
    columns = x.shape[2] if product.line else product.pixels
    rows = x.shape[1] if product.line else 1
    return Image(
        direct=True,
        columns=columns,
        rows=rows,
        pixel=sx * channels,
        line=sy * columns * channels,
        tap=dy * columns * channels,
        run=dx * channels,
        group=0,
        image=rows * columns * channels,
        column_step=1,
        row_step=1,
        elements=0,
    )
