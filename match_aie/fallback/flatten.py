"""From any Relax module to one straight list of TIR calls: the first stage of the fallback.

Composite functions are inlined, tuples taken apart, shapes and constants computed, operators
that move no data turned into reshapes, and every other operator lowered to a TIR function.
Each variable gets a new name, and what users know it by is kept beside.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import tvm
from tvm import relax, tirx

from match_aie import tvm_api
from match_aie.errors import InternalError, ModelError, UnsupportedOperatorError
from match_aie.fallback.fold import fold
from match_aie.fallback.joins import Joins
from match_aie.fallback.legalise import FINAL, LOWERING_ERRORS, has_lowering, legalise
from match_aie.fallback.memo import Memo
from match_aie.fallback.refusal import Refusal
from match_aie.fallback.rewrite import rewrite, static_shape
from match_aie.fallback.scalars import C_TYPES
from match_aie.fallback.slices import slice_of, slices
from match_aie.limits import STEPS, STEPS_ACCEPTED, Limits


@dataclass(frozen=True, eq=False)
class FlatGraph:
    """A module whose `main` is one dataflow block of TIR calls and calls of extracted layers.

    Attributes:
        module: `main` returns a tuple of all outputs, in order.
        labels: variable name -> what users know the value by.
        operators: variable name -> Relax operator that it came from.
        copied: why functions copy concatenations: variable name -> a sentence.
    """

    module: Any
    labels: Mapping[str, str]
    operators: Mapping[str, str]
    copied: Mapping[str, str]


def flatten(module: Any, labels: Mapping[str, str], *, alike: bool = False) -> FlatGraph:
    """Inline, fold and lower every operator of `module`.

    Args:
        module: IRModule; see `match_aie.fallback.lower`.
        labels: name of a variable of `main` -> what users know it by.
        alike: whether functions have to be the same for all sizes but for numbers in them.
            Concatenations are then not made of parts in their places.

    Raises:
        ModelError: an input has a symbolic shape.
        LimitError: a recurrent layer has too many steps to be written out.
        UnsupportedOperatorError: operators that have no lowering, all of them.
    """
    _require_written(module, labels)
    return _Flattener(module, labels, alike).run()


class _Flattener:
    def __init__(self, module: Any, labels: Mapping[str, str], alike: bool) -> None:
        self._module = module
        self._given = labels
        self._labels: dict[str, str] = {}
        self._operators: dict[str, str] = {}
        self._problems: list[tuple[str, str, str]] = []
        self._stand_ins: set[Any] = set()
        self._viewed: dict[Any, Any] = {}
        self._parts: dict[Any, Any] = {}
        self._memo = Memo()
        self._alike = alike
        self._joins = Joins(set(), not alike)
        self._sliced = frozenset() if alike else slices(module["main"])
        items = module.functions_items()
        self._kernels = {v: f for v, f in items if isinstance(f, tirx.PrimFunc)}
        self._builder = relax.BlockBuilder(tvm.IRModule(self._kernels))

    def run(self) -> FlatGraph:
        main = self._module["main"]
        parameters = []
        scope: dict[Any, Any] = {}
        for index, old in enumerate(main.params):
            if static_shape(old.ty) is None:
                raise _dynamic_input(old, self._given.get(old.name, old.name))
            if str(old.ty.dtype) not in C_TYPES:
                why = f"C has no type for elements of {old.ty.dtype}"
                self._problems.append(("input", self._given.get(old.name, old.name), why))
            new = relax.Var(f"in{index}", old.ty)
            parameters.append(new)
            scope[old] = new
            self._labels[new.name] = self._given.get(old.name, old.name)
        self._joins = replace(self._joins, inputs=set(parameters))
        with self._builder.function("main", parameters):
            with self._builder.dataflow():
                result = self._body(main, scope, "")
                outputs = self._builder.emit_output(relax.Tuple(_fields(result)))
            self._builder.emit_func_output(outputs)
        module = self._builder.get()
        self._note_unlowered(module["main"])
        if self._problems:
            raise UnsupportedOperatorError(self._problems)
        return FlatGraph(module, self._labels, self._operators, self._joins.copied)

    def _note_unlowered(self, main: Any) -> None:
        """Note operators that a lowering emitted on the side and that have none themselves."""
        label = ""
        for var, value in reversed(_bindings(main)):
            label = self._labels.get(var.name, label)
            operator = tvm_api.operator_name(value)
            if operator and operator not in FINAL:
                self._problems.append((operator, label, "there is no lowering for it"))

    def _body(self, function: Any, scope: dict[Any, Any], label: str) -> Any:
        """Emit the bindings of `function`; its result in terms of the new variables."""
        if not isinstance(function.body, relax.SeqExpr):
            return self._substitute(function.body, scope)
        for var, value in _bindings(function):
            name = tvm_api.variable_name(var)
            known = label or self._given.get(name, name)
            try:
                scope[var] = self._value(self._substitute(value, scope), known, var)
            except Refusal as refusal:
                scope[var] = self._refuse(_operator_of(value), known, str(refusal), var)
        return self._substitute(function.body.body, scope)

    def _substitute(self, expr: Any, scope: Mapping[Any, Any]) -> Any:
        """`expr` in terms of the new variables."""
        if isinstance(expr, relax.Var):
            if expr not in scope:
                raise Refusal("a shape depends on run-time values")
            return scope[expr]
        if isinstance(expr, relax.Tuple):
            return relax.Tuple([self._substitute(part, scope) for part in expr.fields])
        if isinstance(expr, relax.TupleGetItem):
            source = self._substitute(expr.tuple_value, scope)
            if isinstance(source, relax.Tuple):
                return source.fields[expr.index]
            return relax.TupleGetItem(source, expr.index)
        if isinstance(expr, tvm_api.CallNode):
            args = [self._substitute(arg, scope) for arg in expr.args]
            return tvm_api.CallNode(expr.op, args, expr.attrs, expr.ty_args)
        return expr

    def _value(self, value: Any, label: str, var: Any) -> Any:
        """Emit what computes `value`; where nothing is to compute, `value` itself."""
        if isinstance(value, relax.TupleGetItem):
            return self._emit(value, label, "")
        if not isinstance(value, tvm_api.CallNode):
            if isinstance(value, relax.Expr) and not isinstance(value, relax.If | relax.Function):
                return value
            return self._refuse(type(value).__name__, label, "control flow", var)
        if isinstance(value.op, tvm.ir.GlobalVar):
            callee = self._module[value.op]
            inner = dict(zip(callee.params, value.args, strict=True))
            return self._body(callee, inner, label)
        return self._operator(value, label, var)

    def _operator(self, call: Any, label: str, var: Any) -> Any:
        """Emit one operator: folded, rewritten or lowered; or note why that is impossible."""
        name = _operator_of(call)
        self._require_callee(call, label)
        if self._follows_refusal(call):
            return self._stand_in(var)
        try:
            call = self._from_first(self._builder.normalize(self._nested(call, label, var)))
            simple = rewrite(call)
            if simple is not None:
                return self._rewritten(simple, label, var)
            _require_plain(call)
            constant = fold(call)
            if constant is not None:
                return constant
            if var in self._sliced:
                return self._emit(slice_of(call), label, name)
            joined = self._joins.join(call, self._viewed) if name == "concat" else ""
            if not isinstance(joined, str):
                return self._emit(joined, label, name)
            lowered = self._memo.lower(
                call, lambda: legalise(self._builder, call, alike=self._alike)
            )
        except Refusal as refusal:
            return self._refuse(name, label, str(refusal), var)
        except LOWERING_ERRORS as error:
            return self._refuse(name, label, _first_line(error), var)
        result = self._emit(lowered, label, name)
        if joined:
            self._joins.copied[result.name] = joined
        if name == "reshape":
            self._viewed[result] = call.args[0]
        return result

    def _from_first(self, call: Any) -> Any:
        """A reshape of a reshape as one of the first operand."""
        if tvm_api.operator_name(call) != "reshape" or call.args[0] not in self._viewed:
            return call
        args = [self._viewed[call.args[0]], *call.args[1:]]
        return self._builder.normalize(tvm_api.CallNode(call.op, args, call.attrs, call.ty_args))

    def _require_callee(self, call: Any, label: str) -> None:
        """A TIR call has to name a function of the module."""
        if tvm_api.operator_name(call) == "call_tir" and call.args[0] not in self._kernels:
            raise InternalError(
                f"the module lacks its TIR function {call.args[0].name_hint!r}", where=label
            )

    def _rewritten(self, expr: Any, label: str, var: Any) -> Any:
        """Emit what a rewrite made: calls inside calls, a tuple of them, or no call at all."""
        if isinstance(expr, tvm_api.CallNode):
            if expr not in self._parts:  # a part that is used twice is computed once
                self._parts[expr] = self._operator(expr, label, var)
            return self._parts[expr]
        if isinstance(expr, relax.Tuple):
            return relax.Tuple([self._rewritten(part, label, var) for part in expr.fields])
        return expr

    def _nested(self, call: Any, label: str, var: Any) -> Any:
        """`call` with calls among its arguments emitted first."""
        args = [self._rewritten(arg, label, var) for arg in call.args]
        return tvm_api.CallNode(call.op, args, call.attrs, call.ty_args)

    def _emit(self, value: Any, label: str, operator: str) -> Any:
        if isinstance(value, relax.Var | tvm_api.ConstantNode):
            return value
        if isinstance(value, relax.Tuple):
            return relax.Tuple([self._emit(part, label, operator) for part in value.fields])
        var = self._builder.emit(value, name_hint=f"n{len(self._labels)}_")
        self._labels[var.name] = label
        self._operators[var.name] = operator
        return var

    def _refuse(self, operator: str, label: str, why: str, var: Any) -> Any:
        """Note an operator; what reads its result is judged with a stand-in."""
        self._problems.append((operator, label, why))
        return self._stand_in(var)

    def _stand_in(self, var: Any) -> Any:
        stand_in = relax.Var("unsupported", var.ty)
        self._stand_ins.add(stand_in)
        return stand_in

    def _follows_refusal(self, call: Any) -> bool:
        """Whether `call` is sound itself, and only its operands are not."""
        operands = [leaf for arg in call.args for leaf in getattr(arg, "fields", [arg])]
        refused = any(isinstance(o, relax.Var) and o in self._stand_ins for o in operands)
        return refused and has_lowering(call)


def _operator_of(call: Any) -> str:
    """What a call computes: the operator, or the TIR function that the front end made of it."""
    name = tvm_api.operator_name(call)
    return str(call.args[0].name_hint) if name == "call_tir" else name


def _bindings(function: Any) -> list[tuple[Any, Any]]:
    pairs = []
    for block in function.body.blocks:
        for binding in block.bindings:
            pairs.append((binding.var, binding.value))
    return pairs


def _fields(result: Any) -> list[Any]:
    """All outputs, nested tuples flattened."""
    if isinstance(result, relax.Tuple):
        return [leaf for part in result.fields for leaf in _fields(part)]
    if isinstance(result.ty, relax.TupleType):
        count = len(result.ty.fields)
        return [relax.TupleGetItem(result, index) for index in range(count)]
    if isinstance(result, relax.ShapeExpr):
        sizes = [int(size) for size in result.values]
        return [relax.const(np.array(sizes, np.int64), "int64")]
    if not isinstance(result.ty, relax.TensorType):
        raise InternalError(f"an output is no tensor but {result.ty}", hint="report this model")
    return [result]


def _require_plain(call: Any) -> None:
    """Refuse a result whose shape is known at run time only, or whose type C has not."""
    parts = call.ty.fields if isinstance(call.ty, relax.TupleType) else [call.ty]
    for part in parts:
        if static_shape(part) is None:
            raise Refusal("the shape of its result depends on run-time values")
        if str(part.dtype) not in C_TYPES:
            raise Refusal(f"C has no type for elements of {part.dtype}")


def _dynamic_input(var: Any, label: str) -> ModelError:
    return ModelError(
        f"the input has no fixed shape: {var.ty}",
        where=label,
        hint="give every dimension, for example shapes={'x': [1, 3, 32, 32]}",
    )


def _first_line(error: BaseException) -> str:
    """What TVM said, without its traceback."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[-1] if lines else type(error).__name__)[:200]


def _require_written(module: Any, labels: Mapping[str, str]) -> None:
    """Refuse recurrent layers whose steps were too many to be written out.

    Raises:
        LimitError: no module took one.
    """
    for var, value in _bindings(module["main"]):
        if not tvm_api.composite_name(module, value):
            continue
        stated = tvm_api.attributes(module[value.op].attrs)
        if STEPS in stated:
            accepted = Limits(recurrent_steps=int(stated[STEPS_ACCEPTED]))
            what = f"no module runs the {stated['Composite']}, and its steps are too many"
            name = tvm_api.variable_name(var)
            accepted.check("recurrent_steps", int(stated[STEPS]), what, labels.get(name, name))
