"""From the syntax tree to one Relax function: functions are inlined, operators follow rules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np
from tvm import relax

from match_aie import tvm_api
from match_aie.errors import MatchError, ModelError, UnsupportedOperatorError, shorten
from match_aie.frontend.relay import syntax
from match_aie.frontend.relay.metadata import CONSTANT
from match_aie.frontend.relay.operators import RULES
from match_aie.frontend.relay.site import Emission, Site, constant
from match_aie.frontend.relay.source import Source
from match_aie.frontend.relay.survey import operators_of
from match_aie.frontend.relay.values import Closure, Expr, Value
from match_aie.limits import Limits

#: How deep functions may call each other; networks that importers write do it once or twice.
DEEPEST_CALL = 24
#: How many calls of functions a network may hold, each inlined.
MOST_CALLS = 20_000
#: More outputs than this are a tuple that doubles itself, not a network's.
MOST_OUTPUTS = 1024

Shapes = Mapping[str, tuple[int, ...]]
Arrays = Mapping[str, np.ndarray]


@dataclass(frozen=True, eq=False)
class Lowered:
    """A Relax module and what users know its parts by.

    Attributes:
        module: its `main` is the network.
        labels: name of a variable -> what users know the value by.
        inputs: names of the parameters that have no value, in order.
        parameters: names of all parameters.
        warnings: what was assumed, a sentence each.
    """

    module: Any
    labels: Mapping[str, str]
    inputs: tuple[str, ...]
    parameters: tuple[str, ...]
    warnings: tuple[str, ...]


def lower(
    source: Source, module: syntax.Module, arrays: Arrays, shapes: Shapes, limits: Limits = Limits()
) -> Lowered:
    """The function `main` of `module` in Relax, parameters with a value in `arrays` bound to it.

    Args:
        source: for errors.
        module: the syntax tree.
        arrays: values of parameters.
        shapes: sizes of inputs that the module leaves open.
        limits: how much the constants that operators make may take.

    Raises:
        LimitError: they take more.
        ModelError: it has no `main`, a type that is no tensor's, or operands that do not fit.
        UnsupportedOperatorError: listing every operator that has no rule.
    """
    main = module.functions.get("main")
    if main is None:
        if len(module.functions) != 1:
            raise ModelError("the module has no function @main")
        main = next(iter(module.functions.values()))
    _check_operators(source, module, main)
    lowering = _Lowering(source, module)
    lowering.emission.limits = limits
    scope: dict[str, Value] = {}
    inputs: list[Any] = []
    for index, parameter in enumerate(main.parameters):
        value = _parameter(source, parameter, arrays, shapes, f"input{index}")
        scope[parameter.name] = value
        if isinstance(value, relax.Var):
            inputs.append(value)
    builder = lowering.emission.builder
    try:
        with builder.function("main", inputs):
            with builder.dataflow():
                results, several = lowering.results(lowering.block(main.body, scope), main)
                outputs = [lowering.output(result) for result in results]
            builder.emit_func_output(relax.Tuple(outputs) if several else outputs[0])
    except MatchError:
        tvm_api.abandon(builder)
        raise
    names = tuple(parameter.name for parameter in main.parameters)
    open_ = tuple(name for name in names if isinstance(scope[name], relax.Var))
    emission = lowering.emission
    return Lowered(builder.get(), emission.labels, open_, names, tuple(emission.warnings))


def _check_operators(source: Source, module: syntax.Module, main: syntax.Function) -> None:
    """Refuse all operators without a rule at once."""
    unknown = [
        (operator, source.where(at), "")
        for operator, at in operators_of(module, main)
        if operator not in RULES
    ]
    if unknown:
        raise UnsupportedOperatorError(list(dict.fromkeys(unknown)))


def _parameter(
    source: Source, parameter: syntax.Parameter, arrays: Arrays, shapes: Shapes, name: str
) -> Expr:
    """A variable called `name` for a parameter of main, or its value."""
    known = arrays.get(parameter.name)
    type_ = parameter.type
    where = f"parameter %{parameter.name}"
    if known is not None:
        _check_array(source, parameter, known)
        return constant(known)
    if type_ is None or type_ == syntax.TensorType(None, None):
        raise source.error(f"{where} has no type", parameter.at, hint="give its value with params=")
    if not isinstance(type_, syntax.TensorType) or type_.dtype is None:
        raise source.error(f"{where} is no tensor", parameter.at)
    shape = shapes.get(parameter.name, type_.shape)
    if shape is None or any(size is None for size in shape):
        raise source.error(
            f"{where} has a dynamic shape",
            parameter.at,
            hint=f"give its sizes: shapes={{{parameter.name!r}: (...)}}, or --shape",
        )
    written = type_.shape or ()
    fits = len(shape) == len(written) and all(
        size in (None, given) for size, given in zip(written, shape, strict=True)
    )
    if not fits:
        raise source.error(f"{where} is {list(written)}, not {list(shape)}", parameter.at)
    return relax.Var(name, relax.TensorType([int(s or 0) for s in shape], type_.dtype))


def _check_array(source: Source, parameter: syntax.Parameter, value: np.ndarray) -> None:
    type_ = parameter.type
    if not isinstance(type_, syntax.TensorType) or type_.shape is None:
        return
    fits = len(type_.shape) == value.ndim and all(
        size in (None, given) for size, given in zip(type_.shape, value.shape, strict=True)
    )
    if not fits or type_.dtype != str(value.dtype):
        raise source.error(
            f"parameter %{parameter.name} is {type_.dtype}{list(type_.shape)}, "
            f"the array given is {value.dtype}{list(value.shape)}",
            parameter.at,
        )


@dataclass
class _Lowering:
    """Evaluates expressions to Relax values."""

    source: Source
    module: syntax.Module
    emission: Emission = field(default_factory=Emission)
    depth: int = 0
    calls: int = 0
    label: str = "result"

    def block(self, block: syntax.Block, scope: Mapping[str, Value]) -> Value:
        """Bindings, then the result, in a scope of their own."""
        inner = dict(scope)
        outer = self.label
        for binding in block.bindings:
            name = binding.name if not binding.name.startswith("$") else binding.name[1:]
            self.label = f"%{name}" if outer == "result" else f"{outer}/%{name}"
            inner[binding.name] = self.value(binding.value, inner)
        self.label = outer
        return self.value(block.result, inner)

    def value(self, expression: syntax.Expression, scope: Mapping[str, Value]) -> Value:
        """What `expression` is."""
        match expression:
            case syntax.Local(at, name):
                if name not in scope:
                    raise self.source.error(f"variable %{name} is not defined", at)
                return scope[name]
            case syntax.Constant(_, value):
                return constant(value)
            case syntax.MetaRef():
                return constant(self.metadata(expression))
            case syntax.Tuple(_, items):
                return tuple(self.value(item, scope) for item in items)
            case syntax.Project(at, inner, index):
                return self.field(self.value(inner, scope), index, at)
            case syntax.Block():
                return self.block(expression, scope)
            case syntax.Function():
                return Closure(expression, scope)
            case syntax.Global(at, name):
                return self.function(name, at)
            case syntax.Call():
                return self.call(expression, scope)
        raise self.source.error("an operator that is not called is no value", expression.at)

    def metadata(self, reference: syntax.MetaRef) -> np.ndarray:
        """A constant of the metadata section."""
        kind = CONSTANT if reference.kind == "Constant" else reference.kind
        found = self.module.constants.get((kind, reference.index))
        if found is None:
            raise self.source.error(
                f"there is no meta[{reference.kind}][{reference.index}]",
                reference.at,
                hint="export with mod.astext(show_meta_data=True), or save the weights as "
                "parameters of main and give them with params=",
            )
        return found

    def field(self, value: Value, index: int, at: int) -> Value:
        """`value.index`."""
        if not isinstance(value, tuple):
            raise self.source.error("only a tuple has fields", at)
        if index >= len(value):
            raise self.source.error(f"a tuple of {len(value)} has no field {index}", at)
        return value[index]

    def function(self, name: str, at: int) -> Closure:
        """The function `@name` of the module."""
        found = self.module.functions.get(name)
        if found is None:
            raise self.source.error(f"function @{shorten(name, 60)} is not defined", at)
        return Closure(found, {})

    def call(self, call: syntax.Call, scope: Mapping[str, Value]) -> Value:
        """A call of an operator, or of a function, which is inlined."""
        arguments = tuple(self.value(argument, scope) for argument in call.arguments)
        if isinstance(call.function, syntax.Operator):
            return self.operator(call, call.function.name, arguments)
        callee = self.value(call.function, scope)
        if not isinstance(callee, Closure):
            raise self.source.error("only operators and functions can be called", call.at)
        names = [parameter.name for parameter in callee.function.parameters]
        if len(names) != len(arguments):
            raise self.source.error(
                f"the function takes {len(names)} arguments, {len(arguments)} are given", call.at
            )
        self.depth += 1
        self.calls += 1
        if self.depth > DEEPEST_CALL or self.calls > MOST_CALLS:
            raise self.source.error(
                f"calls of functions are more than {DEEPEST_CALL} deep, or more than {MOST_CALLS}",
                call.at,
                hint="recursion is not compiled",
            )
        inside = {**callee.scope, **dict(zip(names, arguments, strict=True))}
        result = self.block(callee.function.body, inside)
        self.depth -= 1
        return result

    def operator(self, call: syntax.Call, name: str, arguments: tuple[Value, ...]) -> Value:
        """What the rule of operator `name` makes of its arguments."""
        site = Site(
            name, arguments, call.attributes, self.source, call.at, self.label, self.emission
        )
        try:
            return self.emitted(site, RULES[name](site))
        except MatchError:
            raise
        except Exception as error:
            text = (str(error).strip().splitlines() or [type(error).__name__])[-1]
            raise site.error(
                f"its inputs or attributes do not fit: {shorten(text, 200)}"
            ) from error

    def emitted(self, site: Site, value: Value) -> Value:
        """`value` with every call in it bound to a variable."""
        if isinstance(value, tuple):
            return tuple(self.emitted(site, item) for item in value)
        if isinstance(value, Closure):
            return value
        var = site.emit(value)
        if isinstance(var.ty, relax.TupleType):
            fields = range(len(var.ty.fields))
            return tuple(site.emit(relax.TupleGetItem(var, index)) for index in fields)
        return var

    def results(self, value: Value, main: syntax.Function) -> tuple[list[Expr], bool]:
        """What main gives, flat, and whether it is a tuple."""
        flat = list(islice(_leaves(value), MOST_OUTPUTS + 1))
        if not flat or len(flat) > MOST_OUTPUTS or any(isinstance(v, Closure) for v in flat):
            raise self.source.error(
                f"the network gives no tensors, or more than {MOST_OUTPUTS}", main.at
            )
        return flat, isinstance(value, tuple)

    def output(self, result: Expr) -> Expr:
        """`result` as an output, which is known by the same name."""
        output = self.emission.builder.emit_output(result)
        known = ""
        if isinstance(result, relax.Var):
            known = self.emission.labels.get(tvm_api.variable_name(result), "")
        self.emission.labels[tvm_api.variable_name(output)] = known or self.label
        return output


def _leaves(value: Value) -> Iterator[Expr]:
    """Tensors (and functions) of a tuple in order, unfolded; stops where it is vast."""
    waiting = [value]
    for _ in range(16 * MOST_OUTPUTS):
        if not waiting:
            return
        item = waiting.pop()
        if isinstance(item, tuple):
            waiting.extend(reversed(item))
        else:
            yield item
    yield from [()] * (MOST_OUTPUTS + 1)  # more than any network gives
