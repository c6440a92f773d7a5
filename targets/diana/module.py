"""The digital array as an execution module."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal

from match_aie.cost_models.diana import DianaDigital, block_channels, packed_bytes
from match_aie.hardware import (
    Blocked,
    Constants,
    Converted,
    ExecModule,
    Loop,
    Memory,
    OwnArithmetic,
    Packed,
    Pattern,
    Priced,
    Roof,
)
from match_aie.targets.diana.facts import FACTS
from match_aie.targets.diana.packing import pack
from match_aie.targets.diana.patterns import PATTERNS
from match_aie.workload import FixedPoint, Workload, to_fixed_point, to_nearest_shift

#: (sum + offset) >> S: no multiplier, so all scales are one power of two. Zero points and rounding
#: to the nearest go into the offset; padding is 0.
ARITHMETIC = FixedPoint(
    multiplier_bits=0,
    max_shift=FACTS.most_shift,
    bits=32,
    rounding="floor",
    offset=True,
    inputs="raw",
)

#: Cycles of the controller to start an array, and of a wait for a transfer that is over (both
#: assumed).
START, WAIT = 100.0, 10.0


class DigitalArray(ExecModule, Packed, OwnArithmetic, Priced):
    """Convolutions, depthwise ones, dense layers and sums of int8, requantised by a shift.

    Args:
        activation_bytes: of the memory that holds tiles of x, x1 and y.
        weight_bytes: of the memory beside it, for weights and offsets.
    """

    name = "digital"
    arithmetic: ClassVar[Literal["model", "module"]] = "module"

    def __init__(
        self,
        activation_bytes: int = FACTS.activation_bytes,
        weight_bytes: int = FACTS.weight_bytes,
    ) -> None:
        """Two inner memories side by side, and L2 behind a DMA that blocks."""
        self.memories = (
            Memory(
                "activations",
                activation_bytes,
                FACTS.activation_rate,
                operands=("x", "x1", "y"),
                alignment=16,
            ),
            Memory(
                "weights",
                weight_bytes,
                FACTS.weight_rate,
                operands=("weight", "offset"),
                alignment=16,
            ),
            Memory(
                "L2",
                FACTS.l2_bytes,
                FACTS.dma_rate,
                transfer_cycles=WAIT,
                chunk_cycles=FACTS.chunk_cycles,
            ),
        )
        self._cost = DianaDigital(FACTS.lanes, call=START)

    def patterns(self) -> Sequence[Pattern]:
        """Convolutions, dense layers and sums; `patterns.refuses` says the rest."""
        return PATTERNS

    def convert(self, workload: Workload, constants: Constants) -> Converted | str:
        """The layer as `(sum + offset) >> S`, or why not."""
        found = to_fixed_point(workload, constants, ARITHMETIC)
        return found if isinstance(found, str) else self._too_large(found.workload) or found

    def nearest(self, workload: Workload, constants: Constants) -> Converted | str:
        """With weights rounded anew, so that all scales are one power of two, or why not."""
        found = to_nearest_shift(workload, constants, ARITHMETIC)
        return found if isinstance(found, str) else self._too_large(found.workload) or found

    def _too_large(self, workload: Workload) -> str | None:
        """Weights are cut into blocks of channels."""
        room = self.memories[1].bytes
        channels, block = workload.output.shape[-1], block_channels(workload)
        least = sum(
            packed_bytes(workload, operand.name)
            for operand in workload.constants
            if self.memories[1].serves(operand.name)
        )
        if workload.kind != "add":
            least //= -(-channels // block)
        if room is None or least <= room:
            return None
        return f"the least tile of its packed constants is {least} bytes, of {room}"

    def spatial(self, workload: Workload) -> Sequence[Loop]:
        """16 output channels by 16 columns."""
        return self._cost.spatial(workload)

    def cost_model(self, workload: Workload) -> DianaDigital:
        """MATCH's closed form; see `match_aie.cost_models.diana`."""
        del workload
        return self._cost

    def roof(self, workload: Workload) -> Roof:
        """A product in every lane, and the DMA between L2 and both inner memories."""
        lanes = float(FACTS.lanes**2)
        source = "array: MATCH's paper; DMA: MATCH's sources"
        return Roof(lanes, FACTS.dma_rate, "L2", workload.nbytes, source)

    def template(self, workload: Workload) -> str:
        """One for all."""
        del workload
        return "diana/digital.c.mako"

    def layouts(self, workload: Workload) -> Mapping[str, Blocked]:
        """Blocks of channels, as `packing` makes them."""
        if workload.kind == "add":
            return {}
        block = block_channels(workload)
        operands = {o.name: o for o in workload.constants}
        blocks = -(-workload.output.shape[-1] // block)
        return {
            name: Blocked.rows(operands[name], packed_bytes(workload, name) // blocks, block)
            for name in ("weight", "offset")
        }

    def pack(self, workload: Workload, constants: Constants) -> Constants:
        """As `packing` says."""
        return pack(workload, constants)
