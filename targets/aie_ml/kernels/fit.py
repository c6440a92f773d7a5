"""Whether a core can run a generated kernel, and which blocks of accumulators fit its registers."""

from __future__ import annotations

from dataclasses import replace

from match_aie.errors import TargetError
from match_aie.targets.aie_ml.devices import Device, pair_name
from match_aie.targets.aie_ml.kernels.spec import BYTES, KernelSpec

#: Bytes of one VLIW bundle at most: program memory is 1024 words of 128 bits (facts file).
BUNDLE_BYTES = 16

#: Copies of the block in `passes`: the first one of all, a pair in a loop, the last and the first
#: one of two calls, the last one of all.
PASSING = 6

#: Bytes of a load or store.
WORD = 32

#: Bytes of the longest vector that is loaded from anywhere (aie_api, detail/aie2/vector.hpp).
WIDEST_UNALIGNED = 128

#: Bytes of the vector that elements of a row of an upright x are taken from.
WIDE = 64


def check_kernel(spec: KernelSpec, device: Device) -> None:
    """Refuse a kernel that the device's cores cannot run.

    Raises:
        TargetError: the tiling is not legal there, its generation has not what the text takes, the
            accumulators of two blocks (one summed while the other is drained) do not fit, or the
            code about does not.
    """
    core = device.architecture.core
    _refuse_text(spec, device)
    if spec.operation == "mmul" and spec.tiling not in core.tilings_of(spec.a, spec.b):
        t = spec.tiling
        raise TargetError(
            f"{device.name} has no mmul {t.m}x{t.k}x{t.n} for {pair_name(spec.a, spec.b)}",
            hint="; ".join(f"{s.m}x{s.k}x{s.n}" for s in core.tilings_of(spec.a, spec.b)),
        )
    file = device.need(core.accumulators, "the number of accumulators")
    sets = 1 if spec.tiling.waits else 2
    blocks = "one block" if sets == 1 else "two blocks"
    # Operands become blocks by way of an accumulator.
    needed = (sets * spec.accumulators + spec.blocked) * accumulator_bits(spec)
    if needed > file.count * file.bits:
        raise TargetError(
            f"{blocks} of {spec.rows}x{spec.columns} accumulators need {needed} bits, "
            f"a core of {device.name} has {file.count * file.bits}",
            hint="a smaller block",
        )
    size = program_bytes(spec, device)
    if size > core.program_memory_bytes:
        raise TargetError(
            f"kernel {spec.family} needs about {size} bytes of program memory, "
            f"a core of {device.name} has {core.program_memory_bytes}",
            hint="a smaller block",
        )


def _refuse_text(spec: KernelSpec, device: Device) -> None:
    """Refuse what the vendor's headers for the device's generation do not compile.

    AIE rounds in eight modes of ten (`rounding_mode`), and sums of 80 bits have no text here.
    """
    t, end = spec.tiling, spec.requantise
    wide = t.m * (t.k if spec.operation == "mmul" else t.n) * BYTES[spec.a]
    if spec.gathered and wide > WIDEST_UNALIGNED:
        raise TargetError(
            f"tiles of {wide} bytes: {WIDEST_UNALIGNED} at most are loaded where they lie",
            hint="a smaller tiling",
        )
    if device.architecture.name != "AIE":
        return
    if spec.lane_bits > 64 or end.scaled:
        raise TargetError(
            f"kernels for {device.name} sum in 48 bits and requantise by a shift alone"
        )
    if end.rounding in ("symmetric_floor", "symmetric_ceil"):
        raise TargetError(f"a core of {device.name} has no rounding {end.rounding}")


def program_bytes(spec: KernelSpec, device: Device) -> int:
    """Program memory of one call of `spec`: an estimate, modelled, not measured.

    Sizes are constants of the call, so that of `run` in the template those copies of the block
    remain that its number of blocks needs. A copy holds its unrolled steps, one bundle for each
    vector instruction (or for two loads where there are more), and the loop over the rest with as
    much again to fill and drain the pipeline as a load and a product take. All steps of a flat
    kernel are unrolled.
    """
    arch = device.architecture
    t, core = spec.tiling, arch.core
    vmacs = spec.accumulators
    if spec.operation == "mmul":
        vmacs *= device.need(core.instructions(spec.a, spec.b, t), f"instructions of {t}")
    step = max(vmacs, -(-operand_loads(spec) // core.loads.count))
    product = arch.latency("vmac_bf16_latency" if spec.floating else "vmac_int_latency")
    pipeline = arch.latency("vector_load_to_use") + product
    unrolled = spec.k_steps if spec.flat else spec.drain_steps + spec.refill_steps + 1
    block = unrolled * step + pipeline
    drained = sum(arch.latency(name) for name in ("vsrs_latency", "vst_memory_stage"))
    blocks = spec.blocks[0] * spec.blocks[1]
    many = PASSING if spec.carries else copies(blocks)
    if spec.tiling.waits:
        many, block = 1, step + 2 * pipeline
    bundles = many * block + spec.drains * drained
    return bundles * BUNDLE_BYTES


def copies(blocks: int) -> int:
    """Copies of the block in `run` that are reached: first, a pair in a loop, one or two last."""
    if blocks == 1:
        return 1
    pair = 2 if (blocks - 2) // 2 else 0
    return 1 + pair + (1 if blocks % 2 == 0 else 2)


def flattened(spec: KernelSpec, device: Device, room: int | None = None) -> KernelSpec:
    """`spec` with all steps of K unrolled, if so much code fits `room` bytes; else with a loop.

    A block of a flat kernel sets up no loop, which is worth 2 cycles a block (fitted, see
    `match_aie.targets.aie_ml.schedule.place`). `room` is the whole program memory where None.
    """
    if spec.tiling.waits:
        return spec
    flat = replace(spec, flat=True)
    most = device.architecture.core.program_memory_bytes if room is None else room
    return flat if program_bytes(flat, device) <= most else replace(spec, flat=False)


def accumulator_bits(spec: KernelSpec) -> int:
    """Bits of one `mmul`'s accumulator."""
    return spec.tiling.m * spec.tiling.n * spec.lane_bits


def operand_loads(spec: KernelSpec) -> int:
    """Loads of one step. One that need not be aligned reads a word more."""
    t = spec.tiling
    matrix = spec.operation == "mmul"
    size_a = t.m * (t.k if matrix else t.n) * BYTES[spec.a]
    size_b = t.n * (t.k if matrix else t.m) * BYTES[spec.b]
    tiles_a = spec.rows * (1 if matrix else spec.columns)
    if spec.upright:
        size_a = t.k * WIDE
    loads_b = spec.columns * -(-size_b // WORD) if spec.weighted else 0
    if spec.by_lanes:
        loads_b *= t.high
    return tiles_a * (-(-size_a // WORD) + spec.gathered) + loads_b
