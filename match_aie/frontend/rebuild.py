"""Rewriting a straight-line Relax function binding by binding.

Every normalisation pass is a `visit` function: it sees each binding's value with its arguments
already replaced (typed; the call itself is not, ask the old variable), and returns what stands
for it from now on. Names of bindings are made anew,
short and unique, and the user-facing labels follow them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tvm import ir, relax

from match_aie import tvm_api
from match_aie.errors import ModelError

Expr = Any


@dataclass
class Emitter:
    """Emits expressions into the function being built.

    Attributes:
        builder: the Relax block builder.
        env: old variable -> what stands for it in the new function.
        definitions: new variable -> the call that computes it.
        labels: name of a new variable -> what users know it by.
        label: what users know the binding being rewritten by.
    """

    builder: Any
    env: dict[Any, Expr]
    definitions: dict[Any, Expr] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    label: str = ""

    def emit(self, value: Expr) -> Expr:
        """A variable bound to `value`; variables and constants are returned as they are."""
        if isinstance(value, relax.Var) or tvm_api.is_constant(value):
            return value
        var = self.builder.emit(value, name_hint=f"t{len(self.definitions)}")
        self.definitions[var] = self.builder.lookup_binding(var)
        if self.label:
            self.labels[tvm_api.variable_name(var)] = self.label
        return var

    def typed(self, value: Expr) -> Expr:
        """`value` with its type inferred, where it is a call."""
        return self.builder.normalize(value) if isinstance(value, tvm_api.CallNode) else value

    def definition(self, expr: Expr) -> Expr:
        """The call that computes `expr`, or `expr` itself for parameters and constants."""
        if isinstance(expr, relax.Var):
            return self.definitions.get(expr, expr)
        return expr


Visit = Callable[[Emitter, Any, Expr], Expr]


def substitute(expr: Expr, env: Mapping[Any, Expr]) -> Expr:
    """`expr` with variables replaced, one call, tuple or projection deep.

    Raises:
        ModelError: control flow inside the function.
    """
    if isinstance(expr, relax.Var):
        return env.get(expr, expr)
    if isinstance(expr, relax.Tuple):
        return relax.Tuple([substitute(item, env) for item in expr.fields])
    if isinstance(expr, relax.TupleGetItem):
        source = substitute(expr.tuple_value, env)
        if isinstance(source, relax.Tuple):
            return source.fields[expr.index]
        return relax.TupleGetItem(source, expr.index)
    if isinstance(expr, tvm_api.CallNode):
        args = [substitute(arg, env) for arg in expr.args]
        if all(new.same_as(old) for new, old in zip(args, expr.args, strict=True)):
            return expr
        return relax.Call(expr.op, args, expr.attrs, expr.ty_args)
    if isinstance(expr, relax.If):
        raise ModelError("the model branches at run time (If)", hint="export it without branches")
    return expr


def rebuild(
    module: Any,
    labels: Mapping[str, str],
    visit: Visit,
    parameters: Mapping[str, Any] | None = None,
    output: Expr | None = None,
) -> tuple[Any, dict[str, str]]:
    """Rewrite `main` of `module`.

    Args:
        module: an IRModule whose main is straight-line code in one dataflow block.
        labels: variable name -> what users know it by.
        visit: called as visit(emitter, old variable, value with new arguments); gives the new
            value (an expression or variable).
        parameters: parameters that change type: old name -> new `relax.Var`.
        output: what `main` gives from now on, over its old variables; by default what it gave.

    Returns:
        The new module (other functions stay, and those that `visit` added to the builder join
        them) and the labels of its variables.
    """
    main = module["main"]
    replaced = parameters or {}
    params = [replaced.get(tvm_api.variable_name(p), p) for p in main.params]
    builder = relax.BlockBuilder()
    env: dict[Any, Expr] = dict(zip(main.params, params, strict=True))
    emitter = Emitter(builder, env)
    with builder.function("main", params):
        with builder.dataflow():
            for var, value in tvm_api.bindings(main):
                emitter.label = labels.get(tvm_api.variable_name(var), "")
                new = visit(emitter, var, substitute(value, env))
                env[var] = new if isinstance(new, relax.Tuple) else emitter.emit(new)
            result = substitute(main.body.body if output is None else output, env)
            returned = builder.emit_output(result)
        builder.emit_func_output(returned)
    return _merged(module, builder.get()), emitter.labels


def _merged(old: Any, new: Any) -> Any:
    """The functions of both modules, `new` ones first, without dead code."""
    functions = {var: f for var, f in old.functions.items() if var.name_hint != "main"}
    functions.update(new.functions.items())
    merged = ir.IRModule(functions, attrs=old.attrs)
    return relax.transform.DeadCodeElimination()(merged)
