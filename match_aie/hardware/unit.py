"""Sources that a target's layers need beside the network's C, each from a template."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np

from match_aie.errors import TargetError
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
    """

    symbol: str
    label: str
    module: str
    workload: Workload
    mapping: LoopMapping
    constants: Mapping[str, np.ndarray]
