"""One thing on the chip that can run layers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping as MappingOf
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import ClassVar, Literal

import numpy as np

from match_aie.errors import TargetError
from match_aie.hardware.blocked import Blocked
from match_aie.hardware.cost import Array, CostModel, Tile, TileCostModel
from match_aie.hardware.guard import guard_methods
from match_aie.hardware.mapping import Loop, Mapping
from match_aie.hardware.pattern import Pattern
from match_aie.hardware.roof import Roof
from match_aie.workload import Converted, Workload

#: The unit of the chip that runs what no module claims.
CORE = "core"

#: Name among `Memory.operands` of a layer's partial sums.
SUMS = "sums"

#: Every operand that a layer of some kind has.
OPERANDS = (
    *("x", "x1", "x2", "y", "weight", "bias", "scale", "multiplier", "offset", "table"),
    *("recurrent", "residual", "mask"),
    # Of attention, whose constants are those of three layers.
    *("scores_scale", "scores_multiplier", "scores_offset", "weights_multiplier"),
)

#: Constants of a layer by operand name.
Constants = MappingOf[str, np.ndarray]


@dataclass(frozen=True)
class Memory:
    """A memory, and the way from it to the next one inward.

    Attributes:
        name: as users know it.
        bytes: capacity; None where it is not limited.
        bytes_per_cycle: bandwidth towards the memory inside, in the module's cycles.
        store_bytes_per_cycle: bandwidth of the way back; None where it is the same.
        transfer_cycles: fixed cost of a transfer between this memory and the one inside.
        chunk_cycles: cost of every contiguous piece of a transfer.
        operands: names of those it serves; None for all. Memories side by side serve different
            operands. An innermost one that names "sums" holds partial sums of the output's tile,
            where a kernel sums a part (`ExecModule.tiled_reductions`).
        double_buffered: operands whose tiles are moved while others are worked on, so that two
            of them are there at a time (unless one tile is all there is); None for all.
        reserved: bytes that are never free for tiles, beside `ExecModule.reserved_bytes`.
        alignment: of every tile, in bytes.
        picojoules_per_byte: of a byte that moves between this memory and the one inside.
    """

    name: str
    bytes: int | None
    bytes_per_cycle: float
    store_bytes_per_cycle: float | None = None
    transfer_cycles: float = 0.0
    chunk_cycles: float = 0.0
    operands: tuple[str, ...] | None = None
    double_buffered: tuple[str, ...] | None = ()
    reserved: int = 0
    alignment: int = 1
    picojoules_per_byte: float = 0.0

    def __post_init__(self) -> None:
        """Refuse what no memory can be."""
        positive = {
            "bytes": self.bytes,
            "bytes_per_cycle": self.bytes_per_cycle,
            "store_bytes_per_cycle": self.store_bytes_per_cycle,
            "alignment": self.alignment,
        }
        natural = ("transfer_cycles", "chunk_cycles", "reserved", "picojoules_per_byte")
        for field, value in positive.items():
            if value is not None and not value > 0:
                raise TargetError(f"memory {self.name!r}: {field} must be positive, not {value}")
        for field in natural:
            value = getattr(self, field)
            if not value >= 0:
                raise TargetError(f"memory {self.name!r}: {field} may not be negative: {value}")

    def serves(self, operand: str) -> bool:
        """Whether tiles of `operand` are kept here."""
        return self.operands is None or operand in self.operands

    def doubles(self, operand: str) -> bool:
        """Whether two tiles of `operand` are kept here at a time."""
        return self.double_buffered is None or operand in self.double_buffered


def sums_memory(memories: Sequence[Memory]) -> Memory | None:
    """The inner memory that holds partial sums: the one that names them, if one does."""
    return next((m for m in memories[:-1] if m.operands and SUMS in m.operands), None)


def meant(name: str, known: Sequence[str]) -> str:
    """What an author probably meant by a name that is none, as the end of a sentence."""
    close = get_close_matches(name, known, 1, 0.6)
    if close:
        return f"; did you mean {close[0]!r}"
    return f"; there is {', '.join(known)}" if known else "; there is none"


def check_memories(memories: Sequence[Memory]) -> None:
    """Refuse memories that cannot be a hierarchy.

    Raises:
        TargetError: one names an operand that no layer has; two have one name; the outermost does
            not serve all operands; or of two that serve the same operand the outer one is the
            smaller one.
    """
    held = (*OPERANDS, SUMS)
    for memory in memories:
        named = {"operands": memory.operands, "double_buffered": memory.double_buffered}
        for field, given in named.items():
            if isinstance(given, str):
                raise TargetError(
                    f"memory {memory.name!r}: {field} is the text {given!r}, not a tuple of names",
                    hint=f"{field}=({given!r},)",
                )
            for name in given or ():
                if name not in held:
                    raise TargetError(
                        f"memory {memory.name!r}: {field} names {name!r}, an operand that no layer "
                        f"has{meant(name, held)}"
                    )
    names = [memory.name for memory in memories]
    if len(set(names)) != len(names):
        raise TargetError(f"memories: names must differ: {names}")
    if memories and memories[-1].operands is not None:
        raise TargetError(
            f"memories: {memories[-1].name!r} is outermost and must serve all operands"
        )
    for at, inner in enumerate(memories):
        for outer in memories[at + 1 :]:
            if _share(inner, outer) and _capacity(outer) < _capacity(inner):
                raise TargetError(
                    f"memories: {outer.name!r} ({outer.bytes} bytes) comes after {inner.name!r} "
                    f"({inner.bytes} bytes) but is smaller",
                    hint="list memories innermost first",
                )


def _share(a: Memory, b: Memory) -> bool:
    return a.operands is None or b.operands is None or bool(set(a.operands) & set(b.operands))


def _capacity(memory: Memory) -> float:
    return float("inf") if memory.bytes is None else memory.bytes


@dataclass(frozen=True)
class Company:
    """What a layer takes more while another unit works on another layer, in cycles.

    Attributes:
        enter: of the controller, to enter the layer.
        call: of the controller, around each call of the kernel.
        one_call: both together in a layer of one call, where that is not their sum.
        slowed: part by which the kernel takes longer while the other unit works.
    """

    enter: float = 0.0
    call: float = 0.0
    slowed: float = 0.0
    one_call: float | None = None

    def more(self, calls: int) -> float:
        """Cycles of the controller in a layer of so many calls."""
        if calls == 1 and self.one_call is not None:
            return self.one_call
        return self.enter + self.call * calls


class ExecModule(ABC):
    """An execution module: patterns, cost model and template of one compute unit.

    `name` and `memories` (innermost first) are class attributes or set in the constructor.
    `arithmetic` says whose rounding requantisation follows: "model" (what ONNX Runtime computes,
    as `workload.reference` defines it) or "module" (the hardware's own, see `convert`).
    `frequency` in Hz where the module's clock is not the target's: its cycles are then converted.
    `version` belongs to the key under which searches are cached: raise it where costs change and
    neither the class's source file nor its attributes show it (a table in a data file).
    `unit` names the unit of the chip that it is, its own name where empty: nothing is handed over
    between modules of one unit. `CORE` is the unit that runs the fallback.
    `beside` says that it may run at the same time as modules of other units that say so too, where
    layers share the target's inner memory, and what that takes.
    `pareto` names an inner memory where the module wants several mappings to choose from: every
    one than which none is better in both cycles and bytes of that memory.
    `precision` is the share of its price by which the model may be wrong about a mapping: engine
    `loma` stops at one that is within it of the proven bound.
    """

    name: ClassVar[str] = ""
    arithmetic: ClassVar[Literal["model", "module"]] = "model"
    unit: ClassVar[str] = ""
    beside: Company | None = None
    version: ClassVar[str] = ""
    pareto: ClassVar[str | None] = None
    precision: ClassVar[float] = 0.0
    frequency: float | None = None
    memories: tuple[Memory, ...] = ()
    #: Whether inner memories are caches: they fill themselves, emitted code moves no tiles.
    caches: ClassVar[bool] = False
    #: Whether tiles hold the zeros around the image too, because the kernel cannot skip them.
    padded_tiles: ClassVar[bool] = False

    def __init_subclass__(cls, **kwargs: object) -> None:
        """Refuse a class whose memories are not a hierarchy; name it where its methods fail."""
        super().__init_subclass__(**kwargs)
        check_memories(cls.memories)
        guard_methods(cls, ExecModule)

    def __setattr__(self, name: str, value: object) -> None:
        """Refuse memories that are not a hierarchy, as soon as they are set."""
        if name == "memories" and isinstance(value, tuple):
            check_memories(value)
        super().__setattr__(name, value)

    @abstractmethod
    def patterns(self) -> Sequence[Pattern]:
        """What the module can run, longest first."""

    def convert(self, workload: Workload, constants: Constants) -> Converted | str:
        """The layer in the module's own arithmetic, or a sentence saying why there is none.

        Called once a pattern matched and its check accepted. By default the layer is computed as
        it is. A conversion stands for the same inputs and output.
        """
        return Converted(workload, constants)

    @abstractmethod
    def spatial(self, workload: Workload) -> Sequence[Loop]:
        """What the hardware unrolls."""

    def unrollings(self, workload: Workload) -> Sequence[Sequence[Loop]]:
        """Spatial loops to choose from, for a module with a single memory; `spatial` by default.

        Each is priced, and becomes a mapping of its own: where a network's layers share something
        of the chip (`demands`), selection chooses among them.
        """
        return (self.spatial(workload),)

    def nests(self, workload: Workload) -> Sequence[Mapping]:
        """Whole mappings to choose from, for a module with a single memory, instead of unrollings.

        None by default: what `unrollings` leave is then run in order.
        """
        del workload
        return ()

    def demands(self, workload: Workload, mapping: Mapping) -> MappingOf[str, int]:
        """What the layer takes of the target's `capacities` for as long as the network is there.

        By name; nothing by default.
        """
        del workload, mapping
        return {}

    @abstractmethod
    def cost_model(self, workload: Workload) -> CostModel | TileCostModel:
        """How to price a mapping of `workload`; a `TileCostModel` where memories are nested."""

    @abstractmethod
    def template(self, workload: Workload) -> str:
        """Name of the layer template: a path below `templates/`, or "package:path"."""

    def tiled_reductions(self, workload: Workload) -> tuple[str, ...]:
        """Reduction dimensions of which the kernel can do a part, adding to partial sums.

        Where tiles are moved, a memory names "sums" among its operands: there they are kept until
        the last part, beside the output's tile and as wide as `Workload.partial_itemsize`.
        """
        del workload
        return ()

    def constrain(self, workload: Workload, tile: Tile) -> Array:
        """Whether the hardware can do a call of the kernel on `tile`; everything by default.

        For many tiles at a time, those at the border that are smaller among them: give an array
        of bool, such as `tile["OX"] <= 64`. Only where there are inner memories.
        """
        del workload
        return np.ones_like(next(iter(tile.values())), bool)

    def stores_partial_sums(self, workload: Workload) -> bool:
        """Whether partial sums may leave the innermost memory, in their wide form."""
        del workload
        return False

    def reserved_bytes(self, workload: Workload, memory: Memory, tile: Tile) -> Array:
        """Bytes of `memory` that a kernel working on `tile` needs beside the tiles (im2col, stack).

        What packed constants take is known from `layouts`. Only in an innermost memory may they
        depend on `tile`. None by default.
        """
        del workload, memory
        return np.zeros_like(next(iter(tile.values())))

    def layouts(self, workload: Workload) -> MappingOf[str, Blocked]:
        """How operands lie, by name; those that are not there lie as they are, row-major.

        Constants are packed so. Where tiles are moved, every constant that `pack` changes has a
        layout: tiles are whole blocks then, and memories hold what the blocks take.

        Inputs and the output may have one too, such as images in blocks of channels. Layers that
        mean the same hand tensors over so; elsewhere the core copies them, which selection prices
        as `fallback_cost` of an operation "layout_transform". A copy fills ragged blocks with 0;
        what a kernel leaves there is nobody's, so weights that meet it are 0.
        """
        del workload
        return {}

    def pack(self, workload: Workload, constants: Constants) -> Constants:
        """Constants in the layout the template reads; by default what `layouts` says of them.

        Layouts that end in "..." leave the bytes of a block to this method.
        """
        layouts = self.layouts(workload)
        operands = {operand.name: operand for operand in workload.constants}
        return {
            name: layouts[name].on(operands[name]).pack(operands[name], np.asarray(value))
            if name in layouts and name in operands and layouts[name].cell is None
            else value
            for name, value in constants.items()
        }

    def pack_mapped(self, workload: Workload, mapping: Mapping, constants: Constants) -> Constants:
        """Constants as the layer reads them when run as `mapping` says; by default as `pack`."""
        del mapping
        return self.pack(workload, constants)

    def kernel(self, workload: Workload, mapping: Mapping) -> object:
        """What the template reads as `layer.kernel`: decisions that the layer does not show.

        Such as register tiles, and the loops of `mapping` in the words of the template. Plain
        frozen data, a function of the arguments only; None by default.
        """
        del workload, mapping
        return None

    def roof(self, workload: Workload) -> Roof | None:
        """What the hardware bounds the layer by, for reports; None where no source says.

        Cost models do not see it: it is what they, and simulators, are held against.
        """
        del workload
        return None

    def scratch_bytes(self, workload: Workload) -> int:
        """Arena bytes the emitted layer function needs beside its operands; 0 by default."""
        del workload
        return 0

    def workspace_bytes(self, workload: Workload, mapping: Mapping) -> int:
        """Scratch of the layer as `mapping` runs it; what `scratch_bytes` says by default.

        Positive for every mapping of the workload, or for none.
        """
        del mapping
        return self.scratch_bytes(workload)

    def in_place(self, workload: Workload) -> tuple[str, ...]:
        """Inputs whose storage the output may take over; none by default."""
        del workload
        return ()
