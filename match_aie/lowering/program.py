"""The program: every number final. Templates render it, the simulator executes it.

A `NetworkProgram` is a list of `Step`s (calls of C functions) over named tensors and constants.
Tensor and constant names here are the compiler's own C identifiers; what users named them is
kept beside, for reports only.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Literal

import numpy as np

from match_aie.hardware import (
    ChosenLayer,
    Cost,
    Mapping,
    Original,
    Packing,
    TileProgram,
    Unit,
    flows,
)
from match_aie.lowering.lanes import Beside
from match_aie.workload import ITEMSIZE, Workload
from match_aie.workload.extent import Elements, Size, Tree


@dataclass(frozen=True)
class Tensor:
    """A run-time tensor, dense, row-major.

    Attributes:
        name: a C identifier, unique in the network.
        dtype: numpy name of the element type.
        shape: elements per axis; () is a scalar.
        label: what users know it by (an ONNX value name), or empty.
        scale: of the quantisation where known, else None; for reports in LSB.
        zero_point: of the quantisation.
        extents: elements per axis as they depend on a run's sizes, where they do; `shape` is then
            the largest.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    label: str = ""
    scale: float | None = None
    zero_point: int = 0
    extents: tuple[Elements, ...] = ()

    @property
    def nbytes(self) -> int:
        """Bytes of the tensor; at least 1, so that every tensor has an address."""
        return max(1, prod(self.shape) * ITEMSIZE[self.dtype])


@dataclass(frozen=True, eq=False)
class Constant:
    """A compile-time tensor, in the layout that the emitted code reads."""

    name: str
    value: np.ndarray


@dataclass(frozen=True)
class Argument:
    """One argument of a call: where it comes from, and whether the callee reads or writes it."""

    kind: Literal["tensor", "constant", "workspace"]
    name: str
    access: Literal["read", "write"]


@dataclass(frozen=True)
class Workspace:
    """Arena bytes that live during one step only; `name` is unique in the network."""

    name: str
    nbytes: int


@dataclass(frozen=True)
class CFunction:
    """A C function made by the fallback.

    Attributes:
        symbol: its name, a C identifier unique in the network.
        source: text of the complete `static` definition.
        operators: what it computes, for reports ("multiply, erf, add").
        meanings: the tensor functions that it was made of, before any transformation, as TVM
            stores them; several where they have one text in C. None for a copy.
        written: per tensor parameter of these, whether C writes it; C has those parameters last.
    """

    symbol: str
    source: str
    operators: str = ""
    meanings: tuple[str, ...] = ()
    written: tuple[bool, ...] = ()


@dataclass(frozen=True, eq=False)
class LayerProgram:
    """A layer that an execution module runs.

    Attributes:
        symbol: its C function's name.
        module: name of the execution module.
        pattern: name of the matched pattern.
        template: name of the layer template, as `ExecModule.template` gives it.
        workload: what it computes.
        mapping: how it runs.
        cost: what the module's cost model says; modelled.
        constants: by operand name, as `workload.reference` reads them (not packed).
        tiles: how tiles move, where the module has an inner memory.
        original: the layer in the model's arithmetic, where the module computes in its own.
        held_until: the step after which its result can be looked at, where only the module holds
            it (`HandedOver`); else None.
        ahead: runs that may have begun before this one's result is taken (`HandedOver`).
        layouts: how inputs and output lie that are not row-major, by operand name.
        pinned: whether the caller says that this module runs it: all of it.
        sized: the workload as JSON with extents in it, where a run gives sizes; else None.
    """

    symbol: str
    module: str
    pattern: str
    template: str
    workload: Workload
    mapping: Mapping
    cost: Cost
    constants: tuple[tuple[str, np.ndarray], ...]
    tiles: TileProgram | None = None
    original: Original | None = None
    held_until: int | None = None
    ahead: int = 0
    layouts: tuple[tuple[str, Packing], ...] = ()
    pinned: bool = False
    sized: Tree = None


@dataclass(frozen=True, eq=False)
class Step:
    """One call in the network's list.

    Attributes:
        label: what users know it by: the ONNX node or output name.
        symbol: the C function called.
        arguments: in the order of the C parameters; every step writes at least one tensor.
        layer: the layer behind it, None for the fallback.
        in_place: (read tensor, written tensor) pairs that may share storage.
        workspaces: arena bytes the call needs beside its tensors.
        cycles: of the core, modelled, where no operator of the graph stands for the step.
        extents: what the call hands over last: numbers that depend on a run's sizes.
    """

    label: str
    symbol: str
    arguments: tuple[Argument, ...]
    layer: LayerProgram | None = None
    in_place: tuple[tuple[str, str], ...] = ()
    workspaces: tuple[Workspace, ...] = ()
    cycles: float = 0.0
    extents: tuple[Elements, ...] = ()

    def reads(self) -> tuple[str, ...]:
        """Names of the tensors read, in argument order."""
        return tuple(a.name for a in self.arguments if (a.kind, a.access) == ("tensor", "read"))

    def writes(self) -> tuple[str, ...]:
        """Names of the tensors written, in argument order."""
        return tuple(a.name for a in self.arguments if (a.kind, a.access) == ("tensor", "write"))

    def stays(self) -> tuple[str, ...]:
        """Names of the tensors written that only the module's own memory ever holds."""
        if self.layer is not None and self.layer.held_until is not None:
            return self.writes()
        tiles = self.layer.tiles if self.layer else None
        return self.writes() if tiles and tiles.operands[-1].moves == "never" else ()


@dataclass(frozen=True)
class Alias:
    """Tensor `view` lies in the storage of tensor `base`, from byte `offset` on.

    All of it is a reshape; a part is an operand of a concatenation.
    """

    view: str
    base: str
    offset: int = 0


@dataclass(frozen=True)
class Join:
    """A concatenation, and whether its operands are made where they belong.

    Attributes:
        label: what users know the result by.
        nbytes: of the result.
        copied: bytes of it that are copied; 0 where no code is left.
        parts: tensors that are views of the result, in order; none where a function makes all.
        reasons: why bytes are copied.
    """

    label: str
    nbytes: int
    copied: int
    parts: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Schedule:
    """The ordered calls of a network before memory is planned.

    Attributes:
        name: of the network, a C identifier.
        inputs: tensor names, in the model's order.
        outputs: tensor names, in the model's order; each is written by a step and is not an
            input, not another output, and not an alias of either.
        tensors: all of them.
        constants: all of them, in first-use order.
        aliases: views.
        steps: in execution order.
        functions: fallback C functions, in first-use order.
        joins: concatenations, in execution order.
        beside: steps that run at the same time, in execution order.
        sizes: what a run gives, in the order of the emitted function's parameters.
    """

    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    tensors: tuple[Tensor, ...]
    constants: tuple[Constant, ...]
    aliases: tuple[Alias, ...]
    steps: tuple[Step, ...]
    functions: tuple[CFunction, ...]
    joins: tuple[Join, ...] = ()
    beside: tuple[Beside, ...] = ()
    sizes: tuple[Size, ...] = ()

    def span(self, step: int) -> tuple[int, int]:
        """First and last index of the steps that run while step `step` does, itself included."""
        found = next((one for one in self.beside if step in one.steps), None)
        return found.span(step) if found else (step, step)

    def tensor(self, name: str) -> Tensor:
        """The tensor called `name`; KeyError if there is none."""
        for tensor in self.tensors:
            if tensor.name == name:
                return tensor
        raise KeyError(name)

    @property
    def layers(self) -> tuple[LayerProgram, ...]:
        """The layers of all modules, each once, in execution order."""
        return tuple(step.layer for step in self.steps if step.layer is not None)

    def _extents(self) -> dict[str, tuple[str, int, int]]:
        """In whose storage every tensor lies, from which byte to which."""
        base = {alias.view: alias for alias in self.aliases}
        found = {}
        for tensor in self.tensors:
            owner, offset = tensor.name, 0
            while owner in base:
                offset += base[owner].offset
                owner = base[owner].base
            found[tensor.name] = owner, offset, offset + tensor.nbytes
        return found

    @property
    def chosen(self) -> tuple[ChosenLayer, ...]:
        """The same as the target sees them."""
        calls = [(step.reads(), step.writes()) for step in self.steps]
        found = flows(calls, self._extents(), self.outputs)
        return tuple(
            ChosenLayer(
                step.layer.symbol,
                step.label,
                step.layer.module,
                step.layer.workload,
                step.layer.mapping,
                dict(step.layer.constants),
                flow,
            )
            for step, flow in zip(self.steps, found, strict=True)
            if step.layer is not None
        )


@dataclass(frozen=True)
class Placement:
    """Where one tensor or workspace lies in a memory, and during which steps it must stay there.

    `first` and `last` are step indices, inclusive.
    """

    name: str
    offset: int
    nbytes: int
    first: int
    last: int


@dataclass(frozen=True)
class MemoryPlan:
    """A packed memory.

    Attributes:
        memory: its name.
        nbytes: bytes used, a multiple of the alignment.
        alignment: of every placement, in bytes.
        lower_bound: no plan can use less: the largest sum of live bytes over steps.
        placements: of every tensor that is neither input nor output nor alias, and workspaces.
        in_place: (read, written) pairs that were given one storage.
        peak_step: index of the step at which most bytes are alive.
    """

    memory: str
    nbytes: int
    alignment: int
    lower_bound: int
    placements: tuple[Placement, ...]
    in_place: tuple[tuple[str, str], ...]
    peak_step: int

    def offset(self, name: str) -> int:
        """Offset of `name` in bytes; KeyError if it is not placed."""
        for placement in self.placements:
            if placement.name == name:
                return placement.offset
        raise KeyError(name)


@dataclass(frozen=True)
class Stream:
    """Constants of one step that are fetched from a backing memory while the step before runs.

    Or, where both steps' constants do not fit at once, after it: nothing else runs meanwhile.

    Attributes:
        step: index of the step that reads them.
        constants: their names, in the order in which they lie.
        space: name of their placement in the plan.
        nbytes: of all of them, each aligned.
        late: whether the fetch starts when the step before is over.
    """

    step: int
    constants: tuple[str, ...]
    space: str
    nbytes: int
    late: bool = False

    @property
    def start(self) -> int:
        """Index of the step before which the fetch starts."""
        return self.step if self.late else max(0, self.step - 1)


@dataclass(frozen=True, eq=False)
class NetworkProgram:
    """A schedule with its memory planned: ready to render.

    `units` are sources that the target's layers need beside the network's C.
    """

    schedule: Schedule
    plan: MemoryPlan
    streams: tuple[Stream, ...] = ()
    units: tuple[Unit, ...] = ()
