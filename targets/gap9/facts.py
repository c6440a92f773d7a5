"""What is known about the chip: numbers from `facts.json`, each with its source there."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import Any

from match_aie.errors import TargetError
from match_aie.hardware import Energy, Figure

FACTS_FILE = Path(__file__).with_name("facts.json")


@dataclass(frozen=True)
class ClockFacts:
    """Cluster clocks in Hz: of the paper's experiments, and at 0.65 V and 0.8 V."""

    typical_hz: float
    low_voltage_hz: float
    high_voltage_hz: float


@dataclass(frozen=True)
class MemoryFacts:
    """Bytes of every memory; `usable` is what a program's tensors get of it."""

    l1_bytes: int
    l1_usable_bytes: int
    l1_list_bytes: int
    l1_banks: int
    l1_bank_bytes: int
    l1_address: int
    l2_bytes: int
    l2_usable_bytes: int
    emram_bytes: int
    l3_bytes: int


@dataclass(frozen=True)
class DmaFacts:
    """The engine between L2 and L1 (MCHAN v7): cluster cycles and bytes."""

    bytes_per_cycle: int
    latency_cycles: int
    program_cycles: int
    most_bytes: int
    paper_chunk_cycles: int
    match_api_cycles: int


@dataclass(frozen=True)
class CoreFacts:
    """How many cores there are, and bytes of their stacks in L1."""

    control: int
    cluster: int
    workers: int
    controller_stack_bytes: int
    worker_stack_bytes: int


@dataclass(frozen=True)
class ClusterFacts:
    """What the worker cores compute: 8-bit multiply-accumulates."""

    macs_per_instruction: int
    peak_macs_per_cycle: int
    best_macs_per_cycle: float
    inner_loads: int
    inner_dot_products: int
    inner_macs: int


@dataclass(frozen=True)
class Ne16Facts:
    """The convolution accelerator: its array, its registers, what it accepts."""

    columns: int
    blocks: int
    input_channels: int
    output_channels: int
    depthwise_channels: int
    output_pixels: int
    stride2_pixels: int
    port_bytes: int
    queue: int
    registers: int
    least_weight_bits: int
    most_weight_bits: int
    most_padding: int
    most_shift: int
    address: int
    program_cycles: int


@dataclass(frozen=True)
class Facts:
    """Everything, by part of the chip."""

    clock: ClockFacts
    memory: MemoryFacts
    dma: DmaFacts
    cores: CoreFacts
    cluster: ClusterFacts
    ne16: Ne16Facts
    energy: Energy


def _section(kind: type[Any], name: str, data: Mapping[str, Any]) -> Any:  # noqa: ANN401
    """One section as its dataclass; every value has a source that the file lists."""
    section, sources = data[name], data["sources"]
    names = [field.name for field in fields(kind)]
    if sorted(names) != sorted(section):
        raise TargetError(
            f"facts: section {name!r} and {kind.__name__} name different facts: "
            f"{sorted(set(names) ^ set(section))}"
        )
    for fact, entry in section.items():
        if entry.get("source") not in sources:
            raise TargetError(f"facts: {name}.{fact} has no source that the file lists")
    return kind(**{fact: section[fact]["value"] for fact in names})


def read_facts(path: Path) -> Facts:
    """The facts in `path`.

    Raises:
        TargetError: a fact is missing, unknown, or without a source.
    """
    data = json.loads(path.read_text())
    return Facts(
        clock=_section(ClockFacts, "clock", data),
        memory=_section(MemoryFacts, "memory", data),
        dma=_section(DmaFacts, "dma", data),
        cores=_section(CoreFacts, "cores", data),
        cluster=_section(ClusterFacts, "cluster", data),
        ne16=_section(Ne16Facts, "ne16", data),
        energy=_energy(data),
    )


def _energy(data: Mapping[str, Any]) -> Energy:
    """Picojoules, with their ranges."""
    sources = data["sources"]
    try:
        found = {
            name: Figure(entry["value"], entry["low"], entry["high"], sources[entry["source"]])
            for name, entry in data["energy"].items()
        }
        units = {name: found[name] for name in ("ne16", "cluster")}
        return Energy(found["core"], units, found["byte"], found["fetched"])
    except KeyError as error:
        raise TargetError(f"facts: energy: {error} is missing") from error


@lru_cache(maxsize=1)
def facts() -> Facts:
    """The facts of this chip, read once."""
    return read_facts(FACTS_FILE)
