"""A target's patterns in TVM's language, for `FuseOpsByPattern` and TVM's pattern registry."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tvm import relax
from tvm.relax.dpl import is_const, is_op, wildcard
from tvm.relax.transform import FusionPattern

from match_aie import tvm_api
from match_aie.byoc.composite import TARGET, composite_name, target_text
from match_aie.errors import ModelError
from match_aie.frontend import load, normalize
from match_aie.frontend.rebuild import substitute
from match_aie.hardware import Any as Tensor
from match_aie.hardware import (
    Const,
    ExecModule,
    MatchTarget,
    Op,
    Pattern,
    Rewrites,
    Structure,
    facet,
)
from match_aie.limits import Limits
from match_aie.partition import to_graph
from match_aie.partition.candidates import candidates_of
from match_aie.pipeline import resolve

#: Arguments of an operator behind its tensors.
_TRAILING = {"quantize": 2, "dequantize": 2, "clip": 2, "reshape": 1}
#: Operators whose operands match in either order.
_COMMUTATIVE = ("add", "multiply")


def patterns(target: str | MatchTarget) -> list[Any]:
    """What `target` runs as `FusionPattern`s, for `relax.transform.FuseOpsByPattern`.

    The names are those of the composites that `partition` makes. Each pattern's check runs our
    own matcher on what TVM found, so a layer that the module refuses stays with TVM. TVM takes the
    first pattern of the list that fits, module by module in the target's order; it weighs no
    costs. Patterns with chains of any length (integer requantisation) and composite operators
    (GRU, LSTM, TFLite's average pool) have no form in TVM's language and are not in the list.

    Raises:
        TargetError: no such target.
    """
    chip = resolve(target)
    text = target_text(chip)
    found = []
    for module in chip.modules():
        for pattern in module.patterns():
            written = _Writer().write(pattern.structure)
            if written is not None:
                name = composite_name(module.name, pattern.name)
                check = _check(chip, module, pattern)
                found.append(FusionPattern(name, written, {}, check, lambda _: {TARGET: text}))
    return found


def register_patterns(target: str | MatchTarget) -> None:
    """Put the patterns of `target` into TVM's registry, in the order of `patterns`.

    `tvm.relax.backend.pattern_registry.get_patterns_with_prefix("match_aie")` then gives them. The
    registry is one for the process: register one target.

    Raises:
        TargetError: no such target.
    """
    tvm_api.register_patterns(patterns(target))


class _Writer:
    """A structure in TVM's language; equal names become the same wildcard."""

    def __init__(self) -> None:
        self._tensors: dict[str, Any] = {}

    def write(self, structure: Structure) -> Any | None:
        """The pattern, None where TVM's language has no form for it."""
        if isinstance(structure, Tensor):
            return self._tensors.setdefault(structure.name, wildcard())
        if isinstance(structure, Const):
            return _moved(is_const())
        if not isinstance(structure, Op) or "." in structure.operator.removeprefix("nn."):
            return None
        inner = [self.write(operand) for operand in structure.inputs]
        if any(pattern is None for pattern in inner):
            return None
        below = structure.inputs[0] if structure.inputs else None
        called = _calls(structure.operator, inner)
        if structure.operator == "dequantize" and isinstance(below, Const):
            return _moved(called)
        if structure.operator == "quantize" and isinstance(below, Op):
            # The canonical form has activations behind the quantize, as a clip, or not at all.
            for activation in ("nn.relu", "clip"):
                called = called | _calls("quantize", [_calls(activation, inner)])
        if structure.operator == "clip" and isinstance(below, Op) and below.operator == "quantize":
            return called | inner[0]
        return called


def _calls(operator: str, operands: Sequence[Any]) -> Any:
    """A call of `operator`; both orders where they mean the same."""
    called = is_op(f"relax.{operator}")
    rest = [wildcard() for _ in range(_TRAILING.get(operator, 0))]
    if operator in _COMMUTATIVE and len(operands) == 2:
        first, second = operands
        return called(first, second) | called(second, first)
    return called(*operands, *rest)


def _moved(pattern: Any) -> Any:
    """`pattern`, or the same constant in another order or shape."""
    moved = is_op("relax.permute_dims")(pattern) | is_op("relax.reshape")(pattern, wildcard())
    return pattern | moved


def _check(target: MatchTarget, module: ExecModule, pattern: Pattern) -> Callable[[Any], bool]:
    """Whether our own matcher finds `pattern` in what TVM's found, and the module takes it."""

    def accepts(context: Any) -> bool:
        bound = dict(context.matched_bindings.items())
        root = context.value_to_bound_var.get(context.matched_expr)
        if any(_leaks(var, bound, context.var_usages) for var in bound if not var.same_as(root)):
            return False
        try:
            loaded = load(_alone(bound, context.matched_expr), limits=Limits())
        except ModelError:
            return False  # shapes that are not static, for example
        graph = to_graph(
            normalize(loaded, unsigned=facet(target, Rewrites).activations == "unsigned")
        )
        found = candidates_of(graph, module, pattern)
        whole = {n.index for n in graph.nodes if n.operator not in ("permute_dims", "reshape")}
        return any(c.layer is not None and whole <= set(c.match.nodes) for c in found)

    return accepts


def _leaks(var: Any, bound: dict[Any, Any], usages: Any) -> bool:
    """Whether something outside the match reads `var`: TVM would make it a second result."""
    return any(user not in bound for user in usages.get(var, ()))


def _alone(bound: dict[Any, Any], root: Any) -> Any:
    """A module whose `main` computes only what was matched."""
    order: list[Any] = []
    params: list[Any] = []

    def visit(expr: Any) -> None:
        if isinstance(expr, relax.Var):
            if expr in bound:
                visit(bound[expr])
                if expr not in order:
                    order.append(expr)
            elif expr not in params:
                params.append(expr)
        elif isinstance(expr, relax.Tuple):
            for item in expr.fields:
                visit(item)
        elif isinstance(expr, tvm_api.CallNode):
            for item in expr.args:
                visit(item)

    visit(root)
    builder = relax.BlockBuilder()
    fresh = [relax.Var(f"x{i}", param.ty) for i, param in enumerate(params)]
    env: dict[Any, Any] = dict(zip(params, fresh, strict=True))
    with builder.function("main", fresh):
        with builder.dataflow():
            for var in order:
                env[var] = builder.emit(substitute(bound[var], env))
            result = builder.emit_output(substitute(root, env))
        builder.emit_func_output(result)
    return builder.get()
