"""Code of recurrent kernels in float32: a chunk of eight units as a straight line, scheduled."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from functools import lru_cache
from typing import Literal

from match_aie.errors import TargetError
from match_aie.targets.aie_ml.devices import Architecture
from match_aie.targets.aie_ml.kernels.recurrent import Cell
from match_aie.targets.aie_ml.kernels.recurrent_single import LANES
from match_aie.targets.aie_ml.kernels.recurrent_single_cascade import LinkCall
from match_aie.targets.aie_ml.schedule.call import ArchitectureKey
from match_aie.targets.aie_ml.schedule.line import FAR, NEAR
from match_aie.targets.aie_ml.schedule.listed import CASCADE, Code, Listed, Node, Pipeline


@dataclass(frozen=True)
class SingleTimes:
    """Cycles that no document states outright. ASSUMPTIONS.

    Attributes:
        vector: from a vector instruction until its result may be a factor. UG1702 ("Enabling AI
            Engine Pipeline") has vector instructions in stages ID to E6: seven. That maxima and
            integer subtractions take as long is assumed.
        store: from a store until a load finds what it stored. UG1702 has data leave in E5 or E6.
        turn: more of every chunk, and of every step: loops and pointers.
        packet: from the last word of a stream's packet until all of it may be loaded as a vector.
    """

    vector: int = 7
    store: int = 6
    turn: int = 5
    packet: int = 10

    def scaled(self, factor: float) -> SingleTimes:
        """All of them multiplied, rounded to whole cycles."""
        return SingleTimes(*(max(2, round(factor * each)) for each in astuple(self)))


def pipeline(arch: Architecture, times: SingleTimes) -> Pipeline:
    """A core's cycles and registers.

    Raises:
        TargetError: its sums of floats do not lie in vector registers, or facts are missing.
    """
    core = arch.core
    if arch.name != "AIE" or core.vector_registers is None or core.vector_bits != 8 * 4 * LANES:
        raise TargetError(
            f"float32 products of {arch.name} have no schedule", hint="vck190, or bfloat16"
        )
    return Pipeline(
        load=arch.latency("vector_load_to_use"),
        product=times.vector,
        sum=arch.latency("fp32_accumulate_same_acc_min_distance"),
        store=times.store,
        registers=core.vector_registers,
    )


@dataclass(frozen=True)
class Manner:
    """How functions follow each other, for the sake of registers.

    Attributes:
        flight: functions at a time.
        mark: how far one is when another may begin in its place: its denominator, or numerator.
        apart: whether the first one begins behind the last of the products.
    """

    flight: int
    mark: Literal["below", "above"]
    apart: bool


#: All that are tried.
MANNERS = (
    Manner(1, "below", apart=False),
    Manner(1, "below", apart=True),
    Manner(2, "above", apart=False),
    Manner(2, "above", apart=True),
    Manner(1, "above", apart=False),
    Manner(1, "above", apart=True),
    Manner(3, "above", apart=False),
    Manner(2, "below", apart=False),
)


class StepCode(Code):
    """What the lines of a kernel are made of."""

    def __init__(self, how: Manner) -> None:
        """Nothing yet."""
        super().__init__()
        self._how = how
        self._marks: list[int] = []

    def begin(self) -> None:
        """Behind the last of the products."""
        if self._how.apart:
            self._marks.append(len(self.nodes) - 1)

    def products(self, gates: int, elements: int, *, came: bool = False) -> list[int]:
        """Sums of products, one gate after the other; each begins with a load.

        Args:
            gates: how many.
            elements: of the state, or of the inputs.
            came: whether what they begin with are words of a cascade.
        """
        sums: list[int] = []
        before = -1
        for first in range(0, elements, LANES):
            state = self.load(FAR)
            for lane in range(min(LANES, elements - first)):
                for at in range(gates):
                    adds = sums[at] if first or lane else None
                    if adds is None and came:
                        adds = self.load(CASCADE)
                    loads = (FAR, NEAR) if adds is None else (NEAR,)
                    behind = (before,) if before >= 0 else ()
                    node = Node("product", (state,), adds, loads, (), behind)
                    before = self.put(node)
                    sums[at:] = [before, *sums[at + 1 :]]
        return sums

    def compared(self, *reads: int, after: int = -1, behind: tuple[int, ...] = ()) -> int:
        """A maximum, minimum or integer subtraction, with a number out of memory."""
        if after < 0:
            return self.put(Node("compare", reads, None, (FAR,), (), behind))
        return self.put(Node("compare", reads, None, (FAR, FAR), (after,), behind))

    def bent(self, x: int, *, stored: bool = False, gate: int = -1, base: int = -1) -> int:
        """Tanh, in the order of its template; what is read late is loaded again.

        Args:
            x: the argument.
            stored: whether `x` is a store of it.
            gate: a store of what it is multiplied by, if anything.
            base: a store of what that is added to, if anything.
        """
        behind = tuple(self._marks[-self._how.flight :][:1])
        behind = behind if len(self._marks) >= self._how.flight else ()
        if stored:
            square = self.put(Node("product", (), None, (FAR,), (x,), behind))
            least = self.compared(after=x)
        else:
            square = self.put(Node("product", (x,), None, (), (), behind))
            least = self.compared(x)
        s = self.compared(square)
        kept = self.store(self.compared(least), FAR)
        below = self.product(self.factor(s), self.factor(s))
        more = self.factor(s)
        if gate >= 0:
            more = self.product(more, loads=(FAR,), after=gate)
        line = self.product(s, loads=(FAR, FAR))
        above = self.product(more, self.product(line, loads=(FAR,), after=kept))
        near = self.compared(below)
        if self._how.mark == "below":
            self._marks.append(below)
        off = self.product(below, near, loads=(FAR,))
        off2 = self.product(off, off)
        first = self.product(above, near)
        if self._how.mark == "above":
            self._marks.append(first)
        second = self.product(first, off, adds=first)
        third = self.product(second, off2, adds=second)
        off4 = self.product(off2, off2)
        added = third
        if base >= 0:
            added = self.product(third, loads=(FAR,), after=base)
        return self.product(third, off4, adds=added)

    def factor(self, s: int) -> int:
        """A polynomial of degree 2 with two numbers."""
        return self.product(s, s, adds=self.product(s, loads=(FAR, FAR)))

    def logistic(self, x: int, *, stored: bool = False) -> int:
        """The logistic function of twice `x`."""
        return self.product(self.bent(x, stored=stored), loads=(FAR, FAR))

    def let(self, z: int) -> tuple[int, int]:
        """Stores of what a GRU's gate lets through: of the new state, and the old one's part."""
        rest = self.store(self.product(z, loads=(FAR,)), FAR)
        return rest, self.store(self.product(z, loads=(FAR,)), FAR)


#: Places of a state: what leaves, and what the next step reads.
STORED = 2


@dataclass(frozen=True)
class CascadeLink:
    """What a chunk's code of a tile along a cascade moves.

    Attributes:
        came: whether words come.
        sees: whether columns are those of the inputs.
        apart: whether the sums of a GRU's last gate begin here.
        ends: whether it has the gates.
        stored: places of a state.
    """

    came: bool
    sees: bool
    apart: bool
    ends: bool
    stored: int


def link_of(call: LinkCall) -> CascadeLink:
    """What the code of such a tile moves."""
    stored = STORED + bool(call.sent_size)
    return CascadeLink(call.came > 0, call.sees, call.apart, call.ends, stored)


#: A tile that has all of its units' columns.
_WHOLE = CascadeLink(came=False, sees=False, apart=True, ends=True, stored=STORED)


def _passing(cell: Cell, elements: int, link: CascadeLink, how: Manner) -> StepCode:
    """Words that come, products, words that go on; behind them what a GRU adds later."""
    code, gru = StepCode(how), cell == "gru"
    turns = ((3,) if gru else (4,)) if link.sees else (2, 1) if gru else (2, 2)
    for turn, gates in enumerate(turns):
        begins = link.apart and turn == 1
        for value in code.products(gates, elements, came=link.came and not begins):
            code.store(value, CASCADE)
    if gru and not link.sees:
        code.store(code.load(CASCADE), CASCADE)
    return code


def _sums(problem: ChunkProblem, how: Manner) -> StepCode:
    """Products onto sums out of memory, which go back there."""
    code = StepCode(how)
    for value in code.products(problem.gates, problem.elements):
        code.store(value, FAR)
    if problem.beside:
        code.store(code.load(FAR), FAR)
    return code


def _gru(elements: int, link: CascadeLink, how: Manner) -> StepCode:
    """Gates z, r, n; what is not read at once is kept in memory."""
    code = StepCode(how)
    r, z = code.products(2, elements, came=link.came)
    (n,) = code.products(1, elements, came=not link.apart)
    code.begin()
    late, half = code.store(z, FAR), code.store(n, FAR)
    reset = code.bent(r)
    base = code.product(n, code.load(CASCADE)) if link.came else code.product(n, loads=(FAR,))
    total = code.product(reset, adds=base, loads=(FAR,), after=half)
    rest, old = code.let(code.logistic(late, stored=True))
    after = code.bent(total, gate=rest, base=old)
    for _ in range(link.stored):
        code.store(after, FAR)
    return code


def _gru_before(elements: int, how: Manner) -> tuple[StepCode, StepCode]:
    """Gates z and r, and what products read; then n."""
    first, then = StepCode(how), StepCode(how)
    r, z = first.products(2, elements)
    first.begin()
    first.store(first.logistic(z), FAR)
    first.store(first.product(first.logistic(r), loads=(FAR,)), FAR)
    (n,) = then.products(1, elements)
    rest, old = then.let(then.load(FAR))
    after = then.bent(n, gate=rest, base=old)
    for _ in range(STORED):
        then.store(after, FAR)
    return first, then


def _lstm(elements: int, link: CascadeLink, how: Manner) -> StepCode:
    """Gates i, o, f, g; what is not read at once is kept in memory."""
    code = StepCode(how)
    (f, i), (o, g) = (code.products(2, elements, came=link.came) for _ in range(2))
    code.begin()
    f, i, o = (code.store(each, FAR) for each in (f, i, o))
    kept = code.product(code.logistic(f, stored=True), loads=(FAR,))
    old = code.store(kept, FAR)
    let = code.store(code.logistic(i, stored=True), FAR)
    cell = code.bent(g, gate=let, base=old)
    code.store(cell, FAR)
    shown = code.store(code.logistic(o, stored=True), FAR)
    h = code.bent(cell, gate=shown)
    for _ in range(link.stored):
        code.store(h, FAR)
    return code


@dataclass(frozen=True)
class ChunkProblem:
    """What is scheduled once: a chunk's code of a cell, or of products alone (None).

    Attributes:
        cell: which.
        elements: that weights are multiplied by.
        gates: whose products are computed in turn, where they are all.
        times: that are assumed.
        arch: whose core.
        link: what a tile along a cascade moves.
        beside: whether a sum is handed on behind those of products.
    """

    cell: Cell | None
    elements: int
    gates: int
    times: SingleTimes
    arch: ArchitectureKey
    link: CascadeLink = _WHOLE
    beside: bool = False


def _codes(problem: ChunkProblem, how: Manner) -> tuple[StepCode, ...]:
    if problem.cell is None:
        return (_sums(problem, how),)
    if problem.cell == "gru_before":
        return _gru_before(problem.elements, how)
    if not problem.link.ends:
        return (_passing(problem.cell, problem.elements, problem.link, how),)
    return ((_gru if problem.cell == "gru" else _lstm)(problem.elements, problem.link, how),)


@lru_cache(maxsize=1024)
def lines_of(problem: ChunkProblem) -> tuple[Listed, ...]:
    """Lines of a chunk's code, the shortest that are found.

    Raises:
        TargetError: registers hold none.
    """
    core = pipeline(problem.arch.arch, problem.times)
    best: list[Listed | None] = []
    for how in MANNERS if problem.cell and problem.link.ends else MANNERS[:1]:
        made = [code.listed(core) for code in _codes(problem, how)]
        best = best or [None] * len(made)
        for at, line in enumerate(made):
            known = best[at]
            if line is not None and (known is None or line.cycles < known.cycles):
                best[at] = line
    found = tuple(line for line in best if line is not None)
    if len(found) < len(best):
        raise TargetError(
            f"registers of {problem.arch.arch.name} hold no step", hint="another device"
        )
    return found
