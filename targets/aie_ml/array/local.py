"""What a tile's own memory holds, bank by bank.

A schedule assumes that activations, weights and everything else (results, bias, stack) lie in
different banks; the two buffers of a ping-pong pair too, where there is room. Where not, the
DMA takes cycles of a bank from the core.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from match_aie.errors import Infeasible
from match_aie.targets.aie_ml.array.layer import ArrayMapping
from match_aie.targets.aie_ml.devices import Device

LEVERS = ("fewer rows a call", "fewer columns a call", "more tiles along the reduction")


@dataclass(frozen=True)
class LocalPlan:
    """Banks of a tile.

    Attributes:
        input_banks: of the two activation buffers together.
        weight_banks: of the weights.
        other_banks: of results, bias and stack.
        shared: bytes a call that the DMA writes into a bank from which the core loads.
    """

    input_banks: int
    weight_banks: int
    other_banks: int
    shared: int

    def stall(self, device: Device) -> int:
        """Cycles a call that the core loses to the DMA (+1 an access: the facts' penalty)."""
        width = device.need(device.architecture.core.banks.width_bits, "width of a memory bank")
        penalty = device.architecture.latency("bank_conflict_penalty")
        return penalty * ceil(self.shared / (width // 8)) if self.shared else 0


def plan_local(mapping: ArrayMapping, device: Device) -> LocalPlan | Infeasible:
    """Banks for the buffers of any tile of `mapping`; every tile is planned like the fullest."""
    core = device.architecture.core
    banks = core.banks.logical or core.banks.count
    size = core.data_memory_bytes // banks
    stack = device.need(core.stack_default_bytes, "default stack")
    a = mapping.input_bytes
    w = mapping.weight_bytes * mapping.column_steps if not mapping.streamed else 0
    streamed = mapping.weight_bytes if mapping.streamed else 0
    other = ceil((2 * mapping.output_bytes + mapping.bias_bytes + stack) / size)
    apart = 2 * ceil(a / size)
    together = ceil(2 * a / size)
    w_apart = 2 * ceil(streamed / size) if streamed else ceil(w / size)
    w_together = ceil(2 * streamed / size) if streamed else w_apart
    for inputs, weights in (
        (apart, w_apart),
        (together, w_apart),
        (apart, w_together),
        (together, w_together),
    ):
        if inputs + weights + other <= banks:
            shared = (a if inputs < apart else 0) + (streamed if weights < w_apart else 0)
            return LocalPlan(inputs, weights, other, shared)
    breakdown = (
        ("activations, twice", 2 * a),
        ("weights", w + 2 * streamed),
        ("results, bias, stack", 2 * mapping.output_bytes + mapping.bias_bytes + stack),
    )
    return Infeasible(
        "memory banks of a tile",
        together + w_together + other,
        banks,
        f"banks of {size} bytes",
        LEVERS,
        breakdown,
    )
