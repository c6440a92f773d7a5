"""How often generated kernels multiply, load and store: counted from their sources.

The emulation counts the same as it runs, and a schedule of the kernel must have these numbers of
operations too.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch

from match_aie.targets.aie_ml.devices import CoreTile
from match_aie.targets.aie_ml.kernels.fit import WORD, operand_loads
from match_aie.targets.aie_ml.kernels.floats import (
    FloatFunctionSpec,
    FloatNormSpec,
    FloatPairSpec,
    FloatSoftmaxSpec,
)
from match_aie.targets.aie_ml.kernels.lanes import AddSpec, MaxPoolSpec
from match_aie.targets.aie_ml.kernels.lookup import KEYS, TableSpec
from match_aie.targets.aie_ml.kernels.multiplied import LANES as PRODUCTS
from match_aie.targets.aie_ml.kernels.multiplied import MultipliedSpec
from match_aie.targets.aie_ml.kernels.norm import HALF, NormCall
from match_aie.targets.aie_ml.kernels.softmax import SoftmaxSpec
from match_aie.targets.aie_ml.kernels.spec import BYTES, KernelSpec
from match_aie.targets.aie_ml.kernels.turned import TurnedSpec
from match_aie.targets.aie_ml.schedule import CallSchedule
from match_aie.workload.rows_bfloat16 import LANES

#: Bytes of a cascade transfer.
CASCADE_WORD = 64

#: Vector products of one element-wise product of 32-bit integers in 64 bits: the vendor's headers
#: make it of the products of 16-bit halves (detail/aie2/emulated_mul_intrinsics.hpp).
WIDE_PRODUCT = 4

#: Likewise of 32-bit integers by 16-bit ones.
NARROW_PRODUCT = 2

#: Products and roundings of `split` and `times` (`templates/aie/floats.mako`).
SPLIT, TIMES = 2, 4


@dataclass(frozen=True)
class Counts:
    """Operations of one kernel call.

    Attributes:
        mmul: calls of `mmul::mul` and `mac`.
        vmac: vector instructions of those.
        multiply: vector instructions of element-wise products, 1024 bits of sums each; a product
            of 32-bit integers is `WIDE_PRODUCT` of them.
        load: 256-bit words loaded.
        store: 256-bit words stored.
        srs: shift-round-saturates, 256 bits of results each; sums that stay as wide as they are
            count as none.
        cascade_in: 512-bit words received.
        cascade_out: 512-bit words passed on.
    """

    mmul: int = 0
    vmac: int = 0
    multiply: int = 0
    load: int = 0
    store: int = 0
    srs: int = 0
    cascade_in: int = 0
    cascade_out: int = 0


#: Of one vector's exponentials, roundings of keys apart.
EXPONENTIAL = Counts(load=1, multiply=5, srs=6)


def kernel_counts(spec: KernelSpec, core: CoreTile) -> Counts:
    """Operations of one call of `spec` on `core`."""
    t, r = spec.tiling, spec.requantise
    m_blocks, n_blocks = spec.blocks
    blocks = m_blocks * n_blocks
    products = blocks * spec.k_steps * spec.accumulators
    matrix = spec.operation == "mmul" and not spec.by_lanes
    sums = t.m * t.n * spec.lane_bits // 8
    # Every block fetches what the next starts from; nothing comes after the last.
    starts = blocks * spec.accumulators * _bias_loads(spec)
    drained = blocks * spec.drains
    lanes = t.m * t.n * spec.joined
    wide = lanes // 16 if r.scaled and spec.stores else 0
    return Counts(
        mmul=products if matrix else 0,
        vmac=products * (core.instructions(spec.a, spec.b, t) or 1) if matrix else 0,
        multiply=drained * wide * (NARROW_PRODUCT if r.narrow else WIDE_PRODUCT)
        + (0 if matrix else products * _words(sums, 128) * (t.k if spec.by_lanes else 1)),
        load=blocks * spec.k_steps * operand_loads(spec) + starts + drained * _factor_loads(spec),
        store=drained * _words(lanes * BYTES[r.dtype]) if spec.stores else 0,
        srs=drained * _narrowings(spec, lanes, wide) if spec.stores else 0,
        cascade_in=blocks * spec.accumulators * _words(sums, CASCADE_WORD) if spec.receives else 0,
        cascade_out=0 if spec.stores else drained * _words(sums, CASCADE_WORD),
    )


def emitted_counts(call: CallSchedule) -> Counts:
    """Operations of `call` in the terms in which the emulation counts them."""
    c, t = call.counts, call.kernel.tiling
    matrix = call.kernel.operation == "mmul" and not t.lanes
    # 64 products of lanes have two times 1024 bits of sums.
    laned = 2 * c.products if t.lanes else 0
    return Counts(
        mmul=call.macs // t.macs if matrix else 0,
        vmac=0 if t.lanes else c.products,
        multiply=c.multiplies + laned,
        load=c.loads_a + c.loads_w + c.loads_bias + c.loads_factors,
        store=c.stores,
        srs=c.srs,
        cascade_in=c.cascade_reads,
        cascade_out=c.cascade_writes,
    )


def _words(size: int, word: int = WORD) -> int:
    return -(-size // word)


def _bias_loads(spec: KernelSpec) -> int:
    """Loads that set one accumulator: earlier sums, or a row of the bias for each of its rows.

    Accumulators wider than 1024 bits repeat their first part, where rows do not differ.
    """
    if spec.resumes:
        return _words(spec.tiling.m * spec.tiling.n * 4)
    if not spec.bias:
        return 0
    size = spec.tiling.m * spec.tiling.n
    if spec.by_lanes:
        return _words(size * 4)
    part = min(size, 1024 // spec.lane_bits)
    parts = size // part if spec.border_bias or spec.row_bias else 1
    row = _words(spec.tiling.n * 4)
    return parts * (part // spec.tiling.n * row + (_words(part * 4) if spec.row_bias else 0))


def _narrowings(spec: KernelSpec, lanes: int, wide: int) -> int:
    """Shift-round-saturates of one store."""
    size = BYTES[spec.requantise.dtype]
    if wide:
        return wide * _words(16 * size) + (_words(lanes * 4) if spec.lane_bits == 64 else 0)
    return _words(lanes * size) if 8 * size < spec.lane_bits else 0


def _factor_loads(spec: KernelSpec) -> int:
    """Loads of multipliers and addends by column for one store."""
    r = spec.requantise
    if not spec.stores or not r.scaled:
        return 0
    n = spec.tiling.n
    once = 16 // n * _words(n * 4) if spec.joined == 1 else _words(16 * 4)
    return once * ((r.form == "channel") + (r.addend == "channel"))


def lookup_counts(keys: int) -> Counts:
    """What so many keys take: 64 bits are read for each, and indices go through accumulators."""
    return Counts(load=keys // 4, srs=keys // 8)


@singledispatch
def counts_of(spec: object, *sizes: int) -> Counts:
    """Operations of one call of a kernel of rows or elements, on so many vectors (or tiles)."""
    raise NotImplementedError(f"{spec}, {sizes}")


@counts_of.register
def _table(spec: TableSpec, vectors: int) -> Counts:
    """Operations of one call on so many vectors."""
    each = lookup_counts(spec.lanes)
    return Counts(load=vectors * (each.load + 1), store=vectors, srs=vectors * each.srs)


@counts_of.register
def _softmax(spec: SoftmaxSpec, vectors: int) -> Counts:
    """Operations of rows of so many vectors of 32 elements together."""
    keys = lookup_counts(spec.lanes)
    halves = spec.lanes // KEYS
    return Counts(
        load=vectors * (1 + 2 * (halves + keys.load)),
        store=vectors * halves,
        srs=vectors * (2 * keys.srs + halves),
        multiply=vectors * 2 * halves,
    )


@counts_of.register
def _add(spec: AddSpec, vectors: int) -> Counts:
    """Operations of one call on so many vectors."""
    loads = -(-spec.lanes * BYTES[spec.a] // 32)
    stores = -(-spec.lanes * BYTES[spec.dtype] // 32)
    return Counts(
        multiply=2 * vectors,
        load=2 * loads * vectors,
        store=stores * vectors,
        srs=stores * vectors,
    )


@counts_of.register
def _pool(spec: MaxPoolSpec, blocks: int, groups: int, taps: int) -> Counts:
    """Operations of one call; every load need not be aligned and reads a word more."""
    words = -(-spec.m * spec.n * BYTES[spec.dtype] // 32)
    tiles = blocks * groups * spec.rows
    return Counts(load=tiles * taps * (words + 1), store=tiles * words)


@counts_of.register
def _multiplied(spec: MultipliedSpec, vectors: int) -> Counts:
    """Operations of one call on so many vectors."""
    halves = PRODUCTS // 16  # sums of 64 bits that are rounded together
    return Counts(
        multiply=(1 + halves * NARROW_PRODUCT) * vectors,
        load=2 * vectors,
        store=vectors,
        srs=halves * vectors,
    )


@counts_of.register
def _turned(spec: TurnedSpec, tiles: int) -> Counts:
    """Operations of one call on so many tiles, of two vectors each."""
    return Counts(load=2 * tiles, store=2 * tiles)


@counts_of.register
def _float_softmax(spec: FloatSoftmaxSpec, vectors: int, rows: int) -> Counts:
    """Operations of rows of so many vectors together."""
    keys = lookup_counts(LANES)
    return Counts(
        load=vectors * (1 + 2 * (EXPONENTIAL.load + keys.load)),
        store=vectors,
        srs=vectors * (2 * (EXPONENTIAL.srs + keys.srs) + SPLIT + 1)
        + rows * 2 * SPLIT * (1 + spec.steps),
        multiply=vectors * (2 * EXPONENTIAL.multiply + TIMES) + rows * 2 * TIMES * spec.steps,
    )


@counts_of.register
def _float_norm(spec: FloatNormSpec, vectors: int, rows: int) -> Counts:
    """Operations of rows of so many vectors together."""
    root = Counts(srs=SPLIT * (2 + 4 * spec.steps), multiply=(3 * TIMES + 2) * spec.steps)
    row_srs, row_multiply = root.srs + 2 * SPLIT, root.multiply + TIMES
    if spec.rms:
        srs, multiply, load = SPLIT + 1, 1 + 2 + 2, 1 + 2
    else:
        srs, multiply, load = 3 * SPLIT + 1, 2 + TIMES + 2, 1 + 1 + 4
        row_srs, row_multiply = row_srs + 2 * SPLIT + 2, row_multiply + TIMES + 2
    return Counts(
        load=vectors * load,
        store=vectors,
        srs=vectors * srs + rows * row_srs,
        multiply=vectors * multiply + rows * row_multiply,
    )


@counts_of.register
def _float_pair(spec: FloatPairSpec, vectors: int) -> Counts:
    """Operations of one call on so many vectors."""
    products = vectors if spec.operator == "mul" else 0
    return Counts(load=2 * vectors, store=vectors, srs=vectors, multiply=products)


@counts_of.register
def _float_function(spec: FloatFunctionSpec, vectors: int) -> Counts:
    """Operations of one call on so many vectors."""
    keys, halves = lookup_counts(spec.lanes), 2 if spec.slope else 0
    return Counts(
        load=vectors * (2 + keys.load),
        store=2 * vectors,
        srs=vectors * (keys.srs + halves),
        multiply=vectors * halves,
    )


@counts_of.register
def _norm(call: NormCall) -> Counts:
    """Operations of a call."""
    found = [_norm_block(call, rows) for rows in call.blocks]
    names = ("multiply", "load", "store", "srs")
    return Counts(**{name: sum(getattr(one, name) for one in found) for name in names})


def _norm_block(call: NormCall, rows: int) -> Counts:
    """Of rows whose sums are divided at once."""
    vectors, pairs, groups = call.width // call.spec.lanes, -(-rows // 2), call.groups
    words, down = HALF * 4 // WORD, call.steps
    products, narrowed = (6, 2) if call.spec.rms else (8, 5)
    return Counts(
        multiply=4 * pairs * vectors + groups * WIDE_PRODUCT * products + 2 * rows * vectors,
        load=2 * pairs * vectors + 2 * groups * HALF * words + 6 * vectors + rows * vectors,
        store=2 * groups * HALF * words + 3 * groups * words + rows * vectors,
        srs=groups * words * (down + 1 + narrowed) + 3 * rows * vectors,
    )
