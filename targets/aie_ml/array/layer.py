"""A layer as the array sees it, and how it is spread over the array: plain, validated data."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import ceil
from typing import Literal, get_args

from match_aie.errors import TargetError
from match_aie.targets.aie_ml.array.turn import Types, turn_kernel
from match_aie.targets.aie_ml.devices import Tiling
from match_aie.targets.aie_ml.schedule import Kernel, Position, Requantise, Variant
from match_aie.targets.aie_ml.schedule.kernel import BY_COLUMN, ELEMENT_BYTES

#: Which chains sit side by side: those of one part of M ("m"), or of N ("n").
Order = Literal["m", "n"]

#: What stays in a tile while the other goes by, where the weights are not resident.
Outer = Literal["n", "m"]

#: Where the weights are kept between uses: in the tile, or in the chip's memory.
Home = Literal["tile", "chip"]

#: How sums wait between the turns of a call: with all 32 bits, or rounded to the results' type.
PartialSums = Literal["exact", "result"]

ORDERS, OUTERS, HOMES = get_args(Order), get_args(Outer), get_args(Home)


@dataclass(frozen=True)
class DenseLayer:
    """`rows` x `reduction` by `reduction` x `columns`, with its tail.

    Attributes:
        rows: of the activations (batch).
        reduction: inputs.
        columns: outputs.
        a: element type of the activations.
        w: of the weights.
        out: of the result.
        bias: whether there is one.
        relu: whether negative results become 0.
        requantise: how sums become `out`.
        resident: whether repeated runs find the weights where they left them; where not, graphs
            have them come by stream.
        shared: whether its program serves other layers of its sizes and shift: then its numbers by
            column come with the weights, too.
        partial_sums: how sums wait between the turns of a call. Those of "result" are requantised
            in every turn (`kernels.rounded`): another arithmetic, which hangs on the mapping.
    """

    rows: int
    reduction: int
    columns: int
    a: str = "int8"
    w: str = "int8"
    out: str = "int8"
    bias: bool = True
    relu: bool = True
    requantise: Requantise = "shift"
    resident: bool = True
    shared: bool = False
    partial_sums: PartialSums = "exact"

    def __post_init__(self) -> None:
        """Refuse what is no layer."""
        if min(self.rows, self.reduction, self.columns) < 1:
            raise TargetError(f"layer {self.rows}x{self.reduction}x{self.columns} is empty")
        unknown = {self.a, self.w, self.out} - set(ELEMENT_BYTES)
        if unknown:
            raise TargetError(f"element types {sorted(unknown)} are not known")
        if self.partial_sums not in get_args(PartialSums):
            raise TargetError(f"{self.partial_sums!r} is none of {get_args(PartialSums)}")
        if self.rounds and (self.requantise not in ("shift", "none") or self.shared):
            raise TargetError(
                f"partial sums in {self.out}, requantised by {self.requantise!r}",
                hint="sums that wait are shifted back up: only a shift is undone so; or "
                'partial_sums="exact"',
            )

    @property
    def rounds(self) -> bool:
        """Whether sums that wait have lost bits."""
        return self.partial_sums == "result"

    @property
    def macs(self) -> int:
        """Multiply-accumulates, no padding."""
        return self.rows * self.reduction * self.columns


@dataclass(frozen=True)
class ArrayMapping:
    """How a layer runs on an array.

    A chain of `cas_length` tiles, west to east, shares one part of the rows and one of the
    columns; each tile has its part of the reduction, and sums go along the cascade. There are
    `row_parts * column_parts` chains. In a tile, calls of `call_rows` x part of the reduction x
    `call_columns` follow each other; each of them takes `reduction_steps` turns, one a piece of
    the part, between which sums wait in the tile's memory, once (`DenseLayer.partial_sums`).

    Attributes:
        layer: what runs.
        tiling: `mmul` shape.
        block: accumulator tiles (rows, columns) that a kernel works on at once.
        variant: how epilogues meet the next block.
        cas_length: tiles of a chain: parts of the reduction.
        column_parts: of the output columns (CAS_NUM, where all chains stand above each other).
        row_parts: of the rows.
        call_rows: rows of one kernel call, a multiple of the tiling.
        call_columns: columns of one call.
        order: which chains are neighbours.
        outer: outer loop over calls.
        home: of the weights.
        reduction_steps: turns of a call.
        last_block: as `block`, of the turn that requantises, where registers or program memory
            hold no larger one; None where they do.
        first_block: as `block`, of a first turn that no cascade's sums come to, where another one
            is faster or less code; None where it is the others'.
    """

    layer: DenseLayer
    tiling: Tiling
    block: tuple[int, int]
    variant: Variant
    cas_length: int
    column_parts: int
    row_parts: int
    call_rows: int
    call_columns: int
    order: Order = "m"
    outer: Outer = "n"
    home: Home = "tile"
    reduction_steps: int = 1
    last_block: tuple[int, int] | None = None
    first_block: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        """Refuse parts without work, and calls that are no multiples of tiling and block."""
        layer, t = self.layer, self.tiling
        for what, parts, size, unit in (
            ("cas_length", self.cas_length, layer.reduction, t.k),
            ("column_parts", self.column_parts, layer.columns, t.n),
            ("row_parts", self.row_parts, layer.rows, t.m),
            ("reduction_steps", self.reduction_steps, layer.reduction / self.cas_length, t.k),
        ):
            if not 1 <= parts <= ceil(size / unit):
                units = ceil(size / unit)
                raise TargetError(f"{what} {parts}: {units} tiles of {unit} cannot be split so")
        if self.call_rows % t.m or self.call_columns % t.n:
            raise TargetError(f"a call of {self.call_rows}x{self.call_columns}: no multiple of {t}")
        for block in (self.block, self.last_block, self.first_block):
            if block is None:
                continue
            if self.call_rows // t.m % block[0] or self.call_columns // t.n % block[1]:
                call = f"a call of {self.call_rows}x{self.call_columns}"
                raise TargetError(
                    f"{call}: no multiple of blocks {block}",
                    hint="another block of accumulators, or more rows of padding",
                )
        if min(self.call_rows, self.call_columns) < 1:
            raise TargetError("a call without rows or columns")
        for value, values in ((self.order, ORDERS), (self.outer, OUTERS), (self.home, HOMES)):
            if value not in values:
                raise TargetError(f"{value!r} is none of {values}")

    @cached_property
    def part_rows(self) -> int:
        """Rows of the largest part, padded."""
        return ceil(ceil(self.layer.rows / self.tiling.m) / self.row_parts) * self.tiling.m

    @cached_property
    def part_reduction(self) -> int:
        """Reduction of the largest part, padded."""
        return self.call_reduction * self.reduction_steps

    @cached_property
    def call_reduction(self) -> int:
        """Reduction of one turn, padded."""
        part = ceil(ceil(self.layer.reduction / self.tiling.k) / self.cas_length)
        return ceil(part / self.reduction_steps) * self.tiling.k

    @cached_property
    def part_columns(self) -> int:
        """Columns of the largest part, padded."""
        return ceil(ceil(self.layer.columns / self.tiling.n) / self.column_parts) * self.tiling.n

    @cached_property
    def row_steps(self) -> int:
        """Calls along the rows of a part."""
        return ceil(self.part_rows / self.call_rows)

    @cached_property
    def column_steps(self) -> int:
        """Calls along the columns of a part."""
        return ceil(self.part_columns / self.call_columns)

    @property
    def calls(self) -> int:
        """Kernel calls of a tile for the whole layer."""
        return self.row_steps * self.column_steps

    @property
    def chains(self) -> int:
        """Cascade chains."""
        return self.row_parts * self.column_parts

    @property
    def tiles(self) -> int:
        """Tiles at work."""
        return self.chains * self.cas_length

    @property
    def streamed(self) -> bool:
        """Whether weights come by stream during the run."""
        return self.home != "tile"

    @property
    def input_bytes(self) -> int:
        """Of the activations of one turn."""
        return self.call_rows * self.call_reduction * ELEMENT_BYTES[self.layer.a]

    def numbers(self, at: int) -> int:
        """Vectors of 32-bit numbers by column that come behind each turn's weights of tile `at`.

        They do where weights of turns come by stream: a tile that held those of all its columns
        would have no room for much else. Those of layers that share a program always do.
        """
        if not self.streamed or (self.reduction_steps == 1 and not self.layer.shared):
            return 0
        scaled = self.layer.requantise in BY_COLUMN and at == self.cas_length - 1
        return int(self.layer.bias and at == 0) + 2 * int(scaled)

    @property
    def most_numbers(self) -> int:
        """The same of the tile that has most."""
        return max(self.numbers(at) for at in (0, self.cas_length - 1))

    @property
    def weight_bytes(self) -> int:
        """Of the weights of one turn, in one tile, and what comes behind them."""
        weights = self.call_reduction * self.call_columns * ELEMENT_BYTES[self.layer.w]
        return weights + 4 * self.most_numbers * self.call_columns

    @property
    def part_weight_bytes(self) -> int:
        """Of all weights of a tile."""
        return self.weight_bytes * self.column_steps * self.reduction_steps

    @property
    def sums_bytes(self) -> int:
        """Of the sums that wait between turns: a turn leaves its own where it found the last's."""
        if self.reduction_steps == 1:
            return 0
        each = ELEMENT_BYTES[self.layer.out] if self.layer.rounds else 4
        return each * self.call_rows * self.call_columns

    @property
    def output_bytes(self) -> int:
        """Of the results of one call, in one chain."""
        return self.call_rows * self.call_columns * ELEMENT_BYTES[self.layer.out]

    @property
    def bias_bytes(self) -> int:
        """Of the bias in the first tile of a chain, 32 bits each."""
        return 4 * self.part_columns if self.layer.bias and not self.most_numbers else 0

    def input_sends(self) -> int:
        """How often a tile is sent activations for a layer: again for every column step if outer.

        A tile whose part of the rows is a single call keeps its activations, and nothing is kept
        from one turn to the next.
        """
        if self.reduction_steps > 1:
            return self.calls * self.reduction_steps
        if self.outer == "n" and self.row_steps > 1:
            return self.calls
        return self.row_steps

    def weight_sends(self) -> int:
        """How often a tile is sent weights for a layer."""
        if not self.streamed:
            return 0
        if self.reduction_steps > 1:
            return self.calls * self.reduction_steps
        if self.outer == "m" and self.column_steps > 1:
            return self.calls
        return self.column_steps

    def position(self, at: int) -> Position:
        """Of tile number `at` in its chain."""
        if self.cas_length == 1:
            return "single"
        if at == 0:
            return "first"
        return "last" if at == self.cas_length - 1 else "middle"

    def kernel(self, at: int, turn: int = 0, block: tuple[int, int] | None = None) -> Kernel:
        """What tile number `at` of a chain runs in a turn of a call.

        The first turn starts from the bias or the cascade, the others from what the turn before
        left; the last one stores or passes on, the others leave their sums.
        """
        position, ends = self.position(at), (turn == 0, turn == self.reduction_steps - 1)
        beside = self.numbers(at) > 0
        requantises = position in ("single", "last") and ends == (False, True)
        begins = position in ("single", "first") and ends == (True, False)
        own = self.last_block if requantises else self.first_block if begins else None
        own = own or self.block
        return turn_kernel(
            self.types, self.tiling, block or own, self.variant, position, ends, beside
        )

    @cached_property
    def types(self) -> Types:
        """What kernels ask of the layer, beside sizes."""
        layer = self.layer
        return layer.a, layer.w, layer.out, layer.bias, layer.relu, layer.requantise, layer.rounds

    def kernels(self, at: int) -> tuple[Kernel, ...]:
        """What tile number `at` of a chain runs, turn by turn."""
        return tuple(kernel for times, kernel in self.turns(at) for _ in range(times))

    def turns(self, at: int) -> tuple[tuple[int, Kernel], ...]:
        """The same, as (how often one after the other, kernel): turns in the middle are alike."""
        last = self.reduction_steps - 1
        if not last:
            return ((1, self.kernel(at)),)
        which = ((1, 0), (last - 1, 1), (1, last))
        return tuple((times, self.kernel(at, turn)) for times, turn in which if times)

    def chain(self, index: int) -> tuple[int, int]:
        """(part of the rows, part of the columns) of chain `index`."""
        if self.order == "m":
            return divmod(index, self.column_parts)
        column, row = divmod(index, self.row_parts)
        return row, column

    def with_order(self, order: Order) -> ArrayMapping:
        """The same with other neighbours."""
        return self if order == self.order else self._like(order=order)

    def with_rows(self, rows: int) -> ArrayMapping:
        """The same with calls of so many rows.

        Raises:
            TargetError: they are no whole blocks of accumulators.
        """
        if rows < 1 or rows % (self.tiling.m * self.block[0]):
            raise TargetError(f"a call of {rows} rows: no multiple of {self.tiling}, {self.block}")
        made = self._like(call_rows=rows)
        vars(made).pop("row_steps", None)
        return made

    def with_calls(
        self, rows: int, columns: int, turns: int, home: Home, order: Order
    ) -> ArrayMapping:
        """The same with other calls, of whole blocks of accumulators.

        Args:
            rows: of a call.
            columns: of a call.
            turns: of a call.
            home: of the weights.
            order: which chains are neighbours.
        """
        made = self._like(
            call_rows=rows,
            call_columns=columns,
            reduction_steps=turns,
            home=home,
            order=order,
        )
        for size in ("row_steps", "column_steps", "call_reduction", "part_reduction"):
            vars(made).pop(size, None)
        return made

    def _like(self, **changes: object) -> ArrayMapping:
        """A copy with other values, which the caller has checked, and all sizes that it knows.

        The search makes a hundred thousand of these, so that validating and sizing each anew shows.
        """
        made = object.__new__(ArrayMapping)
        vars(made).update(vars(self), **changes)
        return made
