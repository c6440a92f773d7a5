"""Fuses TIR calls, and finds out which operators of the model each fused call computes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any

import tvm
from tvm import relax, tirx

from match_aie import tvm_api
from match_aie.fallback.flatten import FlatGraph
from match_aie.lowering.program import Join
from match_aie.workload import ITEMSIZE

#: Functions with more tensors than this are not fused with others.
MOST_FUSED_TENSORS = 16
#: Operators in one function. A longer chain of elementwise ones nests its expressions so deeply
#: that TVM's passes and the printer, which recurse into them, run out of stack.
MOST_FUSED_OPERATORS = 32
_OPAQUE = 8  # TVM's OpPatternKind


@dataclass(frozen=True)
class Origin:
    """Where a result comes from.

    Attributes:
        label: what users know it by.
        operators: Relax operators computed on the way, in order.
    """

    label: str = ""
    operators: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class FusedGraph:
    """A module of TIR calls after fusion.

    Attributes:
        module: `main` and the PrimFuncs that it calls.
        origins: name of a variable of `main` -> where it comes from.
        copied: concatenations that functions copy.
    """

    module: Any
    origins: Mapping[str, Origin]
    copied: tuple[Join, ...] = ()


def fuse(graph: FlatGraph) -> FusedGraph:
    """Fuse elementwise operators with what they follow; drop what no output needs."""
    prepared = _run(
        _crowded_apart(graph.module),
        relax.transform.DeadCodeElimination(),
        relax.transform.AnnotateTIROpPattern(),
    )
    prepared, grouped = _grouped(prepared)
    origins = _Replay(prepared["main"], graph).origins(grouped)
    fused = _run(
        grouped,
        relax.transform.FuseTIR(),
        relax.transform.RewriteDataflowReshape(),
        relax.transform.DeadCodeElimination(),
    )
    return FusedGraph(fused, origins, _copied(prepared["main"], graph))


def _grouped(module: Any) -> tuple[Any, Any]:
    """`module` as it is grouped, and the groups.

    TVM's `FuseOps` mixes up the operands of a group that takes parts of several tuples: it replaces
    each tuple by its parts in an order that hangs on addresses, by places counted before. Parts of
    such tuples leave the dataflow block here, which a group then takes as they are.
    """
    grouped = _run(module, relax.transform.FuseOps())
    mixed = _mixed(module["main"], grouped["main"])
    if mixed:
        module = _Leaving(mixed).transformed(module)
        grouped = _run(module, relax.transform.FuseOps())
    return module, grouped


def _mixed(before: Any, grouped: Any) -> frozenset[str]:
    """Names of tuples of which one group takes parts beside those of another tuple."""
    tuples = {
        value.tuple_value.name
        for _, value in tvm_api.bindings(before)
        if isinstance(value, relax.TupleGetItem)
    }
    parts = {
        var: value.tuple_value.name
        for var, value in tvm_api.bindings(grouped)
        if isinstance(value, relax.TupleGetItem)
    }
    found: set[str] = set()
    for _, value in tvm_api.bindings(grouped):
        if isinstance(value, tvm_api.CallNode) and isinstance(value.op, tvm.ir.GlobalVar):
            taken = {_tuple_of(arg, parts) for arg in value.args} & tuples
            found |= taken if len(taken) > 1 else set()
    return frozenset(found)


def _tuple_of(arg: Any, parts: Mapping[Any, str]) -> str:
    """Name of the tuple that an operand is, or is a part of."""
    if isinstance(arg, relax.TupleGetItem):
        return str(arg.tuple_value.name)
    return parts.get(arg, arg.name) if isinstance(arg, relax.Var) else ""


@relax.expr_functor.mutator
class _Leaving(relax.PyExprMutator):
    """Makes parts of some tuples results of the dataflow block."""

    def __init__(self, tuples: frozenset[str]) -> None:
        super().__init__()
        self._tuples = tuples

    def transformed(self, module: Any) -> Any:
        """`module` with another `main`."""
        changed = tvm.IRModule(dict(module.functions_items()))
        changed.update_func(module.get_global_var("main"), self.visit_expr(module["main"]))
        return changed

    def visit_var_binding_(self, binding: Any) -> None:
        """Of a part of one of the tuples: a variable that may be read outside, of the same name."""
        value = binding.value
        if not isinstance(value, relax.TupleGetItem) or value.tuple_value.name not in self._tuples:
            super().visit_var_binding_(binding)
            return
        var = relax.Var(binding.var.name, binding.var.ty)
        self.builder_.emit_normalized(relax.VarBinding(var, self.visit_expr(value)))
        self.set_var_remap(binding.var, var)


def _copied(main: Any, graph: FlatGraph) -> tuple[Join, ...]:
    """The concatenations in functions that something needs."""
    found = []
    for var, _ in tvm_api.bindings(main):
        if var.name in graph.copied:
            nbytes = prod(tvm_api.shape_of(var)) * ITEMSIZE[tvm_api.dtype_of(var)]
            label, reason = graph.labels.get(var.name, ""), graph.copied[var.name]
            found.append(Join(label, nbytes, nbytes, reasons=(reason,)))
    return tuple(found)


def _crowded_apart(module: Any) -> Any:
    """Mark functions of very many tensors (a split into time steps) as not to be fused.

    Fused with as many elementwise operators they would grow beyond what can be scheduled in
    reasonable time; alone, the reshapes after them cost nothing.
    """
    changed = tvm.IRModule(dict(module.functions_items()))
    for name, function in module.functions_items():
        if isinstance(function, tirx.PrimFunc) and len(function.params) > MOST_FUSED_TENSORS:
            changed.update_func(name, function.with_attr("op_pattern", _OPAQUE))
    return changed


def _run(module: Any, *passes: Any) -> Any:
    config = {"relax.FuseOps.max_depth": MOST_FUSED_OPERATORS}
    with tvm.transform.PassContext(config=config):
        return tvm.ir.transform.Sequential(list(passes))(module)


@dataclass
class _Group:
    """Results of one grouped call: per output, the variable before grouping."""

    results: list[Any]
    operators: list[str] = field(default_factory=list)


class _Replay:
    """Fusion renames variables; calls are recognised by callee and operands instead.

    Two calls with equal callee and operands give equal results, so taking one for the other
    costs at most a label.
    """

    def __init__(self, before: Any, graph: FlatGraph) -> None:
        self._graph = graph
        self._known: dict[Any, Any] = {}
        for var, value in tvm_api.bindings(before):
            self._known[_key(value, {})] = var

    def origins(self, grouped: Any) -> dict[str, Origin]:
        """Variable name of the grouped `main` -> where the value comes from."""
        same: dict[Any, Any] = {}
        origins: dict[str, Origin] = {}
        for var, value in tvm_api.bindings(grouped["main"]):
            callee = self._callee(grouped, value)
            if callee is None:
                group = self._single(value, same)
            else:
                group = self._inside(callee, value, same)
            same[var] = group.results[0] if len(group.results) == 1 else group.results
            last = next((r for r in reversed(group.results) if r is not None), None)
            label = "" if last is None else self._graph.labels.get(last.name, "")
            origins[var.name] = Origin(label, tuple(dict.fromkeys(group.operators)))
        return origins

    @staticmethod
    def _callee(grouped: Any, value: Any) -> Any | None:
        if isinstance(value, tvm_api.CallNode) and isinstance(value.op, tvm.ir.GlobalVar):
            return grouped[value.op]
        return None

    def _single(self, value: Any, same: Mapping[Any, Any]) -> _Group:
        if isinstance(value, relax.TupleGetItem):
            source = same.get(value.tuple_value)
            if isinstance(source, list):
                return _Group([source[value.index]])
        found = self._known.get(_key(value, same))
        operator = "" if found is None else self._graph.operators.get(found.name, "")
        return _Group([found], [operator] if operator else [])

    def _inside(self, callee: Any, call: Any, outer: Mapping[Any, Any]) -> _Group:
        same: dict[Any, Any] = {}
        for param, arg in zip(callee.params, call.args, strict=True):
            same[param] = outer.get(arg, arg) if isinstance(arg, relax.Var) else arg
        operators: list[str] = []
        for var, value in tvm_api.bindings(callee):
            group = self._single(value, same)
            same[var] = group.results[0]
            operators += group.operators
        result = callee.body.body
        leaves = list(result.fields) if isinstance(result, relax.Tuple) else [result]
        return _Group([same.get(leaf) for leaf in leaves], operators)


def _key(value: Any, same: Mapping[Any, Any]) -> Any:
    """Identity of a computation: its callee and operands, as variables before fusion."""
    if isinstance(value, relax.Var):
        found = same.get(value, value)
        return found if not isinstance(found, list) else tuple(found)
    if isinstance(value, relax.Tuple):
        return ("tuple", *(_key(part, same) for part in value.fields))
    if isinstance(value, relax.TupleGetItem):
        return ("item", _key(value.tuple_value, same), value.index)
    if isinstance(value, tvm_api.CallNode):
        return ("call", str(value.op.name), *(_key(arg, same) for arg in value.args))
    if isinstance(value, tvm.ir.GlobalVar):
        return ("global", str(value.name_hint))
    if isinstance(value, relax.ExternFunc):
        return ("extern", str(value.global_symbol))
    return value
