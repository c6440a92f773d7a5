"""What only some modules have, in groups beside `ExecModule`.

A module that has one of them inherits it too: `class Mine(ExecModule, Tiled)`. Everything has a
default; `facet(module, Tiled)` is how the compiler asks, whether a module has it or not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from collections.abc import Mapping as MappingOf
from dataclasses import dataclass
from typing import ClassVar, Literal, Protocol

import numpy as np

from match_aie.hardware.blocked import Blocked
from match_aie.hardware.cost import Array, Tile
from match_aie.hardware.mapping import Loop, Mapping
from match_aie.hardware.memory import Memory
from match_aie.hardware.roof import Roof
from match_aie.workload import Converted, Workload

#: The unit of the chip that runs what no module claims.
CORE = "core"

#: Constants of a layer by operand name.
Constants = MappingOf[str, np.ndarray]


class Slowing(Protocol):
    """By what part a layer's kernel takes longer while another unit works on the `other` layer."""

    def __call__(self, own: Workload, other: Workload) -> float: ...  # noqa: D102


@dataclass(frozen=True)
class Company:
    """What a layer takes more while another unit works on another layer, in cycles.

    Attributes:
        enter: of the controller, to enter the layer.
        call: of the controller, around each call of the kernel, or what says so of the layer.
        enter_one: `enter` of a layer of one call, where that is another.
        slowed: part by which the kernel takes longer while the other unit works, or what says so
            of both layers.
        fewer: how many times as long a layer's kernel takes from its start to its end, whatever
            the other unit does, where fewer of its unit's cores work then; as long where None.
        after_own: of a layer that is alone, right after one of its own unit; its price is of both.
        after_other: of one right after a layer of another unit.
        cases: the same where the chip may be otherwise than it is priced, as nobody knows it: two
            layers are put side by side only where that is modelled faster in each of them, too.
            Modules of a target have the same ones, in one order.
    """

    enter: float = 0.0
    call: float | Callable[[Workload], float] = 0.0
    slowed: float | Slowing = 0.0
    fewer: Callable[[Workload], float] | None = None
    enter_one: float | None = None
    after_own: float = 0.0
    after_other: float = 0.0
    cases: tuple[Company, ...] = ()

    def around(self, workload: Workload) -> float:
        """Cycles of the controller around each call of a layer's kernel."""
        return self.call(workload) if callable(self.call) else self.call

    def more(self, workload: Workload, calls: int) -> float:
        """Cycles of the controller in a layer of so many calls."""
        one = calls == 1 and self.enter_one is not None
        return (self.enter_one or 0.0 if one else self.enter) + self.around(workload) * calls

    def slowed_by(self, own: Workload, other: Workload) -> float:
        """Part by which the kernel of a layer takes longer while that of the `other` one works."""
        return self.slowed(own, other) if callable(self.slowed) else self.slowed

    def longer(self, workload: Workload) -> float:
        """How many times as long a layer's kernel takes on the cores that work beside others."""
        return self.fewer(workload) if self.fewer else 1.0


class Packed:
    """Operands that lie in blocks, or otherwise than the workload has them."""

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


class Scratch:
    """Buffers beside the operands, or fewer of them."""

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


class Tiled:
    """What is special about tiles in inner memories.

    `pareto` names an inner memory where the module wants several mappings to choose from: every
    one than which none is better in both cycles and bytes of that memory.
    """

    #: Whether inner memories are caches: they fill themselves, emitted code moves no tiles.
    caches: ClassVar[bool] = False
    #: Whether tiles hold the zeros around the image too, because the kernel cannot skip them.
    padded_tiles: ClassVar[bool] = False
    pareto: ClassVar[str | None] = None

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


class OwnArithmetic:
    """Requantisation as the hardware has it.

    `arithmetic` says whose rounding it follows: "model" (what ONNX Runtime computes, as
    `workload.reference` defines it) or "module" (the hardware's own, see `convert`).
    """

    arithmetic: ClassVar[Literal["model", "module"]] = "model"

    def convert(self, workload: Workload, constants: Constants) -> Converted | str:
        """The layer in the module's own arithmetic, or a sentence saying why there is none.

        Called once a pattern matched and its check accepted. By default the layer is computed as
        it is. A conversion stands for the same inputs and output.
        """
        return Converted(workload, constants)

    def nearest(self, workload: Workload, constants: Constants) -> Converted | str:
        """The nearest layer to one that `convert` refused, and a bound of what is lost, or why not.

        Called only for `compile(arithmetic="nearest")`: whoever asks allows a loss, which is told.
        """
        del workload, constants
        return "its module has no arithmetic that comes near"

    def mapped(self, workload: Workload, mapping: Mapping) -> Workload:
        """A converted layer as this mapping computes it, where what it means hangs on that.

        Called once a mapping is chosen: from then on it is what the layer is held to. Operands stay
        as they are. By default it is the layer.
        """
        del mapping
        return workload

    def shorter(self, workload: Workload) -> MappingOf[str, str]:
        """Types of 16 bits in which its float32 activations may be stored, by operand.

        A tensor for which all layers that touch it name the same is stored so, each element rounded
        once, where the network is modelled better then. None by default.
        """
        del workload
        return {}


class Concurrent:
    """Which unit of the chip a module is.

    `unit` names it, the module's own name where empty: nothing is handed over between modules of
    one unit. `CORE` is the unit that runs the fallback.
    `beside` says that it may run at the same time as modules of other units that say so too, where
    layers share the target's inner memory, and what that takes.
    """

    unit: ClassVar[str] = ""
    beside: Company | None = None


class Sized:
    """Layers with loops whose sizes a run gives."""

    def refuses_sizes(self, workload: Workload) -> str | None:
        """Why it cannot run a layer of which a run gives `workload.run_time`; None where it can.

        A constant that such a loop runs along is as large as it becomes: a run reads the first
        elements of its axes. By default a module cannot: the core runs the layer then.
        """
        loops = ", ".join(workload.run_time)
        return f"its loops have fixed sizes, and a run gives that of {loops}"


class Priced:
    """What searches and reports know of a module's cycles.

    `frequency` in Hz where the module's clock is not the target's: its cycles are then converted.
    `version` belongs to the key under which searches are cached: raise it where costs change and
    neither the class's source file nor its attributes show it (a table in a data file).
    `precision` is the share of its price by which the model may be wrong about a mapping: engine
    `loma` stops at one that is within it of the proven bound.
    """

    frequency: float | None = None
    version: ClassVar[str] = ""
    precision: ClassVar[float] = 0.0

    def roof(self, workload: Workload) -> Roof | None:
        """What the hardware bounds the layer by, for reports; None where no source says.

        Cost models do not see it: it is what they, and simulators, are held against.
        """
        del workload
        return None


class OnArray:
    """Layers that share a chip, each for as long as the network is there."""

    def unrollings(self, workload: Workload) -> Sequence[Sequence[Loop]]:
        """Spatial loops to choose from, for a module with a single memory; none by default.

        `ExecModule.spatial` is what is run then. Each is priced, and becomes a mapping of its own:
        where a network's layers share something of the chip (`demands`), selection chooses among
        them.
        """
        del workload
        return ()

    def nests(self, workload: Workload) -> Sequence[Mapping]:
        """Whole mappings to choose from, for a module with a single memory, instead of unrollings.

        None by default: what `unrollings` leave is then run in order.
        """
        del workload
        return ()

    def demands(self, workload: Workload, mapping: Mapping) -> MappingOf[str, int]:
        """What the layer takes of the chip's `capacities` for as long as the network is there.

        By name; nothing by default.
        """
        del workload, mapping
        return {}


#: All of them.
MODULE_FACETS = (Packed, Scratch, Tiled, OwnArithmetic, Concurrent, Sized, Priced, OnArray)
