"""Code of vectors of floats, placed by a list scheduler: what others wait for longest goes first.

For cores that keep sums of floats in vector registers (AM009, "Register Files"): a vector
instruction a cycle, two loads, a store. The memory has two sides, near and far, each of which takes
one access a cycle. What lies in memory is loaded so that it is there in the cycle in which it is
read first. A sum that a product is added to is read later than what is multiplied, so that sums
follow each other at a shorter distance.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from match_aie.targets.aie_ml.schedule.operation import Kind

#: Where words of a cascade come from, and go to: as if it were a side of the memory.
CASCADE = "cascade"

#: Bundles that are looked at at most.
LIMIT = 1 << 13

#: Cycles by which a load may come before its value is read.
EARLY = 4

#: Values that are begun and still read, at most: all of these are tried.
CAPS = (7, 8, 9, 10, 12)


@dataclass(frozen=True)
class Pipeline:
    """Cycles of a core, and its registers.

    Attributes:
        load: from a load to the use of its value.
        product: from a vector instruction to the use of its result as a factor.
        sum: likewise as the sum that another product is added to.
        store: from a store until a load finds what it stored.
        registers: for a vector of eight floats.
    """

    load: int
    product: int
    sum: int
    store: int
    registers: int


@dataclass(frozen=True)
class Node:
    """An instruction.

    Attributes:
        kind: "product", "compare", "load", "store".
        reads: numbers of instructions whose values it multiplies, compares or stores.
        adds: number of the one whose value a product is added to; None where there is none.
        loads: sides of memory that operands of its own come from, or the side that it accesses.
        after: numbers of stores whose values it loads.
        behind: numbers of instructions that it issues behind, for the sake of registers.
    """

    kind: Kind
    reads: tuple[int, ...] = ()
    adds: int | None = None
    loads: tuple[str, ...] = ()
    after: tuple[int, ...] = ()
    behind: tuple[int, ...] = ()

    @property
    def sources(self) -> tuple[int, ...]:
        """All whose values it reads."""
        return self.reads if self.adds is None else (*self.reads, self.adds)


@dataclass(frozen=True)
class Listed:
    """A schedule.

    Attributes:
        cycles: until all results are there.
        taken: most registers that are taken at a time.
        kinds: instructions by kind.
        reads: cycles in which words of a cascade are read.
        writes: likewise, written.
    """

    cycles: int
    taken: int
    kinds: Counter[str]
    reads: tuple[int, ...] = ()
    writes: tuple[int, ...] = ()


@dataclass
class Code:
    """Instructions in the order in which they are written; each is known by its number."""

    nodes: list[Node] = field(default_factory=list)

    def put(self, node: Node) -> int:
        """Its number."""
        self.nodes.append(node)
        return len(self.nodes) - 1

    def product(
        self, *reads: int, adds: int | None = None, loads: tuple[str, ...] = (), after: int = -1
    ) -> int:
        """A vector instruction of floats."""
        return self.put(Node("product", reads, adds, loads, (after,) if after >= 0 else ()))

    def load(self, side: str, after: int = -1) -> int:
        """A vector that several instructions read."""
        return self.put(Node("load", (), None, (side,), (after,) if after >= 0 else ()))

    def store(self, value: int, side: str) -> int:
        """A vector."""
        return self.put(Node("store", (value,), None, (side,)))

    def listed(self, core: Pipeline) -> Listed | None:
        """The shortest schedule that is found whose values registers hold; None where none is."""
        runs = (_Run(self.nodes, core, cap).listed() for cap in CAPS)
        fit = [each for each in runs if each is not None and each.taken <= core.registers]
        return min(fit, key=lambda each: each.cycles) if fit else None


class _Run:
    """One schedule, with at most `cap` values that are begun and still read."""

    def __init__(self, nodes: list[Node], core: Pipeline, cap: int) -> None:
        """Who waits for whom, and for how long."""
        self._nodes, self._core, self._cap = nodes, core, cap
        self._next: list[list[tuple[int, int]]] = [[] for _ in nodes]
        self._waits = [0] * len(nodes)
        self._readers = [0] * len(nodes)
        for number, node in enumerate(nodes):
            edges = [(before, self._latency(before)) for before in node.reads]
            edges += [] if node.adds is None else [(node.adds, self._sum(node.adds))]
            edges += [(before, core.store + core.load) for before in node.after]
            edges += [(before, 1) for before in node.behind]
            self._waits[number] = len(edges)
            for before, cycles in edges:
                self._next[before].append((number, cycles))
            for before in set(node.sources):
                self._readers[before] += 1
        self._read = [readers > 0 for readers in self._readers]
        self._first = [0] * len(nodes)
        self._cycle: list[int | None] = [None] * len(nodes)
        self._end = [0] * len(nodes)
        self._spans: list[tuple[int, int]] = []
        self._taken: dict[str, set[int]] = defaultdict(set)
        self._loads: Counter[int] = Counter()
        self._begun = 0
        self._open: dict[int, int] = {}  # cycles from which values that are still read are there
        self._held: Counter[int] = Counter()  # registers of a cycle beside these

    def _latency(self, number: int) -> int:
        """A load comes when its first reader needs it."""
        return 0 if self._nodes[number].kind == "load" else self._core.product

    def _sum(self, number: int) -> int:
        kind = self._nodes[number].kind
        return 0 if kind == "load" else self._core.sum if kind == "product" else self._core.product

    def listed(self) -> Listed | None:
        """The schedule; None where the cap leaves no way on."""
        paths = self._paths()
        ready = [at for at, waits in enumerate(self._waits) if not waits]
        now, idle, left = self._core.load, 0, len(self._nodes)
        while left:
            order = sorted((at for at in ready if self._first[at] <= now), key=lambda a: -paths[a])
            done = [at for at in order if self._issues(at, now)]
            for at in done:
                ready.remove(at)
                ready += self._release(at, now)
            left -= len(done)
            late = [at for at in ready if self._first[at] > now]
            idle = 0 if done or late else idle + 1
            if idle > 2 * self._core.product or now > LIMIT:
                return None
            free = [at for at in ready if self._nodes[at].kind == "load" and self._first[at] <= now]
            now += 0 if done and free else 1
        cycles = max(cycle for cycle in self._cycle if cycle is not None) + self._core.product
        kinds = Counter[str](node.kind for node in self._nodes)
        return Listed(cycles, self._most(), kinds, self._words("load"), self._words("store"))

    def _words(self, kind: Kind) -> tuple[int, ...]:
        """Cycles of accesses to the cascade, in order."""
        early = self._core.load if kind == "load" else 0  # cycles of loads are those of values
        pairs = zip(self._nodes, self._cycle, strict=True)
        moved = (at for node, at in pairs if node.kind == kind and node.loads == (CASCADE,))
        return tuple(sorted(at - early for at in moved if at is not None))

    def _paths(self) -> list[int]:
        """Cycles from each instruction to the end of all that wait for it."""
        found = [0] * len(self._nodes)
        for at in range(len(found) - 1, -1, -1):
            later = (cycles + found[after] for after, cycles in self._next[at])
            found[at] = max(later, default=self._core.product)
        return found

    def _issues(self, at: int, now: int) -> bool:
        """Issue an instruction in this cycle, if there is room for it and what it loads."""
        node = self._nodes[at]
        if node.kind == "load":
            self._cycle[at] = now  # a place in the order: it is placed with its first reader
            return True
        slot = "store" if node.kind == "store" else "vector"
        fresh = [each for each in set(node.sources) if self._waiting(each)]
        ended = [each for each in set(node.sources) if self._readers[each] == 1]
        begins = len(fresh) + self._read[at]
        if now in self._taken[slot] or self._begun + begins - len(ended) > self._cap:
            return False
        if node.kind == "store" and now in self._taken[node.loads[0]]:
            return False
        sides = [self._nodes[each].loads[0] for each in fresh]
        sides += [] if node.kind == "store" else node.loads
        places = self._places(sides, now)
        if places is None:
            return False
        if not self._room(places, now):
            return False
        self._taken[slot].add(now)
        if node.kind == "store":
            self._taken[node.loads[0]].add(now)
        for at_load, side in zip(places, sides, strict=True):
            self._taken[side].add(at_load)
            self._loads[at_load] += 1
        for each, place in zip(fresh, places, strict=False):
            self._begin(each, place + self._core.load)
        spans = [(place + self._core.load, now) for place in places[len(fresh) :]]
        self._spans += spans
        self._held.update(cycle for begin, end in spans for cycle in range(begin, end + 1))
        self._held.update([now] * len(ended))
        self._cycle[at] = now
        if self._read[at]:
            self._open[at] = now + (1 if node.adds is not None else self._core.product)
        self._begun += begins - len(ended)
        return True

    def _room(self, places: Sequence[int], now: int) -> bool:
        """Whether registers hold what an instruction reads beside what is there."""
        begins = [place + self._core.load for place in places]
        for cycle in range(min(begins, default=now), now + 1):
            there = sum(begin <= cycle for begin in (*self._open.values(), *begins))
            if there + self._held[cycle] > self._core.registers:
                return False
        return True

    def _waiting(self, number: int) -> bool:
        """Whether it is a load that is not placed yet."""
        return self._nodes[number].kind == "load" and not self._end[number]

    def _begin(self, number: int, cycle: int) -> None:
        self._cycle[number], self._end[number] = cycle, cycle
        self._open[number] = cycle

    def _places(self, sides: Iterable[str], now: int) -> list[int] | None:
        """Cycles for loads that are there now; None where there are none."""
        found: list[int] = []
        taken: Counter[tuple[str, int]] = Counter()
        many: Counter[int] = Counter()
        for side in sides:
            for back in range(EARLY + 1):
                place = now - self._core.load - back
                if place < 0 or place in self._taken[side] or taken[side, place]:
                    continue
                if self._loads[place] + many[place] < 2:
                    break
            else:
                return None
            found.append(place)
            taken[side, place] += 1
            many[place] += 1
        return found

    def _release(self, at: int, now: int) -> list[int]:
        """Those who waited for it last."""
        for each in set(self._nodes[at].sources):
            self._readers[each] -= 1
            self._end[each] = max(self._end[each], now)
            if not self._readers[each]:
                self._open.pop(each, None)
        found = []
        for after, cycles in self._next[at]:
            self._first[after] = max(self._first[after], now + cycles)
            self._waits[after] -= 1
            if not self._waits[after]:
                found.append(after)
        return found

    def _most(self) -> int:
        """Registers that are taken in the fullest cycle."""
        change: Counter[int] = Counter()
        spans = list(self._spans)
        for at, node in enumerate(self._nodes):
            cycle, end = self._cycle[at], self._end[at]
            if cycle is None or not self._read[at]:
                continue
            begin = cycle
            if node.kind != "load":
                begin += 1 if node.adds is not None else self._core.product
            spans.append((min(begin, end), end))
        for begin, end in spans:
            change[begin] += 1
            change[end + 1] -= 1
        most = held = 0
        for cycle in sorted(change):
            held += change[cycle]
            most = max(most, held)
        return most
