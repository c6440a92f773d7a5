"""One thing on the chip that can run layers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from match_aie.hardware.cost import CostModel, TileCostModel
from match_aie.hardware.facet import refuse_stranger, refuse_strangers
from match_aie.hardware.guard import guard_methods
from match_aie.hardware.mapping import Loop, Mapping
from match_aie.hardware.memory import Memory, check_memories
from match_aie.hardware.module_facets import MODULE_FACETS
from match_aie.hardware.pattern import Pattern
from match_aie.workload import Workload


class ExecModule(ABC):
    """An execution module: patterns, cost model and template of one compute unit.

    `name` and `memories` (innermost first) are class attributes or set in the constructor. What
    only some modules have, they inherit in addition (`module_facets`).
    """

    name: ClassVar[str] = ""
    memories: tuple[Memory, ...] = ()

    def __init_subclass__(cls, **kwargs: object) -> None:
        """Refuse a class whose memories are not a hierarchy; name it where its methods fail."""
        super().__init_subclass__(**kwargs)
        check_memories(cls.memories)
        refuse_strangers(cls, MODULE_FACETS)
        guard_methods(cls, ExecModule, *MODULE_FACETS)

    def __setattr__(self, name: str, value: object) -> None:
        """Refuse memories that are not a hierarchy, and what no facet of the class has."""
        if name == "memories" and isinstance(value, tuple):
            check_memories(value)
        refuse_stranger(type(self), name, MODULE_FACETS)
        super().__setattr__(name, value)

    @abstractmethod
    def patterns(self) -> Sequence[Pattern]:
        """What the module can run, longest first."""

    @abstractmethod
    def spatial(self, workload: Workload) -> Sequence[Loop]:
        """What the hardware unrolls."""

    @abstractmethod
    def cost_model(self, workload: Workload) -> CostModel | TileCostModel:
        """How to price a mapping of `workload`; a `TileCostModel` where memories are nested."""

    @abstractmethod
    def template(self, workload: Workload) -> str:
        """Name of the layer template: a path below `templates/`, or "package:path"."""

    def kernel(self, workload: Workload, mapping: Mapping) -> object:
        """What the template reads as `layer.kernel`: decisions that the layer does not show.

        Such as register tiles, and the loops of `mapping` in the words of the template. Plain
        frozen data, a function of the arguments only; None by default.
        """
        del workload, mapping
        return None
