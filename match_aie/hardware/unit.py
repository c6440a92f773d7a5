"""Sources that a target's layers need beside the network's C, each from a template."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np

from match_aie.errors import TargetError
from match_aie.hardware.cost import Cost
from match_aie.hardware.mapping import Mapping as LoopMapping
from match_aie.workload import Workload


@dataclass(frozen=True, eq=False)
class Unit:
    """A file of the emitted project that a template writes.

    Units of one path are one file, and must have one text.

    Attributes:
        path: in the project, such as "aie/fc_graph.h".
        template: below `templates/`.
        values: what the template reads, by the names it reads them under.
        compiled: whether it goes into the host's library: C (".c") or C++ (".cpp").
        structural: whether workloads and mappings alone say what its text is, whatever the
            constants. A simulator that plans layers again is held to these files.
        verbatim: whether the text stays as the template leaves it: it is no C, and braces do not
            indent it.
        warning: what the file lacks that users may count on; the compilation says it.
    """

    path: str
    template: str
    values: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))
    compiled: bool = False
    structural: bool = False
    verbatim: bool = False
    warning: str = ""

    def __post_init__(self) -> None:
        """Refuse to compile what is no source."""
        if self.compiled and not self.path.endswith((".c", ".cpp")):
            raise TargetError(f"unit {self.path} is neither C nor C++, and cannot be compiled")


@dataclass(frozen=True)
class Flow:
    """Where a call stands in its network, and whose results it reads.

    Attributes:
        step: number of the call, in execution order.
        sources: for each tensor that it reads, the call that writes just that; None for inputs of
            the network, and for what several calls write or only a part of which is read.
        readers: calls that read what it writes, in order.
        leaves: whether the network gives that out, or a call reads it together with something else.
    """

    step: int = 0
    sources: tuple[int | None, ...] = ()
    readers: tuple[int, ...] = ()
    leaves: bool = True


#: Where a tensor lies: in whose storage, from which byte on, to which.
Extent = tuple[str, int, int]


def flows(
    calls: Sequence[tuple[Sequence[str], Sequence[str]]],
    extents: Mapping[str, Extent],
    outputs: Sequence[str],
) -> tuple[Flow, ...]:
    """The flow of every call.

    Args:
        calls: names of the tensors that each reads, and of those that it writes.
        extents: where each tensor lies.
        outputs: of the network.
    """
    written: dict[str, list[tuple[Extent, int]]] = {}
    for at, (_, wrote) in enumerate(calls):
        for name in wrote:
            written.setdefault(extents[name][0], []).append((extents[name], at))
    readers: dict[int, set[int]] = {at: set() for at in range(len(calls))}
    leaves = {at for name in outputs for _, at in _met(written, extents[name])}
    sources: list[tuple[int | None, ...]] = []
    for at, (read, _) in enumerate(calls):
        found: list[int | None] = []
        for place in (extents[name] for name in read):
            met = _met(written, place)
            alone = len(met) == 1 and met[0][0] == place
            found.append(met[0][1] if alone else None)
            leaves |= set() if alone else {writer for _, writer in met}
            for _, writer in met:
                readers[writer].add(at)
        sources.append(tuple(found))
    return tuple(
        Flow(at, sources[at], tuple(sorted(readers[at])), at in leaves) for at in range(len(calls))
    )


def _met(
    written: Mapping[str, Sequence[tuple[Extent, int]]], place: Extent
) -> list[tuple[Extent, int]]:
    """What is written where `place` lies, and by which call; `written` is by storage."""
    _, begin, end = place
    there = written.get(place[0], ())
    return [(other, at) for other, at in there if other[1] < end and begin < other[2]]


@dataclass(frozen=True)
class HandedOver:
    """A layer among others whose results need not reach the network's memory.

    Attributes:
        cost: of the layer there, modelled.
        held_until: the call after which its result can be looked at, where only the module ever
            holds it; None where it is in the network's memory.
        ahead: runs of the network that may have begun before this one's result is taken, where its
            module works on several at a time (`<symbol>_begin`, `_take`, `_end`); else 0.
    """

    cost: Cost
    held_until: int | None
    ahead: int = 0


@dataclass(frozen=True, eq=False)
class Seat:
    """A layer that was selected, among all of them, before anything is lowered.

    Attributes:
        module: name of the module that runs it.
        workload: what it computes.
        mapping: how it runs.
        sources: for each tensor that it reads, the number of the layer that writes it; None where
            no layer does.
        readers: numbers of the layers that read what it writes.
        leaves: whether something else reads that, too.
        label: what users know it by.
    """

    module: str
    workload: Workload
    mapping: LoopMapping
    sources: tuple[int | None, ...]
    readers: tuple[int, ...]
    leaves: bool
    label: str = ""


@dataclass(frozen=True)
class Bid:
    """A layer that a module could run, before it is decided who runs what.

    Attributes:
        module: its name.
        workload: what it would compute.
        cycles: of the cheapest way, of the target's reference clock; None where it has none.
        root: operator at its end; options of one layer that end alike have the same.
        label: what users know it by.
    """

    module: str
    workload: Workload
    cycles: float | None
    root: int
    label: str = ""


@dataclass(frozen=True, eq=False)
class Configuration:
    """A way to set up a chip for several layers together.

    Attributes:
        ways: how layers run then, and what each takes, by the number of the bid.
        taken: what it takes of the target's capacities, however many of its layers are chosen.
    """

    ways: Mapping[int, tuple[LoopMapping, Cost]]
    taken: Mapping[str, int]


@dataclass(frozen=True, eq=False)
class ChosenLayer:
    """A layer of the network as the target sees it when all are chosen.

    Attributes:
        symbol: of its C function, unique in the network.
        label: what users know it by.
        module: name of the module that runs it.
        workload: what it computes.
        mapping: how it runs.
        constants: by operand name, as the reference reads them.
        flow: where it stands among the network's calls.
    """

    symbol: str
    label: str
    module: str
    workload: Workload
    mapping: LoopMapping
    constants: Mapping[str, np.ndarray]
    flow: Flow = Flow()
