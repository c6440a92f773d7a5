"""What a tile's own memory holds, bank by bank.

A schedule assumes that activations, weights and everything else (results, bias, stack) lie in
different banks; the two buffers of a ping-pong pair too, where there is room. Where not, the
DMA takes cycles of a bank from the core. Where weights leave a single bank, all else may lie in
that one: then every access but those of a step's operands may meet one of these, and is priced
with a cycle. Where calls take turns and weights come by stream, there is room for neither:
`packing` has these tiles.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil

from match_aie.errors import Infeasible
from match_aie.targets.aie_ml.array.layer import ArrayMapping
from match_aie.targets.aie_ml.array.packing import Places, Turned, pack
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.schedule.kernel import BY_COLUMN
from match_aie.targets.aie_ml.schedule.loads import beside_steps, loading

LEVERS = (
    "fewer rows a call",
    "fewer columns a call",
    "more tiles along the reduction",
    "the reduction in more turns",
)


#: Bytes of `LocalPlan.shared` that stand for a word of a bank.
WORD_BYTES = 16

#: Tiles of rows and of columns that the largest blocks of accumulators have.
LARGEST = (4, 4)


@dataclass(frozen=True)
class LocalPlan:
    """Banks of a tile.

    Attributes:
        input_banks: of the two activation buffers together.
        weight_banks: of the weights.
        other_banks: of results, bias and stack; 0 where they lie with the activations.
        shared: bytes a turn that cost a cycle for each word of a bank: what the DMA writes into a
            bank from which the core loads, and all that meets activations which lie with it.
        places: banks by what they hold, of tiles whose calls take turns; empty for others.
    """

    input_banks: int
    weight_banks: int
    other_banks: int
    shared: int
    places: Places = ()

    def stall(self, device: Device) -> int:
        """Cycles a turn that the core loses to the DMA."""
        return device.lost_cycles(self.shared)


@dataclass(frozen=True)
class Demand:
    """Bytes of a tile's buffers, one copy of each.

    Attributes:
        inputs: activations of a turn.
        resident: weights that stay.
        streamed: weights of a turn that come by stream.
        outputs: results of a call.
        fixed: bias and stack.
        sums: that wait between the turns of a call, once.
        turns: of a call.
        shares: as `packing.Turned`.
        beside: words of a bank that a call's accesses take beside its steps; None where activations
            and all but the weights must lie apart.
    """

    inputs: int
    resident: int
    streamed: int
    outputs: int
    fixed: int
    sums: int = 0
    turns: int = 1
    shares: tuple[float, float] = (1.0, 1.0)
    beside: int | None = None

    def others(self, times: int = 1) -> int:
        """Bytes of all that is neither activations nor weights."""
        once = self.turns > 1 and bool(self.streamed)
        return times * ((2 - once) * self.outputs + self.sums) + self.fixed

    def most_times(self, room: int) -> int:
        """As many times the rows have no more bytes than `room`: more do not fit."""
        fixed = self.fixed + self.resident + 2 * self.streamed
        return max(0, room - fixed) // (2 * self.inputs + self.others() - self.fixed)

    def stall(self, device: Device) -> int:
        """Cycles a turn that its buffers' banks cost; 0 where there is no room for them."""
        found = self.plan(*logical_banks(device))
        return 0 if found is None else found.stall(device)

    def plan(self, banks: int, size: int, times: int = 1) -> LocalPlan | None:
        """Banks of `size` bytes for all of it, as few pairs together as possible.

        Of calls that have so many `times` the rows.
        """
        if self.turns > 1 and self.streamed:
            return self._turned(banks, size, times)
        inputs, other = self.inputs * times, ceil(self.others(times) / size)
        apart = 2 * ceil(inputs / size)
        weights = ceil(self.resident / size) + 2 * ceil(self.streamed / size)
        w_together = ceil((self.resident + 2 * self.streamed) / size)
        for i, w in (
            (apart, weights),
            (ceil(2 * inputs / size), weights),
            (apart, w_together),
            (ceil(2 * inputs / size), w_together),
        ):
            if i + w + other <= banks:
                shared = (inputs if i < apart else 0) + (self.streamed if w < weights else 0)
                return LocalPlan(i, w, other, shared)
        return self._near(banks, size, times)

    def _near(self, banks: int, size: int, times: int) -> LocalPlan | None:
        """Weights that stay, and everything else in the one bank that they leave."""
        if self.beside is None or self.streamed or ceil(self.resident / size) + 1 != banks:
            return None
        if 2 * self.inputs * times + self.others(times) > size:
            return None
        met = self.inputs + self.outputs + WORD_BYTES * self.beside
        return LocalPlan(1, banks - 1, 0, times * met)

    def _turned(self, banks: int, size: int, times: int) -> LocalPlan | None:
        turned = Turned(
            self.inputs * times,
            self.streamed,
            self.sums * times,
            self.outputs * times,
            self.fixed,
            self.turns,
            self.shares,
        )
        packed = pack(turned, banks, size)
        return None if packed is None else LocalPlan(*packed.taken, packed.shared, packed.places)


def logical_banks(device: Device) -> tuple[int, int]:
    """(number, bytes) of the banks in which a programmer places buffers; physical ones else."""
    core = device.architecture.core
    banks = core.banks.logical or core.banks.count
    return banks, core.data_memory_bytes // banks


def demand(
    mapping: ArrayMapping, device: Device, *, least: bool = False, near: bool = False
) -> Demand:
    """Of the fullest tile: every tile is planned like it.

    Args:
        mapping: of the tile.
        device: the array.
        least: whether its block of accumulators is not chosen yet: loads of the largest one.
        near: whether all but the weights may lie in one bank.
    """
    stack = device.need(device.architecture.core.stack_default_bytes, "default stack")
    weights = mapping.weight_bytes
    size = mapping.call_rows, mapping.call_reduction, mapping.call_columns
    kernel = mapping.kernel(0, block=LARGEST if least else mapping.block)
    need = Demand(
        inputs=mapping.input_bytes,
        resident=0 if mapping.streamed else mapping.part_weight_bytes,
        streamed=weights if mapping.streamed else 0,
        outputs=mapping.output_bytes,
        fixed=mapping.bias_bytes + stack,
        sums=mapping.sums_bytes,
        turns=mapping.reduction_steps,
        shares=loading(kernel, size, device),
    )
    if not near or need.streamed or need.turns > 1:
        return need
    ends = {mapping.kernel(at) for at in (0, mapping.cas_length - 1)}
    beside = max(beside_steps(end, size, device) for end in ends)
    numbers = 2 * (mapping.layer.requantise in BY_COLUMN) * 4 * mapping.part_columns
    return replace(need, beside=beside, fixed=need.fixed + numbers)


def plan_local(
    mapping: ArrayMapping, device: Device, *, least: bool = False, near: bool = False
) -> LocalPlan | Infeasible:
    """Banks for the buffers of any tile.

    Args:
        mapping: of the tile.
        device: the array.
        least: as `demand`.
        near: likewise.
    """
    banks, size = logical_banks(device)
    needed = demand(mapping, device, least=least, near=near)
    plan = needed.plan(banks, size)
    if plan is not None:
        return plan
    breakdown = (
        ("activations, twice", 2 * needed.inputs),
        ("weights", needed.resident + 2 * needed.streamed),
        ("results, bias, stack, waiting sums", needed.others()),
    )
    taken = sum(ceil(much / size) for _, much in breakdown)
    return Infeasible(
        "memory banks of a tile", taken, banks, f"banks of {size} bytes", LEVERS, breakdown
    )
