"""Simulated cycles of the cluster's kernels on elements, rows and matrices, core by core.

As `timing/cluster.py` has those of windows.
"""

from __future__ import annotations

import numpy as np

from match_aie.targets.gap9.timing.workers import (
    CLIP,
    DIVIDE,
    DIVISION,
    ENTER,
    ENTER_BY,
    FINISH,
    FLOAT,
    FLOAT_DIVISION,
    LOAD_USE,
    LONG_DIVISION,
    PART,
    Ranges,
    contended,
    copy_cycles,
    divide,
    finish,
    part,
    up,
)
from match_aie.workload import Workload


def element_cycles(workload: Workload, ranges: Ranges, cores: int) -> list[float]:
    """Kinds that treat element after element, in words of four.

    Rows are joined where all operands have them one after the other; where one is broadcast, every
    core has some columns of every row.
    """
    sizes = [ranges[dim][1] for dim, _ in workload.dims]
    joined = all(operand.shape == workload.output.shape for operand in workload.data)
    rows = 1 if joined else int(np.prod(sizes[:-1]))
    total = int(np.prod(sizes)) // rows
    each = _each(workload)
    parts = [part(up(total, 4), core, cores) for core in range(cores)]
    counts = [min(total, 4 * b) - min(total, 4 * a) for a, b in parts]
    more = 8 if rows > 1 else 0
    return [ENTER + 2 * PART + rows * (each * count + more) for count in counts]


def _each(workload: Workload) -> float:
    """Cycles of one element."""
    if workload.kind == "add":
        # Of four: two loads, eight bytes; multiply, multiply-add, add and shift, clip; two to pack,
        # store.
        clip = finish(workload) - FINISH + CLIP
        return contended(2 + 8 + 4 * (3 + clip) + 3, 3) / 4
    if workload.kind == "mul":
        # Of four: two loads, eight bytes, two zero points, two products, add and shift, clip, pack,
        # store.
        return contended(2 + 8 + 4 * (5 + 2) + 3, 3) / 4
    if workload.kind == "table":
        # Of four: a load, a byte of it and its entry each, two to pack, store.
        return contended(1 + 4 * 2 + 2 + 1, 6) / 4
    if workload.kind == "quantize":
        # Load, division, two comparisons of three, two additions, conversion, addition, store.
        return 1 + FLOAT_DIVISION + 6 + 3 * FLOAT + 2
    # Load, subtraction, conversion, multiplication, store.
    return 3 + LOAD_USE + 2 * FLOAT


def norm_cycles(workload: Workload, ranges: Ranges, cores: int) -> list[float]:
    """A row on a core: its sums, what it is multiplied by, and then its elements.

    The variance is brought to its range by at most twelve steps of 64 bits, of which ten are
    taken here; a root takes fifteen.
    """
    columns = workload.sizes["K"]
    words, rest = divmod(columns, 4)
    # A load, a flip, two dot products; byte by byte load, extension, addition, product, sum.
    sums = words * contended(4, 1) + rest * (4 + LOAD_USE)
    root, search, divisions = 15 * 6, 10 * 4, 3 * LONG_DIVISION
    # Load, product, difference, six to round, two to clip; loads, product and sum, six to round,
    # two to clip, store; the flip.
    element = contended(1 + 2 + 6 + 2 + 2 + 1 + 6 + 2 + 1 + 1, 4)
    row = 130 + sums + root + search + divisions + 70 + columns * element
    parts = [part(ranges["B"][1], core, cores) for core in range(cores)]
    return [ENTER + PART + row * (b - a) for a, b in parts]


def _product_block(workload: Workload, words: int, rows: int, columns: int) -> float:
    """`ma_product_block`: sums of some rows with some columns of a strip, and their storing."""
    x1 = workload.operand("x1")
    centred = x1.zero_point != (128 if x1.dtype == "uint8" else 0)
    sums = rows * columns
    # The last column's word is used at once where there is nothing else to do.
    stall = LOAD_USE if columns == 1 else 0
    loads = rows + columns
    step = contended(loads + sums + (rows if centred else 0) + stall, loads)
    # Off each sum: what its column adds up to, and where x1 has a zero point what its row does.
    after = sums * (1 + (2 if centred else 0) + finish(workload)) + 2 * columns
    return 100 + sums + words * step + after


def product_cycles(workload: Workload, ranges: Ranges, cores: int) -> list[float]:
    """Four columns are turned; then all rows of a core's share with them, two at a time."""
    words = up(workload.sizes["C"], 4)
    batch, rows, columns = (ranges[dim][1] for dim in ("B", "OY", "K"))
    strips = up(columns, 4)
    # A word of each of four columns: four loads, eight shuffles, four sums, four stores.
    turning = 60 + words * contended(20, 8)
    block = {(p, k): _product_block(workload, words, p, k) for p in (1, 2) for k in (1, 4)}
    found = []
    for share in divide(cores, batch * strips, up(rows, 2), 20 * words + 60, 14 * words + 100):
        first, last = 2 * share.blocks[0], min(rows, 2 * share.blocks[1])
        pairs, single = divmod(max(0, last - first), 2)
        cycles = ENTER_BY["matmul"] + DIVIDE
        for unit in range(*share.units):
            here = min(4, columns - 4 * (unit % strips))
            each, times = (4, 1) if here == 4 else (1, here)
            cycles += turning + 2 * DIVISION
            cycles += times * (pairs * block[2, each] + single * block[1, each])
        found.append(cycles)
    return found


def _integer_row(workload: Workload) -> float:
    """`ma_integer_softmax_row`: its three loops over words and odd bytes, and what lies between."""
    words, rest = divmod(workload.sizes["K"], 4)
    flip = 1 if workload.operand("x").dtype == "int8" else 0
    wide = workload.tail is not None and workload.tail.bits == 64
    # Product, half, shift; or two halves of a product (the upper one takes five), a sum of two
    # registers (4), a shift of two (8). Then zero point and limit.
    put = (1 + 5 + 4 + 8 if wide else 3) + 2
    # The largest of the word's lanes, one after the other: a byte and a comparison each.
    most = 4 * 2 + words * contended(2 + flip, 1) + rest * (2.0 + LOAD_USE + flip)
    # Load, difference; of each lane its byte, four times that, the entry, the sum.
    total = words * contended(2 + flip + 4 * 4, 5) + rest * (5 + 2 * LOAD_USE + flip)
    stored = words * contended(2 + flip + 4 * (3 + put) + 2 + 1, 6)
    stored += rest * (4 + put + 1 + 2 * LOAD_USE + flip)
    factor = 5 * 3 + LONG_DIVISION + 12
    return 30 + most + total + factor + stored


def softmax_cycles(workload: Workload, ranges: Ranges, cores: int) -> list[float]:
    """Three passes over a row: maximum; sum of table entries; what is stored.

    In float32 the last has two divisions and a rounding of every element.
    """
    columns = workload.sizes["K"]
    final = 5 + LOAD_USE + 2 * FLOAT_DIVISION + 5 * FLOAT + 6
    row = 30.0 + columns * (2 + LOAD_USE + 5 + LOAD_USE + FLOAT + final)
    if workload.fixed_point:
        row = _integer_row(workload)
    parts = [part(ranges["B"][1], core, cores) for core in range(cores)]
    return [ENTER + PART + row * (b - a) for a, b in parts]


def _woven(outer: int, pixels: int, cores: int) -> list[float]:
    """`ma_weave`: three planes to pixels of three bytes, rows of them or, of few rows, parts.

    Four pixels are three loads, six shuffles, two copies of words that these overwrite, three
    stores, an address.
    """
    step = pixels if outer >= cores else 4 * up(up(pixels, cores), 4)
    units = up(pixels, step)
    four = contended(15, 6) + (6 if pixels % 4 else 0)
    byte = contended(2 + LOAD_USE, 2)
    found = []
    for core in range(cores):
        work = 0.0
        for unit in range(*part(outer * units, core, cores)):
            whole, rest = divmod(min(step, pixels - unit % units * step), 4)
            work += 57 + whole * four + 3 * (8 + rest * byte)
        found.append(ENTER_BY["permute"] + PART + 2 * DIVISION + work)
    return found


def permute_cycles(workload: Workload, ranges: Ranges, cores: int) -> list[float]:
    """Lines along the third axis: copied, turned in fours, woven of three, or byte by byte.

    As it is known which axis lies innermost in x: the output's last, its third, or another one.
    """
    innermost, (images, rows, lines, columns) = _loops(workload, ranges, cores)
    outer = images * rows
    if innermost == workload.dims[2][0] and columns == 3:
        return _woven(outer, lines, cores)
    byte = contended(2 + LOAD_USE, 2)
    step = 4 if innermost == workload.dims[2][0] and columns >= 4 else 1
    if innermost != workload.dims[3][0] and step == 1:  # along the longer one
        lines, columns = sorted((lines, columns))

    def line(here: int) -> float:
        """One unit of work, of so many lines."""
        if innermost == workload.dims[3][0]:
            return copy_cycles(columns, columns % 4 != 0)
        if step == 1:
            return 8 + columns * byte
        # Four loads, eight shuffles, four stores, each at an address of its own.
        blocks, rest = divmod(columns, 4) if here == 4 else (0, columns)
        return 10 + blocks * contended(4 + 8 + 8 + 2, 8) + here * (8 + rest * byte)

    units = up(lines, step)
    found = []
    for core in range(cores):
        first, last = part(outer * units, core, cores)
        work = sum(22 + line(min(step, lines - unit % units * step)) for unit in range(first, last))
        found.append(ENTER_BY["permute"] + PART + 2 * DIVISION + work)
    return found


def _loops(workload: Workload, ranges: Ranges, cores: int) -> tuple[str, list[int]]:
    """Which axis of y lies innermost in x, and the sizes of y's, as the kernel joins pixels.

    Pixels become one axis where channels become the last; where they become planes, the third axis
    is theirs, and pixels the last, or, with too few channels for all cores, those of a row.
    """
    order = [axis.terms[0][0] for axis in workload.operand("x").axes]
    second, third, last = (dim for dim, _ in workload.dims[1:])
    images, n1, n2, n3 = (ranges[dim][1] for dim, _ in workload.dims)
    if order[-2:] == [second, third] and n3 >= 4:
        return third, [images, 1, n1 * n2, n3]
    if order[1:] == [third, last, second] and n2 * n3 >= 4:
        whole = n3 < 4 or images * up(n1, 4) >= cores
        return third, [images, 1, n1, n2 * n3] if whole else [images, n2, n1, n3]
    return order[-1], [images, n1, n2, n3]
