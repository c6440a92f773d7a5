"""Whether a core can run a generated kernel, and which blocks of accumulators fit its registers."""

from __future__ import annotations

from match_aie.errors import TargetError
from match_aie.targets.aie_ml.devices import CoreTile, Device, Tiling, pair_name
from match_aie.targets.aie_ml.kernels.spec import BYTES, KernelSpec


def check_kernel(spec: KernelSpec, device: Device) -> None:
    """Refuse a kernel that the device's cores cannot run.

    Raises:
        TargetError: the tiling is not legal there, its vectors are too short to load, or the
            accumulators of two blocks (one summed while the other is drained) do not fit.
    """
    core = device.architecture.core
    if spec.operation == "mmul" and spec.tiling not in core.tilings_of(spec.a, spec.b):
        t = spec.tiling
        raise TargetError(
            f"{device.name} has no mmul {t.m}x{t.k}x{t.n} for {pair_name(spec.a, spec.b)}",
            hint="; ".join(f"{s.m}x{s.k}x{s.n}" for s in core.tilings_of(spec.a, spec.b)),
        )
    file = device.need(core.accumulators, "the number of accumulators")
    needed = 2 * spec.accumulators * accumulator_bits(spec)
    if needed > file.count * file.bits:
        raise TargetError(
            f"two blocks of {spec.rows}x{spec.columns} accumulators need {needed} bits, "
            f"a core of {device.name} has {file.count * file.bits}",
            hint="a smaller block",
        )


def accumulator_bits(spec: KernelSpec) -> int:
    """Bits of one `mmul`'s accumulator."""
    return spec.tiling.m * spec.tiling.n * spec.lane_bits


def block_shapes(a: str, b: str, tiling: Tiling, core: CoreTile) -> tuple[tuple[int, int], ...]:
    """(rows, columns) of blocks that fit the registers, fewest loaded bytes per `mmul` first.

    Two blocks' accumulators must fit, and two K steps' operands, since loads run ahead. A K step
    loads rows * A + columns * B bytes. Empty where the number of registers is not known.
    """
    if core.accumulators is None or core.vector_registers is None or core.vector_bits is None:
        return ()
    lane = 64 if a != "bfloat16" and BYTES[a] * BYTES[b] > 2 else 32
    most = core.accumulators.count * core.accumulators.bits // (2 * tiling.m * tiling.n * lane)
    shapes = [(r, c) for r in range(1, most + 1) for c in range(1, most // r + 1)]
    bytes_a, bytes_b = tiling.m * tiling.k * BYTES[a], tiling.k * tiling.n * BYTES[b]
    wide = core.vector_bits // 8
    registers_a, registers_b = -(-bytes_a // wide), -(-bytes_b // wide)
    shapes = [
        (r, c)
        for r, c in shapes
        if 2 * (r * registers_a + c * registers_b) <= core.vector_registers
    ]

    def loads(shape: tuple[int, int]) -> tuple[float, int]:
        rows, columns = shape
        return (rows * bytes_a + columns * bytes_b) / (rows * columns), -rows * columns

    return tuple(sorted(shapes, key=loads))
