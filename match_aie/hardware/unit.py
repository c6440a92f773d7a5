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
    """

    path: str
    template: str
    values: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))
    compiled: bool = False
    structural: bool = False

    def __post_init__(self) -> None:
        """Refuse to compile what is no source."""
        if self.compiled and not self.path.endswith((".c", ".cpp")):
            raise TargetError(f"unit {self.path} is neither C nor C++, and cannot be compiled")


@dataclass(frozen=True)
class Flow:
    """Where a call stands in its network, and whose results it reads.

    Attributes:
        step: number of the call, in execution order.
        sources: for each tensor that it reads, the call that writes it; None for an input of the
            network.
        readers: calls that read what it writes, in order.
        leaves: whether the network gives that out.
    """

    step: int = 0
    sources: tuple[int | None, ...] = ()
    readers: tuple[int, ...] = ()
    leaves: bool = True


def flows(
    calls: Sequence[tuple[Sequence[str], Sequence[str]]],
    owners: Mapping[str, str],
    outputs: Sequence[str],
) -> tuple[Flow, ...]:
    """The flow of every call.

    Args:
        calls: names of the tensors that each reads, and of those that it writes.
        owners: whose storage each tensor has.
        outputs: of the network.
    """
    writers = {owners[name]: at for at, (_, wrote) in enumerate(calls) for name in wrote}
    given = {owners[name] for name in outputs}
    readers: dict[int, list[int]] = {at: [] for at in range(len(calls))}
    for at, (read, _) in enumerate(calls):
        for source in dict.fromkeys(writers.get(owners[name]) for name in read):
            if source is not None:
                readers[source].append(at)
    return tuple(
        Flow(
            at,
            tuple(writers.get(owners[name]) for name in read),
            tuple(readers[at]),
            any(owners[name] in given for name in wrote),
        )
        for at, (read, wrote) in enumerate(calls)
    )


@dataclass(frozen=True)
class HandedOver:
    """A layer among others whose results need not reach the network's memory.

    Attributes:
        cost: of the layer there, modelled.
        held_until: the call after which its result can be looked at, where only the module ever
            holds it; None where it is in the network's memory.
    """

    cost: Cost
    held_until: int | None


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
