"""Quantised attention with a running softmax, bit for bit: every score is computed once.

Keys go by in parts of so many. A row keeps an exponent, sums of its results and the sum of its
weights. With integers x, x1, x2 without zero points, a part's

    t = srs(x x1, shift), saturated at 16 bits,
    power = srs(max(t) * factor + 2^(bits - 1), bits): the largest score in powers of two, rounded
            up, not below the power before it, and above that where weights made 2^23 by then,
    index = srs(power * 2^bits - t * factor, bits - 5), saturated at 0 and 511,
    weight = table[index], 32767 * 2^(-index / 32) to the nearest integer, 0 at the end.

`srs` rounds halves to even. Where a power grows by d, sums are shifted down by d (31 at most)
before the part's weights, and weights times values, join them. In the end a row's sums are
multiplied by floor(numerator * 2^25 / weights), shifted, and clipped beside the zero point.

So weights make 2^24 at most, and sums fit 32 bits. Those of a row make 16,384 at least, and each is
within 1.4 % and half a unit of the exact one: results of random scores are within two steps. Where
hundreds of keys have one score, more than 13 powers of two below the largest, their halves of a
unit add up. Eight bits would not do: of rows of 1,500 keys a tenth of the weight may lie in keys
that are 8 powers of two below the largest one. The model's own 8-bit scores and weights do
not appear: results are those of real scores, not of rounded ones. The part's size belongs to the
meaning, since sums are rounded between parts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import floor, log2

import numpy as np

from match_aie.workload.fixed import Converted, shift_round
from match_aie.workload.workload import Axis, Operand, Workload

Arrays = Mapping[str, np.ndarray]

#: Elements of keys, and of values, of a part: both and the next ones fill three quarters of two
#: banks of 16 KB, which leaves room for queries and results.
PART_ELEMENTS = 6144

#: Elements of keys up to which attention keeps all its scores in a tile and stays as the model has
#: it: a bank of 16 KB without a table.
KEPT_ELEMENTS = 14336

#: Keys of a part at most; parts have a multiple of `KEYS`.
MOST_KEYS, KEYS = 256, 16

#: Elements of a value at most: sums of 16 rows, which are divided together, have a bank of 16 KB.
WIDEST = 216

#: Steps of a power of two in the table, as bits, and its entries.
STEP_BITS, ENTRIES = 5, 512

#: The largest weight, and what a row's make before its power grows: twice as much and values of 8
#: bits fill 32 bits. A part's weights make less.
MOST_WEIGHT, FULL = 32767, 1 << 23

#: Bits of the factor of scores, and most bits of a power of two.
FACTOR_BITS, MOST_BITS = 14, 24

#: Largest shift of sums.
MOST_SHIFT = 31

#: What scores of 16 bits may be apart at most, in powers of two; else layers stay as they are.
FINENESS = 2.0**-7

#: Bits of the numerator of results' factors, and how far it is shifted up.
NUMERATOR_BITS, NUMERATOR_SHIFT = 15, 25


@dataclass(frozen=True)
class RunningNumbers:
    """Numbers of such a layer.

    Attributes:
        part: keys of a part.
        shift: of scores.
        factor: that makes powers of two of scores, `bits` below the point.
        bits: as `factor` has.
        numerator: of results' factors, before it is shifted up.
        down: bits that results are shifted down.
        zero_point: of results.
        lo: least result.
        hi: greatest.
    """

    part: int
    shift: int
    factor: int
    bits: int
    numerator: int
    down: int
    zero_point: int
    lo: int
    hi: int

    @classmethod
    def of(cls, workload: Workload) -> RunningNumbers:
        """Those that a layer's parameters say."""
        p, tail = dict(workload.parameters), workload.tail
        assert tail is not None
        return cls(
            part=int(p["running_part"]),
            shift=int(p["running_shift"]),
            factor=int(p["running_factor"]),
            bits=int(p["running_bits"]),
            numerator=int(p["running_numerator"]),
            down=tail.shift or 0,
            zero_point=tail.zero_point,
            lo=tail.lo,
            hi=tail.hi,
        )


def runs(workload: Workload) -> bool:
    """Whether attention has the arithmetic of this module."""
    return "running_part" in dict(workload.parameters)


def part_of(width: int) -> int:
    """Keys of a part where keys and values have so many elements; 0 where none fit."""
    padded = -(-width // 8) * 8
    return 0 if padded > WIDEST else min(MOST_KEYS, PART_ELEMENTS // padded // KEYS * KEYS)


def weight_table() -> np.ndarray:
    """Weights by their index, int16 [512]; the last one is 0, since indices saturate there."""
    steps = -np.arange(ENTRIES) / (1 << STEP_BITS)
    found = np.rint(MOST_WEIGHT * 2.0**steps).astype(np.int16)
    found[-1] = 0
    return found


def refuses_running(workload: Workload) -> str | None:
    """Why attention does not have this arithmetic, whatever its scales are; None where it has.

    The rule: heads that a tile can hold stay as the model has them, and so does what has zero
    points or heads side by side, or keys too long for a tile.
    """
    if workload.kind != "attention" or workload.real is not None or workload.fixed_point:
        return "it is no attention of quantised tensors"
    d, width = workload.sizes, max(workload.sizes["C"], workload.sizes["K"])
    if d["OX"] * (-(-width // 8) * 8) <= KEPT_ELEMENTS:
        return "its keys fit a tile"
    if len(workload.operand("x").shape) == 2:
        return "its heads lie side by side"
    if any(operand.zero_point for operand in workload.inputs):
        return "an operand has a zero point"
    if part_of(width) < KEYS:
        return f"its keys of {width} elements are too long"
    return None


def running_attention(workload: Workload, constants: Arrays) -> Converted | str:
    """Attention in this arithmetic, with its bound beside the model's, or why it has none."""
    refused = refuses_running(workload)
    if refused is not None:
        return refused
    p, tail = dict(workload.parameters), workload.tail
    assert tail is not None
    unit = float(constants["scores_scale"][0]) * p["scores_step"] * log2(np.e)
    shift = _shift_of(workload)
    if not 0 < unit * 2**shift <= FINENESS:
        return f"scores in 16 bits are {unit * 2**shift:.3g} powers of two apart: {FINENESS} may be"
    unit *= 1 << shift
    bits = min(MOST_BITS, FACTOR_BITS - 1 - floor(log2(unit)))
    share = float(constants["scale"][0]) / p["weights_step"]
    place = NUMERATOR_BITS - 1 - floor(log2(share))
    if abs(place) > NUMERATOR_BITS:
        return f"results have {share:.3g} steps for one of its values"
    numerator = min(round(share * 2.0**place), (1 << NUMERATOR_BITS) - 1)
    sizes = workload.sizes
    numbers = {
        "part": part_of(max(sizes["C"], sizes["K"])),
        "shift": shift,
        "factor": min(round(unit * 2**bits), (1 << FACTOR_BITS) - 1),
        "bits": bits,
        "numerator": numerator,
    }
    table = Operand("table", "int16", (ENTRIES,), (Axis(()),), True)
    changed = replace(
        workload,
        operands=(*workload.inputs, table, workload.output),
        tail=replace(tail, shift=place + NUMERATOR_SHIFT, bits=64),
        parameters=tuple((f"running_{name}", float(value)) for name, value in numbers.items()),
    )
    return Converted(changed, {"table": weight_table()}, _bound(workload, share))


def _shift_of(workload: Workload) -> int:
    """Bits that scores are shifted down, so that none saturates."""
    x, x1 = (np.iinfo(workload.operand(name).dtype) for name in ("x", "x1"))
    most = workload.sizes["C"] * max(-int(x.min), int(x.max)) * -int(x1.min)
    return max(0, (most - 1).bit_length() - 15)


def _bound(workload: Workload, share: float) -> float:
    """Of the difference from the model, in steps of the output, for all inputs.

    Both are averages of values, but for what the model's weights lack or have too much: their
    roundings are half a step each, and what saturates lacks more. Whatever it is, both are stored.
    """
    x2, tail = workload.operand("x2"), workload.tail
    assert tail is not None
    info = np.iinfo(x2.dtype)
    most, keys = max(int(info.max), -int(info.min)), workload.sizes["OX"]
    rounded = keys * dict(workload.parameters)["weights_step"] / 2
    return float(min(2 * most * share * (1 + rounded), tail.hi - tail.lo))


@dataclass(frozen=True, eq=False)
class RunningRows:
    """What rows keep from part to part.

    Attributes:
        power: of each row, int64 [rows, 1].
        total: sum of its weights, likewise.
        sums: of its results, [rows, K].
    """

    power: np.ndarray
    total: np.ndarray
    sums: np.ndarray


def scores_of(products: np.ndarray, n: RunningNumbers) -> np.ndarray:
    """Sums of products as scores."""
    return np.asarray(np.clip(shift_round(products, n.shift, "half_even"), -(1 << 15), 32767))


def with_part(
    before: RunningRows | None,
    scores: np.ndarray,
    values: np.ndarray,
    table: np.ndarray,
    n: RunningNumbers,
) -> RunningRows:
    """Rows after another part.

    Args:
        before: what there was; None before the first part.
        scores: int64 [rows, keys].
        values: int64 [keys, K].
        table: of weights.
        n: numbers of the layer.
    """
    most = scores.max(axis=1, keepdims=True)
    power = shift_round(most * n.factor + (1 << n.bits - 1), n.bits, "half_even")
    if before is not None:
        power = np.maximum(power, before.power + (before.total >= FULL))
    index = shift_round((power << n.bits) - scores * n.factor, n.bits - STEP_BITS, "half_even")
    weights = table.astype(np.int64)[np.clip(index, 0, ENTRIES - 1)]
    total, sums = weights.sum(axis=1, keepdims=True), _product(weights, values)
    if before is not None:
        by = np.minimum(power - before.power, MOST_SHIFT)
        total, sums = total + _shifted(before.total, by), sums + _shifted(before.sums, by)
    return RunningRows(power, total, sums)


def _product(weights: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Exact in float64: sums are below 2^53."""
    return (weights.astype(np.float64) @ values.astype(np.float64)).astype(np.int64)


def _shifted(sums: np.ndarray, by: np.ndarray) -> np.ndarray:
    """Every row by its own bits, halves to even."""
    found = sums.copy()
    for bits in np.unique(by[by > 0]):
        rows = by[:, 0] == bits
        found[rows] = shift_round(sums[rows], int(bits), "half_even")
    return found


def results_of(rows: RunningRows, n: RunningNumbers) -> np.ndarray:
    """What rows store, int64 [rows, K]."""
    factor = (n.numerator << NUMERATOR_SHIFT) // rows.total
    found = shift_round(rows.sums * factor, n.down, "half_even")
    return np.asarray(np.clip(found + n.zero_point, n.lo, n.hi))


def attended_running(workload: Workload, arrays: Arrays) -> np.ndarray:
    """What the layer stores, int64."""
    n, found = RunningNumbers.of(workload), []
    inputs = (arrays[name].astype(np.int64) for name in ("x", "x1", "x2"))
    for x, x1, x2 in zip(*inputs, strict=True):
        rows: RunningRows | None = None
        for begin in range(0, len(x2), n.part):
            part = slice(begin, begin + n.part)
            scores = scores_of(_product(x, x1[:, part]), n)
            rows = with_part(rows, scores, x2[part], arrays["table"], n)
        assert rows is not None
        found.append(results_of(rows, n))
    return np.stack(found)
