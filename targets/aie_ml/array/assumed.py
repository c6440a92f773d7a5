"""Times that no vendor document states: assumptions, to be varied.

The values are the suggestions of the hardware note (section A.7: "ASSUMPTIONS"); UG1079 only says
that starting a kernel takes "tens of cycles, depends on number of interfaces". Every benchmark
shows them at half and double too.
"""

from __future__ import annotations

from dataclasses import dataclass

#: Program memory of main, locks and start-up code beside the kernel: an estimate.
RUNTIME_BYTES = 2048


@dataclass(frozen=True)
class Assumed:
    """Cycles of the array's clock.

    Attributes:
        start: of starting a kernel on buffers.
        start_port: more for every buffer port.
        acquire: a lock that is free.
        release: a lock.
        descriptor: a DMA channel's switch from one buffer descriptor to the next.
        cascade: a cascade transfer from core to core, beside its read latency.
    """

    start: int = 40
    start_port: int = 10
    acquire: int = 8
    release: int = 4
    descriptor: int = 8
    cascade: int = 2

    def scaled(self, factor: float) -> Assumed:
        """All of them multiplied, rounded to whole cycles."""
        return Assumed(
            *(
                round(value * factor)
                for value in (
                    self.start,
                    self.start_port,
                    self.acquire,
                    self.release,
                    self.descriptor,
                    self.cascade,
                )
            )
        )

    def call(self, ports: int) -> int:
        """Cycles around a kernel call with so many buffer ports: start, locks taken and given."""
        return self.start + ports * (self.start_port + self.acquire + self.release)
