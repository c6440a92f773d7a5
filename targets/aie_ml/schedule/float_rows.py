"""Loops of kernels that walk rows of bfloat16: what each turn does, operation by operation.

Sums and differences of float accumulators issue in the vector slot and take as long as a product
(ASSUMPTION: one multiplier has both); a bfloat16 vector becomes an accumulator by a move, and an
accumulator a bfloat16 vector as by shift-round-saturate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from match_aie.targets.aie_ml.kernels.floats import (
    FloatCall,
    FloatFunctionCall,
    FloatFunctionSpec,
    FloatNormCall,
    FloatNormSpec,
    FloatPairCall,
    FloatPairSpec,
    FloatSoftmaxCall,
)
from match_aie.targets.aie_ml.kernels.lookup import KEYS
from match_aie.targets.aie_ml.schedule.machine import (
    LOAD_A,
    LOAD_B,
    MOVE,
    STORE,
    VECTOR,
    Machine,
)
from match_aie.targets.aie_ml.schedule.operation import WORD, Kind, Operation

#: A loop's operations on a core.
Body = Callable[[Machine], tuple[Operation, ...]]


@dataclass(frozen=True)
class Loop:
    """A loop of a kernel.

    Attributes:
        turns: of it.
        body: operations of a turn.
        overlaps: whether turns begin before others end; Newton's steps wait for each other.
    """

    turns: int
    body: Body
    overlaps: bool = True


#: Cycles of a row beside its loops and what is computed once: their set-up, scalars that become
#: vectors. ASSUMPTION: no document states them.
FLOAT_ROW_CYCLES = 30

#: What loads meet: inputs, the second one, and a table or parameters beside the results.
_X, _SECOND, _TABLE = "A", "W", "T"


#: A float in registers that no turn makes.
KNOWN = "", ""


class _Turn:
    """Operations of one turn in the order of the source; each gives the value that it makes."""

    def __init__(self, core: Machine) -> None:
        self.core = core
        self.found: list[Operation] = []

    def put(self, kind: Kind, slot: str, reads: tuple[str, ...], latency: int) -> str:
        name = f"v{len(self.found)}"
        wide, reads = WORD if kind in ("srs", "multiply") else 0, tuple(filter(None, reads))
        self.found.append(Operation(kind, name, (slot,), reads, name, latency, bytes=wide))
        return name

    def load(self, bank: str = _X) -> str:
        name = f"v{len(self.found)}"
        slots = LOAD_A, LOAD_B
        self.found.append(Operation("load", name, slots, (), name, self.core.load, bank, WORD))
        return name

    def store(self, value: str) -> None:
        name = f"v{len(self.found)}"
        self.found.append(Operation("store", name, (STORE,), (value,), "", 0, _TABLE, WORD))

    def product(self, *reads: str) -> str:
        return self.put("multiply", VECTOR, reads, self.core.float_product)

    def added(self, *reads: str) -> str:
        return self.put("copy", VECTOR, reads, self.core.float_product)

    def rounded(self, *reads: str) -> str:
        return self.put("srs", STORE, reads, self.core.srs)

    def moved(self, *reads: str) -> str:
        return self.put("shuffle", MOVE, reads, self.core.move)

    def split(self, value: str) -> tuple[str, str]:
        high = self.rounded(value)
        return high, self.rounded(self.added(value, self.moved(high)))

    def times(self, a: tuple[str, str], b: tuple[str, str]) -> str:
        total = self.product(a[0], b[0])
        for left, right in ((a[0], b[1]), (a[1], b[0]), (a[1], b[1])):
            total = self.product(total, left, right)
        return total

    def summed(self, value: str) -> str:
        """Over lanes: 16 of them."""
        for _ in range(4):
            value = self.added(value, self.moved(value))
        return self.moved(value)

    def looked_up(self, keys: str) -> str:
        """Sixteen keys: addresses out of an accumulator, four gathers, what is kept of them."""
        wide = self.moved(keys)
        addresses = tuple(self.rounded(wide) for _ in range(4 * KEYS // WORD))
        at = self.moved(*addresses)
        gathered = f"g{len(self.found)}"
        for part in range(KEYS // 4):
            name = f"{gathered}.{part}"
            op = Operation("load", name, (LOAD_B,), (at,), gathered, self.core.load, _TABLE, WORD)
            self.found.append(op)
        return self.moved(gathered)


def _largest(core: Machine) -> tuple[Operation, ...]:
    turn = _Turn(core)
    turn.put("compare", MOVE, (turn.load(),), core.move)
    return tuple(turn.found)


def _exponentials(turn: _Turn) -> str:
    """Of what a vector's elements are below the row's largest one."""
    below = turn.moved(turn.added(turn.moved(turn.load())))
    high, low = turn.split(turn.moved(turn.moved(below)))
    t = turn.product(turn.product(turn.product(high), high), low)
    shifted = turn.added(t)
    rest = turn.rounded(turn.added(t, turn.added(shifted)))
    steps = turn.rounded(turn.added(shifted))
    exponent = turn.moved(turn.moved(turn.moved(turn.moved(steps))))
    power = turn.moved(turn.moved(turn.looked_up(steps), exponent))
    more = turn.rounded(turn.product(rest))
    return turn.product(power, turn.rounded(power), more)


def _powers(core: Machine) -> tuple[Operation, ...]:
    turn = _Turn(core)
    turn.added(_exponentials(turn))
    return tuple(turn.found)


def _top(core: Machine) -> tuple[Operation, ...]:
    """A row's largest element out of a vector, which two comparisons make finite."""
    turn = _Turn(core)
    most = turn.moved(turn.moved(turn.moved()))
    for _ in range(4):
        most = turn.moved(most, turn.moved(most))
    turn.moved(most)
    return tuple(turn.found)


def _guess(core: Machine) -> tuple[Operation, ...]:
    """The sum of a vector's lanes less what fills it up, and the guess of one over that."""
    turn = _Turn(core)
    total = turn.added(turn.summed(turn.moved()))
    turn.split(total), turn.split(turn.moved(turn.moved(total)))
    return tuple(turn.found)


def _better(core: Machine) -> tuple[Operation, ...]:
    """Newton's step towards a reciprocal."""
    turn = _Turn(core)
    better = turn.split(turn.added(turn.times(KNOWN, KNOWN)))
    turn.split(turn.times(KNOWN, better))
    return tuple(turn.found)


def _shared(core: Machine) -> tuple[Operation, ...]:
    turn = _Turn(core)
    share = turn.times(turn.split(_exponentials(turn)), KNOWN)
    turn.store(turn.rounded(share))
    return tuple(turn.found)


def _softmax(call: FloatSoftmaxCall) -> Iterator[Loop]:
    vectors = call.width // call.spec.lanes
    yield Loop(vectors, _largest)
    yield Loop(1, _top, overlaps=False)
    yield Loop(vectors, _powers)
    yield Loop(1, _guess, overlaps=False)
    yield Loop(call.spec.steps, _better, overlaps=False)
    yield Loop(vectors, _shared)


def _apart(turn: _Turn) -> str:
    """An element of a layer norm less the first one of its row."""
    return turn.added(turn.moved(turn.load()))


def _totalled(core: Machine) -> tuple[Operation, ...]:
    turn = _Turn(core)
    turn.added(_apart(turn))
    return tuple(turn.found)


def _squared(core: Machine) -> tuple[Operation, ...]:
    turn = _Turn(core)
    high, low = turn.split(turn.added(_apart(turn)))
    turn.product(high), turn.product(high, low)
    return tuple(turn.found)


def _centre(core: Machine) -> tuple[Operation, ...]:
    """The sum of a row's lanes, and its mean; beside them what masks the last vector."""
    turn = _Turn(core)
    total = turn.summed(turn.added(turn.moved(turn.moved(turn.moved()))))
    a, b = turn.split(total), turn.split(turn.moved())
    rests = [turn.rounded(turn.added(turn.added(parts[0]), parts[1])) for parts in (a, b)]
    mean = turn.times(a, b)
    turn.product(turn.product(mean, a[0], rests[1]), rests[0], b[0])
    return tuple(turn.found)


def _root(spec: FloatNormSpec, core: Machine) -> tuple[Operation, ...]:
    """The guess of what a row's elements are multiplied by, of the lanes' sums of squares."""
    turn = _Turn(core)
    power = turn.moved() if spec.rms else turn.added(turn.added(turn.moved()))
    mean = turn.times(turn.split(turn.summed(power)), turn.split(turn.moved()))
    variance = turn.added(mean)
    turn.split(variance), turn.split(turn.moved(turn.moved(turn.moved(variance))))
    return tuple(turn.found)


def _better_root(core: Machine) -> tuple[Operation, ...]:
    """Newton's step towards an inverse root."""
    turn = _Turn(core)
    found = turn.split(turn.times(KNOWN, turn.split(turn.times(KNOWN, KNOWN))))
    better = turn.split(turn.product(turn.product(found[0]), found[1]))
    turn.split(turn.times(KNOWN, better))
    return tuple(turn.found)


def _normed(core: Machine) -> tuple[Operation, ...]:
    turn = _Turn(core)
    normal = turn.split(turn.times(turn.split(turn.added(_apart(turn))), KNOWN))
    weight = turn.load(_TABLE)
    bias = turn.moved(turn.load(_TABLE), turn.load(_TABLE))
    made = turn.product(turn.product(bias, normal[0], weight), normal[1], weight)
    turn.store(turn.rounded(made))
    return tuple(turn.found)


def _power(core: Machine) -> tuple[Operation, ...]:
    turn = _Turn(core)
    turn.product(turn.load())
    return tuple(turn.found)


def _scaled(core: Machine) -> tuple[Operation, ...]:
    turn = _Turn(core)
    value, weight = turn.load(), turn.load(_TABLE)
    normal = turn.split(turn.product(turn.product(value), value))
    made = turn.product(turn.product(normal[0], weight), normal[1], weight)
    turn.store(turn.rounded(made))
    return tuple(turn.found)


def _norm(call: FloatNormCall) -> Iterator[Loop]:
    vectors, spec = call.width // call.spec.lanes, call.spec
    if spec.rms:
        yield Loop(vectors, _power)
    else:
        yield Loop(vectors, _totalled)
        yield Loop(1, _centre, overlaps=False)
        yield Loop(vectors, _squared)
    yield Loop(1, lambda core: _root(spec, core), overlaps=False)
    yield Loop(spec.steps, _better_root, overlaps=False)
    yield Loop(vectors, _scaled if spec.rms else _normed)


def _pair(spec: FloatPairSpec, core: Machine) -> tuple[Operation, ...]:
    turn = _Turn(core)
    a, b = turn.load(), turn.load(_SECOND)
    if spec.operator == "add":
        turn.store(turn.rounded(turn.added(turn.moved(a), turn.moved(b))))
    else:
        turn.store(turn.rounded(turn.product(a, b)))
    return tuple(turn.found)


def _function(spec: FloatFunctionSpec, core: Machine) -> tuple[Operation, ...]:
    """Keys, both halves looked up, and what is no entry put in its place."""
    turn = _Turn(core)
    bits = turn.moved(turn.load(), turn.load())
    size = turn.moved(bits)
    keys = turn.moved(size) if spec.exponents else _magnitudes(turn, bits, size)
    found = turn.moved(turn.looked_up(keys), turn.looked_up(keys))
    if spec.exponents:
        exponent = turn.moved(size)
        exponent = turn.moved(turn.moved(exponent)) if spec.root else exponent
        found = turn.moved(found, exponent)
        for compared in (found, size, size, *(bits,) * spec.root):
            found = turn.moved(found, turn.moved(compared))
        found = turn.moved(found, turn.moved(bits, size))
    if spec.slope:
        near = turn.moved(*(turn.rounded(turn.product(turn.moved(bits))) for _ in range(2)))
        found = turn.moved(found, near, turn.moved(size))
    if spec.linear:
        found = turn.moved(found, bits, turn.moved(bits))
    found = turn.moved(found, bits, turn.moved(size))
    turn.store(found)
    turn.store(found)
    return tuple(turn.found)


def _magnitudes(turn: _Turn, bits: str, size: str) -> str:
    """Where a table has a number's result."""
    up = turn.moved(size)
    above, below = (turn.moved(turn.moved(up)) for _ in range(2))
    return turn.moved(above, below, turn.moved(bits))


def float_loops(call: FloatCall) -> tuple[Loop, ...]:
    """The loops of one row; of functions and pairs, of a call's vectors."""
    if isinstance(call, FloatSoftmaxCall):
        return tuple(_softmax(call))
    if isinstance(call, FloatNormCall):
        return tuple(_norm(call))
    if isinstance(call, FloatFunctionCall):
        return (Loop(call.rows, lambda core: _function(call.spec, core)),)
    return (Loop(call.rows, lambda core: _pair(call.spec, core)),)


def walks_rows(call: FloatCall) -> bool:
    """Whether its loops are of one row, and not of a call."""
    return not isinstance(call, FloatPairCall | FloatFunctionCall)
