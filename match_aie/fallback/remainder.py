"""What the fallback hands over: a network as a flat call list, with C for the unclaimed rest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from match_aie.workload.extent import Elements

if TYPE_CHECKING:  # `lowering` reads these types in turn
    from match_aie.lowering.program import (
        Alias,
        Argument,
        CFunction,
        Constant,
        Join,
        Tensor,
        Workspace,
    )


@dataclass(frozen=True)
class Call:
    """One call of the flat list, in execution order.

    Attributes:
        callee: symbol of a `CFunction`, or the key of an extracted layer ("ma_3").
        arguments: in C parameter order. For a layer: the tensors read, then the tensors written;
            its constants and scratch are added by `lowering.lower`.
        label: what users know the result by.
        workspaces: arena bytes the function needs, named by its workspace arguments.
        extents: numbers that depend on a run's sizes, the function's last parameters.
    """

    callee: str
    arguments: tuple[Argument, ...]
    label: str = ""
    workspaces: tuple[Workspace, ...] = ()
    extents: tuple[Elements, ...] = ()


@dataclass(frozen=True, eq=False)
class Remainder:
    """A network as calls: of layers by key, and of C functions made here.

    `inputs` and `outputs` are tensor names in the model's order; outputs are distinct, each is
    written by a call or by calls that write its parts, and none is an input or an alias. `joins`
    are the concatenations; those with parts are calls that copy, an operand each.
    """

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    tensors: tuple[Tensor, ...]
    constants: tuple[Constant, ...]
    aliases: tuple[Alias, ...]
    calls: tuple[Call, ...]
    functions: tuple[CFunction, ...]
    joins: tuple[Join, ...] = ()
