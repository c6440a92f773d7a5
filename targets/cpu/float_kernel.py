"""What the templates of float32 products read: who is rows, who columns, and in which blocks."""

from __future__ import annotations

from collections.abc import Mapping as MappingOf
from dataclasses import dataclass, replace
from typing import Literal

from match_aie.hardware import Mapping
from match_aie.targets.cpu.cores import BEGIN, END, Split, part_bytes
from match_aie.targets.cpu.float_tile import (
    Panel,
    Tile,
    choose,
    halving,
    padded,
    panels,
    row_tiles,
)
from match_aie.targets.cpu.machine import Machine
from match_aie.workload import ITEMSIZE, Activation, Operand, Workload

#: How a factor comes to the register tile: as it lies, packed at compile time, or packed by a
#: function of ma_cpu_float.h at run time.
How = Literal["direct", "constant", "pack_rows", "pack_columns"]


@dataclass(frozen=True)
class Source:
    """A factor of the product.

    Attributes:
        how: it is read.
        base: C expression of its address.
        row: elements between rows of what is read or packed.
        step: elements between the beginnings of neighbouring columns, for packing panels.
    """

    how: How
    base: str
    row: int = 0
    step: int = 1


@dataclass(frozen=True)
class Ending:
    """What a register tile does with its sums, see `Workload.real`.

    Attributes:
        bias: whether it runs along "columns" or "rows"; "" for none.
        residual: whether there is one.
        activation: applied last.
        factor: a C literal; "" for 1.
        lo: a C literal, of a clip.
        hi: a C literal.
        split: whether a block may do a part of the reduction.
        length: of the reduction where it is the same for all calls, else 0.
        row_scale: whether each row has a factor of its own.
        residual_row: elements between rows of the residual; None for those of the result.
    """

    bias: Literal["", "columns", "rows"] = ""
    residual: bool = False
    activation: Activation = "identity"
    factor: str = ""
    lo: str = ""
    hi: str = ""
    split: bool = False
    length: int = 0
    row_scale: bool = False
    residual_row: int | None = None


@dataclass(frozen=True)
class BlockLoop:
    """A loop over blocks of `step` rows ("m"), columns ("n") or reduction steps ("r")."""

    axis: Literal["m", "n", "r"]
    step: int


@dataclass(frozen=True)
class BatchLoop:
    """A loop over independent products."""

    variable: str
    size: int


@dataclass(frozen=True)
class Product:
    """A product inside a larger layer.

    Attributes:
        tile: the register tile.
        heights: numbers of rows that it is called for.
        columns: n.
        inner: r.
        a_row: elements between the rows of the first factor.
        ldy: elements between the rows of the result.
        ending: what happens to the sums.
        line: (rows of a line, elements between lines) of the first factor where a register tile
            reaches over several.
        any_rows: whether it is called for any number of rows.
    """

    tile: Tile
    heights: tuple[int, ...]
    columns: int
    inner: int
    a_row: int
    ldy: int
    ending: Ending
    line: tuple[int, int] | None = None
    any_rows: bool = False

    @property
    def panels(self) -> tuple[Panel, ...]:
        """Widths of the panels."""
        return panels(self.tile, self.columns)

    @property
    def row_tiles(self) -> tuple[int, ...]:
        """Heights of the register tiles, the whole one first."""
        if self.any_rows:
            return halving(self.tile)
        found = {mr for rows in self.heights for mr in row_tiles(self.tile, rows)}
        return tuple(sorted(found, reverse=True))

    @property
    def packed(self) -> int:
        """Elements of the packed second factor."""
        return self.inner * padded(self.tile, self.columns)


@dataclass(frozen=True)
class GemmKernel:
    """A product as `cpu/float/gemm.c.mako` writes it.

    Attributes:
        tile: the register tile.
        rows: m.
        columns: n.
        inner: r.
        a: what gives the rows.
        b: what gives the columns.
        y_base: C expression of the output's address.
        ldy: elements between rows of the output.
        ending: what happens to the sums.
        batches: around everything.
        loops: over blocks, outermost first.
        b_offset: elements of the scratch before the packed panels.
        scratch: elements of the scratch; of one core where products are divided, not one product.
        split: over cores; None for one.
        axis: what is divided: "m", "n", or the variable of a batch.
        fetch: cache lines of the next panel that a register tile asks for in every `UNROLL` steps;
            0 where panels are not constant, or each is used once.
        any_rows: whether a run gives their number; `rows` is the largest.
    """

    tile: Tile
    rows: int
    columns: int
    inner: int
    a: Source
    b: Source
    y_base: str
    ldy: int
    ending: Ending
    batches: tuple[BatchLoop, ...]
    loops: tuple[BlockLoop, ...]
    b_offset: int
    scratch: int
    split: Split | None = None
    axis: str = ""
    fetch: int = 0
    any_rows: bool = False

    def over(self, axis: str, size: int) -> tuple[str, str]:
        """C expressions of where `axis` begins, and what it stays below."""
        if axis == "m" and self.any_rows:
            return ("0", "n_B")
        return (BEGIN, END) if axis == self.axis else ("0", str(size))

    @property
    def part_bytes(self) -> int:
        """Scratch of one core; 0 where all have one scratch, of which each fills its own part."""
        own = self.split is not None and self.axis not in ("m", "n")
        return part_bytes(self.split, self.scratch) if own else 0

    @property
    def scratch_bytes(self) -> int:
        """Scratch of all cores."""
        if self.split is None or not self.part_bytes:
            return 4 * self.scratch
        return self.part_bytes * self.split.parts

    @property
    def panels(self) -> tuple[Panel, ...]:
        """Widths of the panels."""
        return panels(self.tile, self.columns)

    @property
    def row_tiles(self) -> tuple[int, ...]:
        """Heights of the register tiles."""
        return halving(self.tile) if self.any_rows else row_tiles(self.tile, self.rows)


def literal(value: float) -> str:
    """A float32 as a C literal.

    >>> literal(0.125)
    '0x1.0000000000000p-3f'
    """
    if value in (float("inf"), float("-inf")):
        return "-__builtin_inff()" if value < 0 else "__builtin_inff()"
    return f"{float(value).hex()}f"


def strides(operand: Operand) -> dict[str, int]:
    """Elements between neighbours along each loop dimension of a dense, row-major operand."""
    found, step = {}, 1
    for axis, extent in zip(reversed(operand.axes), reversed(operand.shape), strict=True):
        for dim, coefficient in axis.terms:
            found[dim] = step * coefficient
        step *= extent
    return found


def swapped(workload: Workload) -> bool:
    """Whether the output lies with its rows innermost: the weights then give the rows."""
    return workload.kind == "dense" and strides(workload.output)["B"] == 1 < workload.sizes["B"]


def extents(workload: Workload) -> tuple[int, int, int]:
    """(rows, columns, reduction) of a dense layer or a matmul."""
    sizes = workload.sizes
    if workload.kind == "matmul":
        return sizes["OY"], sizes["K"], sizes["C"]
    if swapped(workload):
        return sizes["K"], sizes["B"], sizes["C"]
    return sizes["B"], sizes["K"], sizes["C"]


def axes(workload: Workload) -> MappingOf[str, Literal["m", "n", "r"]]:
    """Which loop dimension is which side of the product."""
    if workload.kind == "matmul":
        return {"OY": "m", "K": "n", "C": "r"}
    if swapped(workload):
        return {"K": "m", "B": "n", "C": "r"}
    return {"B": "m", "K": "n", "C": "r"}


def tile_of(workload: Workload, machine: Machine) -> Tile:
    """The register tile of a dense layer or a matmul."""
    x = strides(workload.operand("x"))
    across = "OY" if workload.kind == "matmul" else "B"
    lying = not swapped(workload) and x["C"] == 1
    return choose(machine, *extents(workload), stride=ITEMSIZE["float32"] * x[across] * lying)


def ending(workload: Workload, split: bool, bias: Literal["columns", "rows"]) -> Ending:
    """What a layer does with its sums."""
    names = {o.name for o in workload.operands}
    tail = workload.real
    assert tail is not None
    return Ending(
        bias=bias if "bias" in names else "",
        residual="residual" in names,
        activation=tail.activation,
        factor="" if tail.factor == 1.0 else literal(tail.factor),
        lo=literal(tail.lo),
        hi=literal(tail.hi),
        split=split,
        length=0 if split else workload.sizes["C"],
    )


def block_loops(workload: Workload, mapping: Mapping, tile: Tile) -> tuple[BlockLoop, ...]:
    """The mapping's loops outside the kernel, in steps of whole register tiles.

    Loops over independent products are not among them: they stand around everything. Where one
    row of tiles is all there is, each panel is used once and in order: there is nothing to block.
    """
    named = axes(workload)
    grain = {"m": tile.mr, "n": tile.width, "r": 1}
    whole = dict(zip("mnr", extents(workload), strict=True))
    loops: list[BlockLoop] = []
    if whole["m"] <= tile.mr:
        return ()
    for loop in mapping.temporal[: mapping.kernel]:
        axis = named.get(loop.dim)
        if axis is None:
            continue
        step = -(-loop.step // grain[axis]) * grain[axis]
        inside = min([whole[axis], *(o.step for o in loops if o.axis == axis)])
        if step < inside:
            loops.append(BlockLoop(axis, step))
    return tuple(loops)


def divided(kernel: GemmKernel, workload: Workload, split: Split | None) -> GemmKernel:
    """`kernel` over the cores of `split`."""
    if split is None:
        return kernel
    return replace(kernel, split=split, axis=axes(workload).get(split.dim, split.dim.lower()))


def dense_kernel(workload: Workload, mapping: Mapping, machine: Machine) -> GemmKernel:
    """The product of a dense layer."""
    tile = tile_of(workload, machine)
    rows, columns, inner = extents(workload)
    turned = swapped(workload)
    x = strides(workload.operand("x"))
    contiguous = x["C"] == 1
    loops = block_loops(workload, mapping, tile)
    split = any(loop.axis == "r" for loop in loops)
    weight = Source("constant", "weight", 1)
    if turned:
        b = (
            Source("pack_columns", "x", x["B"], x["B"])
            if contiguous
            else Source("pack_rows", "x", x["C"], 1)
        )
        return _kernel(
            (tile, rows, columns, inner), weight, b, ending(workload, split, "rows"), loops
        )
    a = Source("direct", "x", x["B"]) if contiguous else Source("pack_rows", "x", x["C"])
    made = _kernel(
        (tile, rows, columns, inner), a, weight, ending(workload, split, "columns"), loops
    )
    return replace(made, any_rows=bool(workload.run_time))


def _kernel(
    product: tuple[Tile, int, int, int],
    a: Source,
    b: Source,
    end: Ending,
    loops: tuple[BlockLoop, ...],
    batches: tuple[BatchLoop, ...] = (),
    y: tuple[str, int] | None = None,
) -> GemmKernel:
    tile, rows, columns, inner = product
    before = rows * inner if a.how == "pack_rows" else 0
    scratch = before + (inner * padded(tile, columns) if b.how != "constant" else 0)
    y_base, ldy = y or ("y", columns)
    fetch = _fetch(tile, rows, loops) if b.how == "constant" else 0
    what = (a, b, y_base, ldy, end, batches, loops, before, scratch)
    return GemmKernel(tile, rows, columns, inner, *what, fetch=fetch)


#: Steps of the reduction that a register tile writes out, and elements of a cache line.
UNROLL, LINE = 4, 16


def _fetch(tile: Tile, rows: int, loops: tuple[BlockLoop, ...]) -> int:
    """Lines per `UNROLL` steps, so that the tiles of a panel ask for the next one together."""
    tall = min([rows, *(loop.step for loop in loops if loop.axis == "m")])
    tiles = tall // tile.mr
    return -(-UNROLL * tile.width // (LINE * tiles)) if tiles > 1 else 0


def matmul_kernel(workload: Workload, mapping: Mapping, machine: Machine) -> GemmKernel:
    """The products of two activations."""
    tile = tile_of(workload, machine)
    x, x1, y = (strides(workload.operand(name)) for name in ("x", "x1", "y"))
    batches = tuple(
        BatchLoop(dim.lower(), size) for dim, size in workload.dims if dim in ("B", "G")
    )

    def base(name: str, steps: MappingOf[str, int]) -> str:
        terms = [f"{b.variable} * {steps[b.variable.upper()]}" for b in batches]
        return " + ".join([name, *terms])

    a = (
        Source("direct", base("x", x), x["OY"])
        if x["C"] == 1
        else Source("pack_rows", base("x", x), x["C"])
    )
    b = (
        Source("pack_rows", base("x1", x1), x1["C"], 1)
        if x1["K"] == 1
        else Source("pack_columns", base("x1", x1), x1["K"], x1["K"])
    )
    loops = block_loops(workload, mapping, tile)
    split = any(loop.axis == "r" for loop in loops)
    return _kernel(
        (tile, *extents(workload)),
        a,
        b,
        ending(workload, split, "columns"),
        loops,
        batches,
        (base("y", y), y["OY"]),
    )
