"""Names that an author wrote, of operands, memories, kinds, operators: held against what exists."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from typing import get_args

from match_aie.hardware import (
    OPERANDS,
    Chain,
    ChipCosts,
    ExecModule,
    MatchTarget,
    Op,
    OwnArithmetic,
    Pattern,
    Priced,
    Rewrites,
    SharedMemory,
    Structure,
    Tiled,
    Web,
    facet,
)
from match_aie.hardware.memory import meant
from match_aie.workload import Kind

#: Names by which patterns of float32 layers call the numbers of their activations.
NUMBERS = ("divisor", "factor", "root", "scale", "one", "half")

KINDS: tuple[str, ...] = get_args(Kind)

#: The operator that does the work of a kind: a pattern without it matches nothing of the kind.
WORKERS = {
    "conv2d": ("nn.conv2d",),
    "conv2d_transpose": ("nn.conv2d_transpose",),
    "dense": ("matmul",),
    "matmul": ("matmul",),
    "add": ("add",),
    "mul": ("multiply",),
    "avg_pool2d": ("nn.avg_pool2d", "mean", "match.avg_pool2d_half_away"),
    "max_pool2d": ("nn.max_pool2d",),
    "softmax": ("nn.softmax",),
    "quantize": ("quantize",),
    "dequantize": ("dequantize",),
    "permute": ("permute_dims",),
    "table": ("quantize",),
    "function": tuple(
        "tanh sigmoid exp sqrt rsqrt divide erf nn.gelu nn.gelu_tanh nn.silu".split()
    ),
    "layer_norm": ("nn.layer_norm",),
    "rms_norm": ("nn.rms_norm",),
    "attention": ("matmul",),
    "gru": ("onnx.GRU",),
    "lstm": ("onnx.LSTM",),
}

#: Operators of the canonical graph that read one tensor (beside scales and zero points).
UNARY = frozenset(
    "quantize dequantize clip astype nn.relu nn.softmax sigmoid tanh erf mean permute_dims "
    "nn.max_pool2d nn.avg_pool2d nn.gelu nn.gelu_tanh nn.silu".split()
)

#: Operators that patterns name most.
OPERATORS = tuple(
    sorted(
        UNARY
        | {operator for names in WORKERS.values() for operator in names}
        | set("subtract divide left_shift right_shift maximum minimum".split())
    )
)


def memory_problems(module: ExecModule) -> Iterator[str]:
    """A memory that `pareto` names, and the arithmetic."""
    inner = [memory.name for memory in module.memories[:-1]]
    pareto, arithmetic = facet(module, Tiled).pareto, facet(module, OwnArithmetic).arithmetic
    if pareto is not None and pareto not in inner:
        yield f"pareto names {pareto!r}, which is no inner memory{_one_of(inner)}"
    if arithmetic not in ("model", "module"):
        yield f"arithmetic is {arithmetic!r}, not 'model' or 'module'"


def pattern_problems(pattern: Pattern) -> Iterator[str]:
    """Why a pattern matches nothing at all, or nothing of its kind."""
    if pattern.kind not in KINDS:
        yield f"kind {pattern.kind!r} is none{meant(pattern.kind, KINDS)}"
        return
    if not callable(pattern.refuses):
        yield f"its check is {pattern.refuses!r}, not a function of the workload"
    operators = _operators(pattern.structure)
    unknown = [name for name in operators if name not in OPERATORS]
    for name in unknown:
        close = get_close_matches(name, OPERATORS, 1, 0.75)
        if close:
            yield f"no network has an operator {name!r}; did you mean {close[0]!r}"
    if not unknown and not set(operators) & set(WORKERS[pattern.kind]):
        wanted = " or ".join(WORKERS[pattern.kind])
        yield f"a {pattern.kind} without {wanted} is never found"
    bound = list(dict.fromkeys(_bound(pattern.structure)))
    if not bound:
        yield "it names no operand (Any or Const), so that it is never found"
    for name in bound:
        close = get_close_matches(name, (*OPERANDS, *NUMBERS), 1, 0.75)
        if close and name not in (*OPERANDS, *NUMBERS):
            yield f"no layer has an operand {name!r}; did you mean {close[0]!r}"
    yield from _crowded(pattern.structure)


def target_problems(target: MatchTarget, modules: Sequence[ExecModule]) -> Iterator[str]:
    """Names of the target's own that mean nothing."""
    rewrites = facet(target, Rewrites)
    known = {"activations": ("unsigned",), "transposed": ("convolutions", "cheapest")}
    for name, others in known.items():
        value = getattr(rewrites, name)
        if value not in ("as_is", *others):
            yield f"{name} is {value!r}, not 'as_is' or {' or '.join(map(repr, others))}"
    inner = [m.name for module in modules for m in module.memories[:-1]]
    shared = facet(target, SharedMemory).shared_memory
    if shared and shared not in inner:
        yield (
            f"shared_memory is {shared!r}, which is no inner memory of any module"
            f"{_one_of(list(dict.fromkeys(inner)))}"
        )
    frequencies = [module.name for module in modules if facet(module, Priced).frequency is not None]
    if frequencies and facet(target, ChipCosts).frequency is None:
        yield f"module {frequencies[0]!r} states a frequency; the target needs one to compare with"


def _crowded(structure: Structure) -> Iterator[str]:
    if isinstance(structure, Chain | Web):
        yield from _crowded(structure.inner)
    if not isinstance(structure, Op):
        return
    if structure.operator in UNARY and len(structure.inputs) > 1:
        yield f"{structure.operator} reads one tensor, and the structure gives it several"
    for inner in structure.inputs:
        yield from _crowded(inner)


def _operators(structure: Structure) -> tuple[str, ...]:
    found = structure.operators() if isinstance(structure, Op) else ()
    return tuple(name for name in found if name != "...")


def _bound(structure: Structure) -> Iterator[str]:
    if isinstance(structure, Op):
        for inner in structure.inputs:
            yield from _bound(inner)
    elif isinstance(structure, Chain | Web):
        yield from _bound(structure.inner)
    else:
        yield structure.name


def _one_of(names: list[str]) -> str:
    return f"; there is {', '.join(names)}" if names else "; there is none"
