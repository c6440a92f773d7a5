"""How often a generated matrix kernel multiplies, loads, stores: counted from its source.

The emulation counts the same as it runs. A schedule of the kernel must have these numbers of
operations too.
"""

from __future__ import annotations

from dataclasses import dataclass

from match_aie.targets.aie_ml.devices import CoreTile
from match_aie.targets.aie_ml.kernels.spec import BYTES, KernelSpec

#: Bytes of a counted load or store, and of a cascade transfer.
WORD = 32
CASCADE_WORD = 64

#: Bytes of the vector that elements of a row of an upright x are taken from.
WIDE = 64

#: Vector products of one element-wise product of 32-bit integers in 64 bits: the vendor's headers
#: make it of the products of 16-bit halves (detail/aie2/emulated_mul_intrinsics.hpp).
WIDE_PRODUCT = 4

#: Likewise of 32-bit integers by 16-bit ones.
NARROW_PRODUCT = 2


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


def _words(size: int, word: int = WORD) -> int:
    return -(-size // word)


def operand_loads(spec: KernelSpec) -> int:
    """Loads of one step. One that need not be aligned reads a word more."""
    t = spec.tiling
    matrix = spec.operation == "mmul"
    size_a = t.m * (t.k if matrix else t.n) * BYTES[spec.a]
    size_b = t.n * (t.k if matrix else t.m) * BYTES[spec.b]
    tiles_a = spec.rows * (1 if matrix else spec.columns)
    if spec.upright:
        size_a = t.k * WIDE
    loads_b = spec.columns * _words(size_b) if spec.weighted else 0
    if spec.by_lanes:
        loads_b *= t.high
    return tiles_a * (_words(size_a) + spec.gathered) + loads_b


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
