"""Operations that load, store and shuffle a word, as schedules of loops have them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from match_aie.targets.aie_ml.schedule.machine import LOAD_A, LOAD_B, MOVE, STORE, Machine
from match_aie.targets.aie_ml.schedule.operation import WORD, Operation

#: The bank of a function's local arrays.
LOCAL = "S"


def loaded(core: Machine, name: str, bank: str = LOCAL) -> Operation:
    """A word from memory."""
    return Operation("load", name, (LOAD_A, LOAD_B), (), name, core.load, bank, WORD)


def moved(core: Machine, name: str, reads: tuple[str, ...] = (), writes: str = "") -> Operation:
    """A shuffle, or what else the move slot does.

    Args:
        core: that does it.
        name: for people.
        reads: values that it takes; none of those that are there from the beginning.
        writes: the value that it makes; called `name` where empty.
    """
    return Operation("shuffle", name, (MOVE,), reads, writes or name, core.move)


def in_turn(
    core: Machine, names: Iterable[str], reads: tuple[str, ...] = ()
) -> Iterator[Operation]:
    """Moves one after the other, each of what the one before it made; the first one of `reads`."""
    for name in names:
        yield moved(core, name, reads)
        reads = (name,)


def quotient(core: Machine) -> Iterator[Operation]:
    """A bit of every quotient that lanes of a vector have."""
    yield moved(core, "twice")
    yield moved(core, "next", ("twice",))
    yield moved(core, "double")
    yield moved(core, "fits", ("next",))
    yield moved(core, "less", ("next",))
    yield moved(core, "rest", ("fits", "less"))
    yield moved(core, "plus", ("double",))
    yield moved(core, "quotient", ("fits", "plus"))


def stored(name: str, reads: str = "", bank: str = LOCAL) -> Operation:
    """A word to memory; of a value that is there from the beginning where `reads` is empty."""
    return Operation("store", name, (STORE,), (reads,) if reads else (), "", 0, bank, WORD)
