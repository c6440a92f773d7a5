"""From the fallback's call list and the chosen layers to a schedule of steps."""

from __future__ import annotations

from collections.abc import Mapping as MappingOf
from dataclasses import dataclass, replace

import numpy as np

from match_aie.errors import InternalError, TargetError
from match_aie.fallback.remainder import Call, Remainder
from match_aie.hardware import (
    Cost,
    ExecModule,
    Mapping,
    Original,
    Scratch,
    TileProgram,
    activations,
    facet,
)
from match_aie.hardware.memory import meant
from match_aie.lowering.constants import packed_constants
from match_aie.lowering.program import (
    Argument,
    Constant,
    LayerProgram,
    Schedule,
    Step,
    Tensor,
    Workspace,
)
from match_aie.lowering.tiles import tile_program
from match_aie.workload import Operand, Workload
from match_aie.workload.extent import Elements, Size, Tree


@dataclass(frozen=True, eq=False)
class MappedLayer:
    """A chosen layer: what it computes, who runs it, and how.

    Attributes:
        label: what users know it by.
        module: the execution module that runs it.
        pattern: name of the matched pattern.
        workload: what it computes.
        constants: by operand name, as the reference reads them.
        mapping: the best mapping found.
        cost: of that mapping, modelled.
        original: the layer in the model's arithmetic, where the module computes in its own.
        pinned: whether the caller says that this module runs it.
        sized: the workload as JSON with extents in it, where a run gives sizes; else None.
    """

    label: str
    module: ExecModule
    pattern: str
    workload: Workload
    constants: MappingOf[str, np.ndarray]
    mapping: Mapping
    cost: Cost
    original: Original | None = None
    pinned: bool = False
    sized: Tree = None

    @property
    def extents(self) -> tuple[Elements, ...]:
        """Sizes of the loops that a run gives."""
        sizes = dict(self.sized["dims"]) if self.sized else {}
        return tuple(sizes[dim] for dim in self.workload.run_time)


def lower(
    name: str,
    remainder: Remainder,
    layers: MappingOf[str, MappedLayer],
    sizes: tuple[Size, ...] = (),
) -> Schedule:
    """The network's steps, every argument named; memory is planned afterwards.

    Args:
        name: C identifier of the network, the prefix of all symbols.
        remainder: calls of layers by key and of fallback functions.
        layers: key -> the layer it stands for.
        sizes: what a run gives.

    Raises:
        InternalError: a call does not fit the layer it names.
    """
    steps: list[Step] = []
    constants = list(remainder.constants)
    tensors = {tensor.name: tensor for tensor in remainder.tensors}
    lowered = 0
    for call in remainder.calls:
        layer = layers.get(call.callee)
        if layer is None:
            spaces, extents = call.workspaces, call.extents
            made = Step(call.label, call.callee, call.arguments, workspaces=spaces, extents=extents)
            steps.append(made)
            continue
        symbol = f"{name}_layer{lowered}"
        lowered += 1
        packed = packed_constants(layer.workload, layer.module, layer.mapping, layer.constants)
        names = tuple(operand.name for operand in layer.workload.constants)
        constants += [Constant(f"{symbol}_{o}", packed[o]) for o in names]
        tiles = tile_program(layer.workload, layer.module, layer.mapping)
        steps.append(_layer_step(symbol, call, layer, names, tiles))
        _annotate(tensors, steps[-1], layer.workload)
    return Schedule(
        name,
        remainder.inputs,
        remainder.outputs,
        tuple(tensors.values()),
        tuple(constants),
        remainder.aliases,
        tuple(steps),
        remainder.functions,
        remainder.joins,
        sizes=sizes,
    )


def _layer_step(
    symbol: str,
    call: Call,
    layer: MappedLayer,
    names: tuple[str, ...],
    tiles: TileProgram | None,
) -> Step:
    workload, module = layer.workload, layer.module
    reads = tuple(a for a in call.arguments if a.access == "read")
    writes = tuple(a for a in call.arguments if a.access == "write")
    if len(reads) != len(workload.inputs) or len(writes) != 1:
        raise InternalError(
            f"layer {call.callee} is called with {len(reads)} inputs and {len(writes)} outputs, "
            f"its workload has {len(workload.inputs)} inputs",
            where=layer.label,
        )
    scratch = facet(module, Scratch).workspace_bytes(workload, layer.mapping)
    workspaces = (Workspace(f"{symbol}_scratch", scratch),) if scratch else ()
    spaces = tuple(Argument("workspace", w.name, "write") for w in workspaces)
    program = LayerProgram(
        symbol,
        module.name,
        layer.pattern,
        module.template(workload),
        workload,
        layer.mapping,
        layer.cost,
        tuple((name, np.asarray(value)) for name, value in layer.constants.items()),
        tiles=tiles,
        original=layer.original,
        layouts=tuple(activations(workload, module).items()),
        pinned=layer.pinned,
        sized=layer.sized,
    )
    sources = dict(zip((o.name for o in workload.inputs), reads, strict=True))
    pairs = tuple((sources[o].name, writes[0].name) for o in _in_place(module, workload))
    sources |= {name: Argument("constant", f"{symbol}_{name}", "read") for name in names}
    arguments = (*(sources[o.name] for o in workload.operands[:-1]), *writes, *spaces)
    return Step(layer.label, symbol, arguments, program, pairs, workspaces, extents=layer.extents)


def _in_place(module: ExecModule, workload: Workload) -> tuple[str, ...]:
    """Inputs that the output may overwrite; a `TargetError` where one is none."""
    names = tuple(operand.name for operand in workload.inputs)
    for name in facet(module, Scratch).in_place(workload):
        if name not in names:
            raise TargetError(
                f"{type(module).__name__}.in_place() of a {workload.kind} names {name!r}, which is "
                f"none of its inputs{meant(name, names)}",
                where=f"module {module.name}",
            )
    return tuple(facet(module, Scratch).in_place(workload))


def _annotate(tensors: dict[str, Tensor], step: Step, workload: Workload) -> None:
    """Give the tensors of a layer the quantisation that its operands state, and its label."""
    operands: list[tuple[str, Operand]] = list(zip(step.reads(), workload.inputs, strict=True))
    operands.append((step.writes()[0], workload.output))
    for name, operand in operands:
        tensor = tensors[name]
        if tensor.dtype != operand.dtype or tensor.nbytes != operand.nbytes:
            raise InternalError(
                f"tensor {name} is {tensor.dtype}{list(tensor.shape)}, operand {operand.name} "
                f"is {operand.dtype}{list(operand.shape)}",
                where=step.label,
            )
        if operand.scale is not None and tensor.scale is None:
            tensors[name] = replace(tensor, scale=operand.scale, zero_point=operand.zero_point)
    written = step.writes()[0]
    if not tensors[written].label:
        tensors[written] = replace(tensors[written], label=step.label)
