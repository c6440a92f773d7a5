"""How much NE16 and the cluster slow each other down at GAP9's banks of L1, in two public models.

    python benchmarks/gap9_banks.py

Cycle by cycle: workers access random banks, at some rate of accesses an instruction; NE16 streams
what it streams for a tile: 16 channels in, 32 out, weights and results of 8 bits, scales of 32, in
each of its three modes. Its idle cycles are those of `targets/gap9/timing/ne16.py`. What rate a
kernel has is counted (`gap9_accesses.py`). Two ways to share 16 banks:

- "priority": PULP's interconnect (pulp-platform/hci@0f0a8ef, hci_shallow_interconnect.sv, and
  @37e1a93, hci_hwpe_interconnect.sv): each access of NE16 asks for nine banks at once and gets all
  or none; NE16 goes first, and after so many cycles in a row in which both ask it lets the cores
  through for one. The emitted C writes 64 (`MA_NE16_MOST_WAITS`; pulp-nnx writes 8). GAP9's own
  interconnect is not published.
- "in_turn": GVSoC's pulp_open (memory.cpp of gvsoc-core@0148c68, ne16_stream.cpp of gvsoc-pulp
  @c309b6c): a bank serves requests as they come; NE16 goes on when the last of its words is there.

Printed is what a cycle of each takes more while the other works, by mode and rate: `SLOWED` of
`targets/gap9/timing/banks.py`, to a hundredth.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import cycle, product, repeat
from random import Random

from generated import ROOT  # noqa: F401  (makes the package importable from a checkout)

from match_aie.targets.gap9.facts import facts
from match_aie.targets.gap9.timing.banks import MODES, RATES, Banks, Mode, Slowed
from match_aie.targets.gap9.timing.ne16 import Latencies

BANKS, PORT = facts().memory.l1_banks, 9
#: Cycles in a row that NE16 goes first.
MOST_WAITS = 64
CYCLES, SEED = 60_000, 1


@dataclass(frozen=True)
class Access:
    """An access of NE16, or a cycle without: its first word, and GVSoC's words of it.

    Attributes:
        word: from the start of what is read; None for none.
        words: that it waits for in GVSoC.
        touched: that it has there besides.
    """

    word: int | None = None
    words: int = 0
    touched: int = 0


def stream(mode: Mode) -> list[Access]:
    """What NE16 does for a tile."""
    fills, idle = Latencies(), Access()
    load = [Access(64 * y + 4 * x, 5) for y in range(5) for x in range(5)]
    weight = [Access(18 * k // 4, 5, 1) for k in range(8 * (16 if mode == "depthwise" else 32))]
    waits = {"3x3": fills.conv3x3, "depthwise": fills.depthwise, "1x1": fills.conv1x1}[mode]
    if mode == "1x1":
        load = [Access(16 * pixel, 5) for pixel in range(9)]
        weight = [Access(4 * k, 5) for k in range(32)]
    third = [idle] * round(waits / 3)
    ends = [Access(100 + k, 2) for k in range(32)] + [Access(200 + 8 * k, 9) for k in range(4)]
    ends += [Access(300 + 8 * k, 8) for k in range(9)]
    return [*third, *load, *third, *weight, *third, *ends]


class Workers:
    """Cores that run code: each has a bank that its next instruction asks for, or none."""

    def __init__(self, count: int, rate: float, random: Random) -> None:
        """All are about to begin an instruction, which accesses a bank at this `rate`."""
        self._random, self._rate = random, rate
        self.wants = [self._next() for _ in range(count)]
        self.done = 0

    def _next(self) -> int | None:
        if self._random.random() >= self._rate:
            return None
        return self._random.randrange(BANKS)

    def turn(self, taken: set[int]) -> None:
        """A cycle, in which the banks that are taken serve nobody else, others one core each."""
        served = set(taken)
        for core in self._random.sample(range(len(self.wants)), len(self.wants)):
            bank = self.wants[core]
            if bank in served:
                continue
            if bank is not None:
                served.add(bank)
            self.done += 1
            self.wants[core] = self._next()


def _accesses(mode: Mode, random: Random) -> Iterator[Access]:
    """Tile after tile, each at another bank."""
    for tile in repeat(stream(mode)):
        start = random.randrange(BANKS)
        for one in tile:
            yield one if one.word is None else Access(one.word + start, one.words, one.touched)


def _wide(first: int, words: int) -> set[int]:
    return {(first + word) % BANKS for word in range(words)}


def by_priority(
    mode: Mode | None, cores: int, rate: float, most: int = MOST_WAITS
) -> tuple[float, float]:
    """Cycles of an instruction, and of an access of NE16.

    Args:
        mode: of NE16, which does not work without one.
        cores: that work.
        rate: accesses an instruction.
        most: cycles in a row that NE16 goes first.
    """
    random = Random(SEED)
    workers = Workers(cores, rate, random)
    source = _accesses(mode, random) if mode else cycle([Access()])
    wide: set[int] | None = None
    passed = together = 0
    for _ in range(CYCLES):
        if wide is None:
            word = next(source).word
            wide = set() if word is None else _wide(word, PORT)
        asked = any(bank is not None for bank in workers.wants)
        first = bool(wide) and not (0 < most <= together)
        together = together + 1 if first and asked else 0
        workers.turn(wide if first else set())
        if first or not wide:
            wide = None
            passed += 1
    return CYCLES * cores / workers.done, CYCLES / passed


def in_turn(mode: Mode | None, cores: int, rate: float) -> tuple[float, float]:
    """The same where banks are queues."""
    random = Random(SEED)
    source = _accesses(mode, random) if mode else cycle([Access()])
    free, ready, done, passed = [0] * BANKS, [0] * (cores + 1), 0, 0

    def wait(bank: int, now: int) -> int:
        begins = max(free[bank], now)
        free[bank] = begins + 1
        return begins - now

    for now in range(CYCLES):
        for who in random.sample(range(cores + 1), cores + 1):
            if ready[who] > now:
                continue
            waited = 0
            if who == cores:
                access, passed = next(source), passed + 1
                for word in range(access.words + access.touched if access.word is not None else 0):
                    late = wait((access.word + word) % BANKS, now)
                    waited = max(waited, late if word < access.words else 0)
            else:
                done += 1
                if random.random() < rate:
                    waited = wait(random.randrange(BANKS), now)
            ready[who] = now + 1 + waited
    return CYCLES * cores / done, CYCLES / passed


def slowed(banks: Banks, cores: int, mode: Mode, rate: float) -> Slowed:
    """What a cycle takes more beside the other unit."""
    model = by_priority if banks == "priority" else in_turn
    instruction, access = model(mode, cores, rate)
    return Slowed(round(access - 1, 3), round(instruction / model(None, cores, rate)[0] - 1, 3))


def main() -> None:
    """Print both models for eight workers, and for seven."""
    for banks in ("priority", "in_turn"):
        for cores, mode in product((8, 7), MODES):
            found = [slowed(banks, cores, mode, rate) for rate in RATES]
            pairs = ", ".join(f"({one.ne16}, {one.cluster})" for one in found)
            print(f'    ("{banks}", {cores}, "{mode}"): ({pairs}),', flush=True)
    print("# priority with so many waits at most, eight workers, PULP-NN's inner loop, by mode:")
    for most in (0, 8):
        print(f"# {most}: {[by_priority(mode, 8, 6 / 14, most) for mode in MODES]}")


if __name__ == "__main__":
    main()
