"""The cluster's kernels on rows and elements: cycles of a tile, and what all its kernels share.

In the manner of `match_aie.cost_models.pulp_nn`, which says where figures come from.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from match_aie.hardware import Array, Tile
from match_aie.workload import RECURRENT, Workload

STALL, DIVISION, FLOAT, FLOAT_DIVISION = 1.0, 31.0, 2.0, 15.0
#: A division of large numbers: a cycle a bit of the quotient (CV32E40P user manual).
LONG_DIVISION = 35.0
#: Each further start of a kernel in one call: fork, barrier, and 30 of the controller's loop.
STARTED = 32.0 + 30.0
#: Loads of a channel's multiplier and offset.
CHANNEL = 2.0
#: A core's part of all, and deciding who does what: four ways to divide, two parts.
PART = 16.0
DIVIDE = 4 * 16.0 + 2 * PART
#: What a core does once in a kernel beside that, counted in compiled kernels; by kernel.
ENTER = 110.0
ENTER_BY = {"conv2d": 450.0, "depthwise": 310.0, "dense": 215.0, "pool": 200.0}
ENTER_BY |= {"matmul": 350.0, "permute": 300.0}


@dataclass(frozen=True)
class Workers:
    """Cores that share a scratchpad.

    Attributes:
        cores: a power of two, or one less.
        banks: of the scratchpad, a word wide.
    """

    cores: int
    banks: int

    def busy(self, instructions: float, accesses: float) -> float:
        """A stretch of code on all cores at once, with `accesses` to the shared scratchpad."""
        rate = accesses / instructions
        return instructions + accesses * rate * (self.cores - 1) / (2 * self.banks)

    def divided(
        self, units: Array, blocks: Array, per_unit: Array, per_block: Array
    ) -> tuple[Array, Array]:
        """The most units, and blocks of each, that one core has: as `ma_divide` decides.

        Args:
            units: of work.
            blocks: of each unit.
            per_unit: what a unit costs beside its blocks.
            per_block: what a block costs.
        """
        ways = range(self.cores.bit_length())
        most = [up(units, self.cores >> s) for s in ways]
        wide = [up(blocks, 1 << s) for s in ways]
        loads = np.stack(
            np.broadcast_arrays(
                *(u * (per_unit + b * per_block) for u, b in zip(most, wide, strict=True))
            )
        )
        best = loads.argmin(axis=0)
        found = []
        for values in (most, wide):
            stacked = np.stack([np.broadcast_to(v, best.shape) for v in values])
            found.append(np.take_along_axis(stacked, best[None], axis=0)[0])
        return found[0], found[1]

    def copied(self, nbytes: Array | int, channels: Array | int) -> Array:
        """6, then two words in four instructions, an odd word and every last byte in three.

        Words at odd addresses take a second access, on both sides.
        """
        words, rest = np.divmod(np.asarray(nbytes), 4)
        moving = 4 * (words // 2) + 3 * (words % 2)
        rate = 2 * words / np.maximum(moving, 1)
        waits = 2 * words * rate * (self.cores - 1) / (2 * self.banks)
        odd = np.where(np.asarray(channels) % 4 != 0, 2 * words, 0)
        return np.asarray(6 + 3.0 * rest + moving + waits + odd)


def up(a: Array, b: int) -> Array:
    """`a / b`, rounded up."""
    return np.asarray(-(-np.asarray(a) // b))


def finish(workload: Workload) -> float:
    """From a sum to the output: multiply, add and shift, clip, store; add, store for 32 bits.

    A range from 0 on is clipped by one instruction, others by two.
    """
    if workload.output.dtype == "int32":
        return 2.0
    return 4.0 + (workload.tail is not None and workload.tail.lo != 0)


def element_cycles(cluster: Workers, workload: Workload, t: Tile) -> Array:
    """Kinds that are no window, of `t`, which has every dimension."""
    if workload.kind == "softmax" and workload.fixed_point:
        return _softmax(cluster, workload, t)
    if workload.kind == "softmax":
        # Maximum 3; table entry and sum 9; entry, two divisions, rounding and store 52.
        each = 3 + 9 + 6 + 2 * FLOAT_DIVISION + 5 * FLOAT + 6
        rows = up(t["B"], cluster.cores)
        return np.asarray(ENTER + PART + rows * (30 + workload.sizes["K"] * each))
    if workload.kind == "layer_norm":
        return _norm(cluster, workload, t)
    if workload.kind == "matmul":
        return _product(cluster, workload, t)
    if workload.kind in RECURRENT:
        return _recurrent(cluster, workload)
    if workload.kind == "permute":
        return _permute(cluster, workload, t)
    each = {
        # Of four: two loads, eight bytes of them; multiply, multiply and add, add and shift, clip
        # each; three to store a word.
        "add": cluster.busy(2 + 8 + 4 * finish(workload) + 3, 3) / 4,
        # The same with two zero points, and a clip of two.
        "mul": cluster.busy(2 + 8 + 4 * 7 + 3, 3) / 4,
        # Of four: a word, what it is made of and four entries, then to store a word.
        "table": cluster.busy(1 + 4 * 2 + 2 + 1, 6) / 4,
        "quantize": 1 + FLOAT_DIVISION + 6 + 3 * FLOAT + 2,
        "dequantize": 4 + 2 * FLOAT,
    }[workload.kind]
    sizes = [t[dim] for dim, _ in workload.dims]
    rows = np.asarray(1)
    if any(operand.shape != workload.output.shape for operand in workload.data):
        *outer, last = sizes  # rows are not joined: every core has some columns of all
        rows, sizes = np.asarray(prod(outer, start=np.asarray(1))), [last]
    mine = 4 * up(up(np.asarray(prod(sizes, start=np.asarray(1))), 4), cluster.cores)
    return np.asarray(ENTER + 2 * PART + rows * (mine * each + 8 * (rows > 1)))


@dataclass(frozen=True)
class Turned:
    """The loops of `ma_permute` over a tile, rows of whose images lie one after the other."""

    outer: Array
    lines: Array
    columns: Array
    turns: bool  #: lines of four columns and more are turned in fours
    weaves: bool  #: of three columns woven
    kept: bool  #: lines are copied


def turned_axes(shared: Workers, workload: Workload, t: Tile) -> Turned:
    """Pixels are one axis of lines where channels become the last axis, of columns where planes.

    Planes' columns are pixels of a row where all of an image would leave some core nothing.
    """
    order = [axis.terms[0][0] for axis in workload.operand("x").axes]
    names = [dim for dim, _ in workload.dims]
    first, second, third, last = (np.asarray(t[name]) for name in names)
    if order[-1] == names[2]:
        joins = (last >= 4) & (order[-2] == names[1])
        outer, lines = first * np.where(joins, 1, second), third * np.where(joins, second, 1)
        return Turned(outer, lines, last, turns=True, weaves=True, kept=False)
    if order[1:] == [names[2], names[3], names[1]]:
        whole = (last < 4) | (first * up(second, 4) >= shared.cores)
        short = third * last < 4
        outer = first * np.where(short, second, np.where(whole, 1, third))
        lines = np.where(short, third, second)
        columns = np.where(whole & ~short, third * last, last)
        return Turned(outer, lines, columns, turns=True, weaves=False, kept=False)
    return Turned(first * second, third, last, False, False, order[-1] == names[3])


def _permute(cluster: Workers, workload: Workload, t: Tile) -> Array:
    """Lines along the third axis; 22 a line or four of them, and what moves its bytes.

    Where the last axis stays, words are copied; where it becomes the third, four lines of four
    bytes are turned, if it has so many: four loads, eight shuffles, stores, addresses; three lines
    are woven; else every byte is a load, what its use waits for, and a store.
    """
    at = turned_axes(cluster, workload, t)
    outer, lines, columns = at.outer, at.lines, at.columns
    byte = cluster.busy(2 + STALL, 2)
    # Byte by byte, along the longer one.
    least, most = np.minimum(lines, columns), np.maximum(lines, columns)
    moved = up(outer * least, cluster.cores) * (30 + most * byte)
    if at.turns:
        # Four lines are turned, what is left of them goes by bytes; a core has either, or a mean.
        four = 32 + columns // 4 * cluster.busy(22, 8) + 4 * (8 + columns % 4 * byte)
        left = 32 + lines % 4 * (8 + columns * byte)
        fours, units = lines // 4, up(lines, 4)
        longest = np.maximum(four * (fours > 0), left * (lines % 4 > 0))
        mean = (fours * four + (lines % 4 > 0) * left) / units
        many = up(outer * units, cluster.cores)
        turned = np.where(many == 1, longest, many * mean)
        moved = np.where(columns >= 4, turned, moved)
        if at.weaves:
            moved = np.where(columns == 3, _woven(cluster, outer, lines), moved)
    elif at.kept:
        moved = up(outer * lines, cluster.cores) * (22 + cluster.copied(columns, columns))
    return np.asarray(ENTER_BY["permute"] + PART + 2 * DIVISION + moved)


def woven_step(cluster: Workers, outer: Array, pixels: Array) -> Array:
    """How many pixels of three planes are a unit: rows, or parts of few rows."""
    return np.where(outer >= cluster.cores, pixels, 4 * up(up(pixels, cluster.cores), 4))


def _woven(cluster: Workers, outer: Array, pixels: Array) -> Array:
    """57 a unit; of four pixels 3 loads, 8 to mix them, 3 stores, an address; of the rest, bytes.

    Words of rows that are no multiples of four lie at odd addresses.
    """
    step = woven_step(cluster, outer, pixels)
    units = outer * -(-pixels // step)
    here = np.minimum(step, pixels)
    four = cluster.busy(15, 6) + np.where(pixels % 4 > 0, 6, 0)
    rest = 3 * (8 + here % 4 * cluster.busy(2 + STALL, 2))
    return np.asarray(up(units, cluster.cores) * (57 + here // 4 * four + rest))


def _norm(cluster: Workers, workload: Workload, t: Tile) -> Array:
    """Sums of words; a root, two divisions, a remainder; then element by element.

    Of a word 2 loads and flips, 2 dot products; a root's 15 steps take 6 each, the search for its
    range 12 of 64 bits at most, 4 each. An element is read, multiplied, rounded (6), clipped (2),
    multiplied and added to (3), rounded (6), clipped (2) and stored.
    """
    columns = workload.sizes["K"]
    words, rest = columns // 4, columns % 4
    sums = words * cluster.busy(4, 1) + rest * (4 + STALL)
    once = 15 * 6 + 10 * 4 + 3 * LONG_DIVISION + 70
    row = 130 + sums + once + columns * cluster.busy(24, 4)
    return np.asarray(ENTER + PART + up(t["B"], cluster.cores) * row)


def _softmax(cluster: Workers, workload: Workload, t: Tile) -> Array:
    """Words of a row three times: its maximum, its sum, its results; odd bytes one by one.

    Of a word: load, maximum; load, difference, then byte, address, load and addition
    of each lane; the same with product, rounding (2), zero point and limit instead of the addition,
    two to pack, a store. With products of 64 bits a lane has an upper half (5), three more to add
    and seven to shift. Words of int8 are flipped. A row's factor takes a search in 5 steps of 3, a
    division, 12.
    """
    tail, columns = workload.tail, workload.sizes["K"]
    flip = workload.operand("x").dtype == "int8"
    lane = 8 + (15 if tail is not None and tail.bits == 64 else 0)
    words, rest = columns // 4, columns % 4
    passes = cluster.busy(2 + flip, 1) + cluster.busy(2 + flip + 4 * 4, 5)
    passes += cluster.busy(2 + flip + 4 * lane + 3, 6)
    # One byte: 3, 6 and two more than a lane, and what three loads and two entries are waited for.
    single = 3 + 6 + lane + 2 + 3 * flip + 5 * STALL
    row = 30 + 12 + 15 + LONG_DIVISION + 12 + words * passes + rest * single
    return np.asarray(ENTER + PART + up(t["B"], cluster.cores) * row)


def _product(cluster: Workers, workload: Workload, t: Tile) -> Array:
    """Columns are turned in fours (20 a word of each); then blocks of 2 x 4 sums."""
    words, strips = -(-workload.sizes["C"] // 4), up(t["K"], 4)
    units, blocks = cluster.divided(
        t["B"] * strips, up(t["OY"], 2), np.asarray(20 * words + 60), np.asarray(14 * words + 100)
    )
    rows = np.minimum(2 * blocks, t["OY"])
    pairs, single = rows // 2, rows % 2
    # The last strip of few columns does them one by one; it is one of `strips`.
    narrow = t["K"] % 4
    share = np.where(narrow > 0, 1 / strips, 0.0)
    turning = 60 + words * cluster.busy(4 + 8 + 4 + 4, 8)
    both, one = (_block(cluster, workload, words, p, 4) for p in (2, 1))
    both_1, one_1 = (_block(cluster, workload, words, p, 1) for p in (2, 1))
    wide = pairs * both + single * one
    thin = narrow * (pairs * both_1 + single * one_1)
    return np.asarray(
        ENTER_BY["matmul"] + DIVIDE + units * (turning + wide * (1 - share) + thin * share)
    )


def _block(cluster: Workers, workload: Workload, words: int, rows: int, columns: int) -> float:
    """Sums of some rows and columns: as of a convolution, with sums of rows where x1 has a zero."""
    sums = rows * columns
    x1 = workload.operand("x1")
    centred = x1.zero_point != (128 if x1.dtype == "uint8" else 0)
    stall = STALL if columns == 1 else 0.0
    inner = cluster.busy(rows + columns + sums + rows * centred + stall, rows + columns)
    # Off every sum: what columns add up to, and rows.
    after = sums * (finish(workload) + 1 + 2 * centred) + 2 * columns
    return 100 + sums + words * inner + after


def _recurrent(cluster: Workers, workload: Workload) -> Array:
    """All steps: units on cores, a kernel a step, or two of a GRU whose reset gate is before.

    A word of an input or of a state meets one of each gate. Both sums of a gate take 17 each: zero
    point, rounding to bfloat16 (7), three float operations, three loads; 8 are addresses. A
    function is 44: rounding twice, a comparison with both ends, a floor, two loads, a line.
    """
    d = workload.sizes
    inputs, states = -(-d["C"] // 4), -(-d["K"] // 4)
    rest = 5 * (d["C"] % 4)

    def unit(gates: int, functions: int, more: float) -> float:
        words = (inputs + states) * cluster.busy(1 + 2 * gates, 1 + gates)
        float_sums = gates * (2 * (8 + 3 * FLOAT + 3) + 8)
        return 40 + rest + words + float_sums + functions * (32 + 6 * FLOAT) + more

    if workload.kind == "lstm":
        kernels = [unit(4, 5, 44 + 8 * FLOAT)]
    elif workload.parameter("linear_before_reset"):
        kernels = [unit(3, 3, 39 + 7 * FLOAT)]
    else:
        kernels = [unit(2, 2, 25 + 3 * FLOAT), unit(1, 1, 26 + 5 * FLOAT)]
    mine = float(up(np.asarray(d["K"]), cluster.cores))
    step = sum(ENTER + 34 + PART + mine * each for each in kernels)
    more = (d["OY"] * len(kernels) - 1) * STARTED
    return np.asarray(d["OY"] * step + more)
