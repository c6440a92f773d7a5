"""Times that no vendor document states: assumptions, to be varied.

The values are suggestions for simulators, and assumptions: UG1079 only says that starting a kernel
takes "tens of cycles, depends on number of interfaces", and the round trip of a lock is not
published. Nor is the transfer of a word over a cascade: UG1079 says that a core can send and
receive one in each cycle, and that four fit between two cores, which together allow no more than
4. The row "one cascade hop, 30 cycles" of data/aie_calibration.csv (its source: a light convolution
took 29 cycles longer with each stage) bounds it: a chain of kernels that read a block's words, take
one step and write its words ends 25 cycles later a tile at 2, 29 at 8, and 44 at 16. That its layer
takes one step is an assumption: with two it is 24, 34 and 50, and 8 is too much. 8 is taken, the
most that the row allows. Benchmarks show all at half and double too.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass

from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.kernels.recurrent_hybrid import LogicCall
from match_aie.targets.aie_ml.kernels.recurrent_single_hybrid import SingleLogicCall

#: Program memory of main, locks and start-up code beside the kernel: an estimate.
RUNTIME_BYTES = 2048

#: Program memory of a function that hands its arguments on to another one, with one more: eight
#: bundles, for a call and a return with their delay slots, most of which are short. ASSUMPTION.
ENTRY_BYTES = 128


def names_bytes(kinds: int, device: Device) -> int:
    """Program memory of the names of so many kinds of calls; none where there is one kind."""
    return kinds * ENTRY_BYTES if device.named_calls and kinds > 1 else 0


@dataclass(frozen=True)
class Assumed:
    """Cycles of the array's clock.

    Attributes:
        start: of starting a kernel on buffers.
        start_port: more for every buffer port.
        acquire: a lock that is free.
        release: a lock.
        descriptor: a DMA channel's switch from one buffer descriptor to the next.
        cascade: from a word's write to a cascade until the next core may read it, beside the
            latency of that read.
    """

    start: int = 40
    start_port: int = 10
    acquire: int = 8
    release: int = 4
    descriptor: int = 8
    cascade: int = 8

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


@dataclass(frozen=True)
class LogicTimes:
    """Cycles of programmable logic's clock. ASSUMPTIONS.

    What a synthesis makes of C++ is known only to who runs it. Taken are pipelines as UG1399 lets
    them be bound: floats in DSP58 with three stages, tables in block memory with its output
    register. The FIFO between the clocks is 12 words deep (AM020); its latency is not published.

    Attributes:
        crossing: from the array's clock to logic's, or back.
        table: of a read of a line.
        multiply: of two floats.
        add: likewise.
        round: to bfloat16, or a rounded number's place in a table; of a float32, its being held, or
            its place.
        loop: around each of a step's three loops: words in, states, words out.
    """

    crossing: int = 4
    table: int = 2
    multiply: int = 3
    add: int = 3
    round: int = 1
    loop: int = 2

    def scaled(self, factor: float) -> LogicTimes:
        """All of them multiplied, rounded to whole cycles."""
        return LogicTimes(*(round(value * factor) for value in astuple(self)))

    def turns(self, call: LogicCall) -> tuple[int, ...]:
        """From a turn's last word to the first word that leaves, of each turn of a step."""
        if not isinstance(call, SingleLogicCall):
            return (self.step(call),)
        parts = call.whole // call.abreast
        around = 1 + parts - 1 + 3 * self.loop
        return tuple(around + way for way in self._ways(call))

    def _ways(self, call: SingleLogicCall) -> tuple[int, ...]:
        """Longest ways of operations on floats in each turn: lines, and what is made of them."""
        line = 2 * self.round + self.table + self.multiply + self.add  # held, and its place
        both = self.multiply + self.add
        if call.cell == "lstm":  # the cell, its tanh, and what lets it through
            return (line + both + line + self.multiply,)
        if call.cell == "gru_before":  # what the reset gate lets through; tanh, the state
            return line + self.multiply, line + both
        return (line + both + line + both,)  # the reset gate, what it lets through, tanh, the state

    def step(self, call: LogicCall) -> int:
        """From a step's last word to the first word of its state."""
        line = self.round + self.table + self.multiply + self.add
        state = self.multiply + self.add + self.round
        if call.cell == "lstm":  # gates, the cell in two sums, its tanh, and what lets it through
            whole = line + state + self.add + self.round + line + self.round
            whole += self.multiply + self.round
        else:  # the reset gate, what it lets through, tanh, its distance from the state, the state
            whole = line + self.round + state + line + self.add + self.round + state
        if call.narrow:  # a number is added, and its bits are taken away: steps of 1/128
            whole += self.add + self.round
        parts = call.whole // call.abreast
        return 1 + whole + parts - 1 + 3 * self.loop
