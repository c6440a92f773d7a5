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


@dataclass(frozen=True)
class Counts:
    """Operations of one kernel call.

    Attributes:
        mmul: calls of `mmul::mul` and `mac`.
        vmac: vector instructions of those.
        multiply: vector instructions of element-wise products, 1024 bits of sums each.
        load: 256-bit words loaded.
        store: 256-bit words stored.
        srs: shift-round-saturates of 512 bits of sums.
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
    steps = blocks * spec.k_steps
    sums = t.m * t.n * spec.lane_bits // 8
    operands = spec.rows * _words(t.m * t.k * BYTES[spec.a]) + spec.columns * _words(
        t.k * t.n * BYTES[spec.b]
    )
    # Every block fetches what the next starts from; nothing comes after the last.
    starts = blocks * spec.accumulators * _bias_loads(spec)
    drained = blocks * spec.drains
    lanes = t.m * t.n * spec.joined
    wide = lanes // 16 if r.scaled else 0
    mmuls = steps * spec.accumulators
    return Counts(
        mmul=mmuls,
        vmac=mmuls * (core.instructions(spec.a, spec.b, t) or 1),
        multiply=drained * wide if spec.stores else 0,
        load=steps * operands + starts + (drained * _factor_loads(spec) if spec.stores else 0),
        store=drained * _words(lanes * BYTES[r.dtype]) if spec.stores else 0,
        srs=drained * (_words(sums * spec.joined, 64) + 2 * wide) if spec.stores else 0,
        cascade_in=blocks * spec.accumulators * _words(sums, CASCADE_WORD) if spec.receives else 0,
        cascade_out=0 if spec.stores else drained * _words(sums, CASCADE_WORD),
    )


def _words(size: int, word: int = WORD) -> int:
    return -(-size // word)


def _bias_loads(spec: KernelSpec) -> int:
    """Loads that set one accumulator: a row of the bias for each row of its first part."""
    if not spec.bias:
        return 0
    part = min(spec.tiling.m * spec.tiling.n, 1024 // spec.lane_bits)
    return part // spec.tiling.n


def _factor_loads(spec: KernelSpec) -> int:
    """Loads of per-column multipliers for one store."""
    if spec.requantise.form != "channel":
        return 0
    return 16 // spec.tiling.n if spec.joined == 1 else _words(16 * 4)
