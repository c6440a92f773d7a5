"""Every rule that an `ArrayProgram` must keep, by name, with its source.

The checker shares no code with the builder. A rule yields what is wrong: where, how much is asked
for, how much there is, and what to change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from match_aie.errors import InternalError
from match_aie.targets.aie_ml.array.neighbours import neighbours
from match_aie.targets.aie_ml.array.program import ArrayProgram
from match_aie.targets.aie_ml.array.rules_cascade import cascade_order, cascades
from match_aie.targets.aie_ml.array.rules_data import delivered, written
from match_aie.targets.aie_ml.array.rules_memory import (
    addressing,
    apart,
    banks,
    descriptors,
    locks,
    memory_tiles,
    ping_pong,
    stack,
)
from match_aie.targets.aie_ml.array.rules_switch import (
    channels,
    inside,
    pass_through,
    ports,
    routes,
    ways,
)
from match_aie.targets.aie_ml.array.violation import Violation
from match_aie.targets.aie_ml.devices import Device

Check = Callable[[ArrayProgram, Device], Iterator[Violation]]


@dataclass(frozen=True)
class Rule:
    """A rule: its name, where it stands, and the check."""

    name: str
    source: str
    check: Check


def program_memory(program: ArrayProgram, device: Device) -> Iterator[Violation]:
    """The estimate of every kernel's instructions fits."""
    bound = device.architecture.core.program_memory_bytes
    for core in program.cores:
        if core.program_bytes > bound:
            yield Violation(
                f"tile {core.tile}",
                "bytes of program memory (estimated)",
                core.program_bytes,
                bound,
                "variant 'overlapped' instead of 'flat', or a smaller block",
            )


def words(program: ArrayProgram, device: Device) -> Iterator[Violation]:
    """Streams carry whole words, and rows of `mmul` tiles begin at one."""
    word = 4
    for route in program.routes:
        if route.bytes % word:
            yield Violation(
                route.name, "bytes beyond a word", route.bytes % word, 0, "calls of more rows"
            )
    for d in program.descriptors:
        if any(size < 1 or step < 1 for size, step in d.dims):
            yield Violation(
                f"{d.buffer} of tile {d.channel.tile}",
                "dimensions smaller than a word",
                1,
                0,
                "a tiling with rows of 4 bytes or more",
            )
    del device


#: What a device has of everything.
RESOURCES = (
    Rule("inside", "aie_devices.json: columns, rows (TM)", inside),
    Rule("banks", "aie_devices.json: core.data_banks (AM020)", banks),
    Rule("apart", "aie_devices.json: latencies.bank_conflict_penalty (XAUD)", apart),
    Rule("ping-pong", "UG1079: buffers are double by default", ping_pong),
    Rule("stack", "aie_devices.json: core.stack_default_bytes", stack),
    Rule("memory-tiles", "aie_devices.json: mem_tile.bytes (AM020)", memory_tiles),
    Rule("descriptors", "aie_devices.json: buffer_descriptors; even 0-23, odd 24-47", descriptors),
    Rule("addressing", "aie_devices.json: bd_addressing (AIERT)", addressing),
    Rule("locks", "aie_devices.json: locks (AM020)", locks),
    Rule("channels", "aie_devices.json: dma (AM020)", channels),
    Rule("ports", "aie_devices.json: stream_switch.ports, packet_switching", ports),
    Rule("routes", "AM020: a switch connects neighbours", routes),
    Rule("ways", "aie_devices.json: pl_streams (AM020); stream_switch.ports", ways),
    Rule("pass-through", "aie_devices.json: mem_tile.switch_note", pass_through),
    Rule("neighbours", "aie_devices.json: core.neighbour_memory (AM020)", neighbours),
    Rule("cascades", "aie_devices.json: core.cascade.directions", cascades),
    Rule("words", "aie_devices.json: stream_switch.address_granularity_bits", words),
    Rule("program-memory", "aie_devices.json: core.program_memory_bytes", program_memory),
)

#: What the layer means.
DATA = (
    Rule("written", "AM020: memories start with anything", written),
    Rule("delivered", "UG1603: adf::tiling_parameters", delivered),
    Rule("cascade-order", "AM020: a cascade is a stream of words", cascade_order),
)

RULES = (*RESOURCES, *DATA)


def violations(
    program: ArrayProgram, device: Device, rules: tuple[Rule, ...] = RULES
) -> tuple[tuple[str, Violation], ...]:
    """(rule, what is wrong) of everything that is."""
    return tuple((rule.name, each) for rule in rules for each in rule.check(program, device))


def check(program: ArrayProgram, device: Device) -> None:
    """Prove `program` against all rules.

    Raises:
        InternalError: one does not hold; names the rule, the place, the numbers, the remedy.
    """
    found = violations(program, device)
    if found:
        name, first = found[0]
        more = f"; and {len(found) - 1} more" if len(found) > 1 else ""
        raise InternalError(
            f"array rule {name!r}: {first}{more}", where=first.where, hint=first.remedy
        )
