"""The core as a scheduler sees it: slots, ports, registers and latencies, all from the facts.

Which instruction issues in which slot is that of llvm-aie (AIE2Schedule.td and
AIE2GenFixupInstrInfo.td, the facts' source LLVM): products in the vector slot; loads, loads of
accumulators and cascade reads in load A; loads in load B; shift-round-saturate, stores and cascade
writes in the store slot; maxima, shuffles and accumulator copies in the move slot. There are no
interlocks.
"""

from __future__ import annotations

from dataclasses import dataclass

from match_aie.errors import TargetError
from match_aie.targets.aie_ml.devices import Architecture

VECTOR, LOAD_A, LOAD_B, STORE, MOVE = "vector", "load_a", "load_b", "store", "move"
SLOTS = (VECTOR, LOAD_A, LOAD_B, STORE, MOVE)


@dataclass(frozen=True)
class Machine:
    """A core of one generation.

    Attributes:
        name: of the generation.
        macs: products per cycle by the facts' pair names.
        native: `mmul` shapes that one instruction computes, by pair name.
        load_bytes: of one load.
        store_bytes: of one store.
        accumulator_bits: of one accumulator register.
        accumulators: registers of that width.
        vectors: vector registers of `load_bytes` bytes.
        cascade_bytes: of one cascade transfer.
        load: cycles from a vector load to its use.
        load_up: of a load that widens into an accumulator; None where it is not known.
        product: of an integer product.
        product_distance: least cycles between two products on one accumulator.
        float_product: of a bf16 product.
        float_distance: likewise.
        srs: shift-round-saturate to its use.
        move: maximum, shuffle, copy.
        cascade_read: cascade to accumulator.
        widens: cycles from a vector in a register to its use as sums, where no load gives
            accumulators their first values; None where loads do.
        compares_bytes: whether vectors of 8-bit elements have maxima.
        wide_load: of bfloat16 that a load widens to floats in an accumulator; None where no
            operands become block floating point.
        wide_move: likewise of bfloat16 in a vector.
        to_blocks: from floats in an accumulator to blocks.
    """

    name: str
    macs: dict[str, int]
    native: dict[str, tuple[tuple[int, int, int], ...]]
    load_bytes: int
    store_bytes: int
    accumulator_bits: int
    accumulators: int
    vectors: int
    cascade_bytes: int
    load: int
    load_up: int | None
    product: int
    product_distance: int
    float_product: int
    float_distance: int
    srs: int
    move: int
    cascade_read: int
    widens: int | None = None
    compares_bytes: bool = True
    wide_load: int | None = None
    wide_move: int | None = None
    to_blocks: int | None = None


def machine(arch: Architecture) -> Machine:
    """The core of `arch`.

    Raises:
        TargetError: a fact that schedules need is not known for this generation.
    """
    core = arch.core
    if core.accumulators is None or core.vector_registers is None or core.vector_bits is None:
        raise TargetError(
            f"registers of {arch.name} are not known", hint="schedules need their number and width"
        )
    first = arch.name == "AIE"
    bf16 = "vmac_bf16" if "vmac_bf16_latency" in arch.latencies else "vmac_bf16_bfp16"
    return Machine(
        name=arch.name,
        macs={pair: rate for pair, rate in core.macs.items() if rate is not None},
        native={
            pair: tuple((t.m, t.k, t.n) for t in shapes if t.native)
            for pair, shapes in core.tilings.items()
        },
        load_bytes=core.loads.bits // 8,
        store_bytes=core.stores.bits // 8,
        accumulator_bits=core.accumulators.bits,
        accumulators=core.accumulators.count,
        vectors=core.vector_registers * core.vector_bits // core.loads.bits,
        cascade_bytes=core.cascade_bits // 8,
        load=arch.latency("vector_load_to_use"),
        load_up=arch.latencies.get("vector_load_ups_to_use"),
        product=arch.latency("vmac_int_latency"),
        product_distance=arch.latency("vmac_int_same_acc_min_distance"),
        float_product=arch.latency(f"{bf16}_latency"),
        float_distance=arch.latency(f"{bf16}_same_acc_min_distance"),
        srs=arch.latency("vsrs_latency"),
        move=arch.latency("vshuffle_vshift_vmov_latency"),
        cascade_read=arch.latency("cascade_read_latency"),
        # The vendor's headers make sums of vectors by `ups`, and compare bytes as 16 bits
        # (detail/aie1/accum.hpp, max_min.hpp).
        widens=_widening(arch) if first else None,
        compares_bytes=not first,
        wide_load=arch.latencies.get("vconv_fp32_bf16_load_latency"),
        wide_move=arch.latencies.get("vconv_fp32_bf16_move_latency"),
        to_blocks=arch.latencies.get("vconv_bfp16_fp32_latency"),
    )


def _widening(arch: Architecture) -> int:
    """Cycles by which a load that widens is longer than one that does not."""
    return arch.latency("vector_load_ups_to_use") - arch.latency("vector_load_to_use")
