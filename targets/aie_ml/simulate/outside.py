"""What is around the array: streams of programmable logic, DMA channels to the chip's memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil

from match_aie.simulation import Acquire, Command, Delay, Release, Resource
from match_aie.targets.aie_ml.devices import Device

#: Bytes that a channel asks of the chip's memory at a time in a simulation: how finely channels
#: take turns. It is no number of a chip; the sum of times does not depend on it.
GRAIN = 4096


@dataclass(frozen=True)
class Beyond:
    """Times and rates outside the array that no fact says: assumptions.

    Attributes:
        memory_gbps: of the chip's memory, where the device's facts say nothing: the peak of one
            64-bit LPDDR4 memory at 3200 MT/s.
        memory_cycles: from a DMA's request to its first data, cycles of the array.
        call_ns: of the processor around a layer: it programs a transfer each way, starts the graph
            and waits; some hundred accesses of uncached registers.
        copied_per_ns: bytes that the processor copies between tensors and the array's buffers.
        configuring_ns: to configure the array anew, where a stretch says so.
        updated_per_ns: bytes of run-time parameters that it writes to the tiles' memories: a word
            of uncached memory in 20 ns.
    """

    memory_gbps: float = 25.6
    memory_cycles: int = 200
    call_ns: float = 1000.0
    copied_per_ns: float = 5.6
    updated_per_ns: float = 0.2
    configuring_ns: float = 0.0


@dataclass(frozen=True)
class Ways:
    """Ways between the array and what is around it: how many, and bytes per cycle of each."""

    inputs: int
    input_rate: float
    outputs: int
    output_rate: float


def ways(device: Device) -> Ways:
    """Streams of programmable logic (128 bits at its clock), else DMA channels to memory.

    Raises:
        TargetError: neither is known of the device.
    """
    if device.plio_in is not None and device.plio_out is not None:
        clock = device.need(device.pl_clock_mhz, "clock of programmable logic") / 1000
        rate = 16 * clock / device.clock_ghz
        inputs, outputs = device.plio_in, device.plio_out
        if device.if_to_array_gbps is not None:
            inputs = min(inputs, int(device.if_to_array_gbps / device.clock_ghz / rate))
        if device.array_to_if_gbps is not None:
            outputs = min(outputs, int(device.array_to_if_gbps / device.clock_ghz / rate))
        return Ways(inputs, rate, outputs, rate)
    inputs = device.need(device.gmio_in, "DMA channels from memory")
    outputs = device.need(device.gmio_out, "DMA channels to memory")
    rate = float(device.architecture.shim_dma.bytes_per_cycle)
    if device.dram_way_gbps is None:
        return Ways(inputs, rate, outputs, rate)
    share = device.dram_way_gbps / device.clock_ghz
    return Ways(inputs, min(rate, share / inputs), outputs, min(rate, share / outputs))


class ChipMemory:
    """The chip's memory as DMA channels of interface tiles see it: one after the other.

    Reading and writing share one port, or have one each: `Device.dram_duplex`.
    """

    def __init__(self, device: Device, beyond: Beyond) -> None:
        """Nobody uses it yet."""
        gbps = beyond.memory_gbps if device.dram_gbps is None else device.dram_gbps
        self.rate = gbps / device.clock_ghz
        reading = Resource("chip's memory")
        writing = Resource("chip's memory, written") if device.dram_duplex else reading
        self._ports = reading, writing
        self.channel_rate = float(device.architecture.shim_dma.bytes_per_cycle)
        self.latency = beyond.memory_cycles
        #: Bytes until now.
        self.moved = 0

    def move(self, size: int, resource: str, name: str, written: bool) -> Iterator[Command]:
        """A transfer of `size` bytes through one channel, into the memory where `written`."""
        port = self._ports[written]
        yield Delay(self.latency, resource, f"request {name}", "dma")
        for first in range(0, size, GRAIN):
            part = min(GRAIN, size - first)
            served = ceil(part / self.rate)
            yield Acquire(port)
            yield Delay(served)
            yield Release(port)
            left = ceil(part / self.channel_rate) - served
            self.moved += part
            yield Delay(max(0, left), resource, name, "dma")
