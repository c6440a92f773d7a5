"""Results held to bounds that saturating does not ensure."""

from __future__ import annotations

from collections.abc import Iterator

from match_aie.targets.aie_ml.schedule.kernel import ELEMENT_BYTES, Kernel
from match_aie.targets.aie_ml.schedule.machine import MOVE, Machine
from match_aie.targets.aie_ml.schedule.operation import Operation


def bounds(kernel: Kernel) -> tuple[str, ...]:
    """Bounds of a result that saturating does not ensure."""
    low = kernel.relu and not kernel.out.startswith("u")
    return ("relu",) * low + ("least",) * kernel.high


def clip(
    bound: str, tag: str, part: int, result: str, kernel: Kernel, core: Machine
) -> Iterator[Operation]:
    """A maximum or minimum; of bytes as 16 bits where cores compare no fewer.

    Args:
        bound: its name.
        tag: of the accumulator.
        part: of the result.
        result: what is clipped.
        kernel: of it.
        core: where.
    """
    clipped = f"x{tag}.{part}{'' if bound == 'relu' else 'h'}"
    if core.compares_bytes or ELEMENT_BYTES[kernel.out] > 1:
        yield Operation("maximum", bound, (MOVE,), (result,), clipped, core.move)
        return
    wide, most = f"x{tag}.{part}{bound}w", f"x{tag}.{part}{bound}m"
    yield Operation("shuffle", f"{bound}.unpack", (MOVE,), (result,), wide, core.move)
    yield Operation("maximum", bound, (MOVE,), (wide,), most, core.move)
    yield Operation("shuffle", f"{bound}.pack", (MOVE,), (most,), clipped, core.move)
