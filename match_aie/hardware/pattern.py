"""Patterns as data: the structure of operators a module can run, plus a check with a reason.

A structure is written from its output back to its inputs, in the operators of the canonical
quantised graph (`match_aie.frontend.canonical`), for example a convolution with bias:

>>> conv = Op("nn.conv2d", Op("dequantize", Any("x")), Op("dequantize", Const("weight")))
>>> Op("quantize", Op("add", conv, Op("dequantize", Const("bias")))).operators()
('quantize', 'add', 'nn.conv2d', 'dequantize', 'dequantize', 'dequantize')
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from match_aie.errors import TargetError, shorten
from match_aie.workload import Kind, Workload

#: The composite operator that normalisation makes of TFLite's integer average pool.
AVG_POOL_HALF_AWAY = "match.avg_pool2d_half_away"


@dataclass(frozen=True)
class Any:
    """Matches any tensor, constant or not; binds it to `name`. Equal names must bind equally.

    `dtypes` names the element types it may have; none means all. `within`: integers between which
    its elements are known to lie, as an operator before it clips them.
    """

    name: str
    dtypes: tuple[str, ...] = ()
    within: tuple[int, int] | None = None


@dataclass(frozen=True)
class Const:
    """Matches a tensor known at compile time; binds it to `name`."""

    name: str


@dataclass(frozen=True, init=False)
class Op:
    """Matches a call of `operator` whose leading tensor arguments match `inputs`.

    Scales and zero points of `quantize` and `dequantize` need not be written: they are constant
    in the canonical form. Operands of `add` and `multiply` match in either order. `dtypes` names
    the element types that the result may have; none means all.
    """

    operator: str
    inputs: tuple[Structure, ...]
    dtypes: tuple[str, ...]

    def __init__(self, operator: str, *inputs: Structure, dtypes: tuple[str, ...] = ()) -> None:
        """`operator` as in the canonical graph ("nn.conv2d"), then its inputs."""
        object.__setattr__(self, "operator", operator)
        object.__setattr__(self, "inputs", inputs)
        object.__setattr__(self, "dtypes", dtypes)

    def operators(self) -> tuple[str, ...]:
        """Every operator of the structure, output first."""
        below = (_operators(structure) for structure in self.inputs)
        return (self.operator, *(name for names in below for name in names))


@dataclass(frozen=True)
class Chain:
    """Matches any number of element-wise calls, none included, above something that matches.

    Each call is of one of `operators` and reads one tensor that is not constant; the others are
    constants. Short chains are tried first.
    """

    operators: frozenset[str]
    inner: Structure


@dataclass(frozen=True)
class Web:
    """Matches element-wise calls, at least one, that make one value of another one and constants.

    A value inside may be read by several of them: x * sigmoid(x) is a web on x. Small webs are
    tried first.
    """

    operators: frozenset[str]
    inner: Structure


Structure = Any | Const | Op | Chain | Web

#: Operators whose result at a place depends on one element of a tensor and on constants: what a
#: table of a quantised function may hold.
POINTWISE = frozenset(
    "quantize dequantize add subtract multiply divide maximum minimum clip negative abs exp log "
    "sqrt rsqrt power erf sigmoid tanh nn.relu nn.leakyrelu nn.gelu nn.gelu_tanh nn.silu".split()
)
#: Element-wise operators by which integer graphs requantise: `(sum * M + B) >> S`, then clip.
REQUANTISE = frozenset(
    "add subtract multiply left_shift right_shift maximum minimum clip astype nn.relu".split()
)
#: How integer graphs widen what they multiply.
WIDEN = frozenset({"astype", "subtract", "multiply", "left_shift"})


def _operators(structure: Structure) -> tuple[str, ...]:
    if isinstance(structure, Chain | Web):
        return ("...", *_operators(structure.inner))
    return structure.operators() if isinstance(structure, Op) else ()


def accepts_all(workload: Workload) -> str | None:
    """The check of a pattern that runs everything its structure matches."""
    del workload
    return None


#: Says in a sentence why a module cannot run a workload; None if it can.
Check = Callable[[Workload], str | None]


@dataclass(frozen=True)
class Pattern:
    """One thing a module can run.

    Attributes:
        name: unique within the module; shown to users.
        kind: the kind of workload that the structure means.
        structure: what to find in the graph.
        refuses: a sentence saying why this module cannot run the workload, or None if it can.
    """

    name: str
    kind: Kind
    structure: Op
    refuses: Check = accepts_all

    def __post_init__(self) -> None:
        """Check what would be found only once a network is matched.

        Raises:
            TargetError: the structure does not begin with an operator.
        """
        if not isinstance(self.structure, Op):
            raise TargetError(
                f"pattern {self.name!r}: its structure is {shorten(repr(self.structure), 80)}, not "
                "an Op",
                hint="a structure begins with the operator that gives the result, such as "
                "Op('quantize', ...)",
            )

    @classmethod
    def from_dpl(
        cls,
        name: str,
        kind: Kind,
        pattern: object,
        check: Check = accepts_all,
        names: Mapping[str, object] | None = None,
    ) -> Pattern:
        """A pattern written in TVM's language, `tvm.relax.dpl`.

        It is matched on the canonical graph as all are (NHWC images, scales and zero points
        constant), by our own matcher.

        Args:
            name: unique within the module; shown to users.
            kind: the kind of workload that the pattern means.
            pattern: a `DFPattern` of calls of operators, wildcards and constants.
            check: a sentence saying why the module cannot run a workload, or None if it can.
            names: what tensors and constants are called, as in TVM's annotations; by default
                tensors are x, x1, x2 and constants weight, bias, in the order they are written.

        Raises:
            TargetError: it holds what a structure cannot say, such as a choice.
        """
        from match_aie.hardware.dpl import structure_of

        return cls(name, kind, structure_of(name, pattern, names), check)


def integer_patterns(
    name: str, kind: Kind, refuses: Callable[[Workload], str | None]
) -> tuple[Pattern, ...]:
    """Layers of integer graphs (Relay's, MATCH's) of `kind`: conv2d, dense, add or mul.

    They become workloads with fixed-point tails: int8 or uint8 in, the exact int32 sum, bias,
    multiplier, offset, shift, clip, and a cast to 8 bits; each of them may be absent. Without any
    the int32 sum is the output.
    """
    operator = {"conv2d": "nn.conv2d", "dense": "matmul", "add": "add", "mul": "multiply"}[kind]
    weighted = kind in ("conv2d", "dense")
    stored_bytes = ("int8", "uint8")
    second = Const("weight") if weighted else Any("x1", stored_bytes)
    core = Op(operator, Chain(WIDEN, Any("x", stored_bytes)), Chain(WIDEN, second))
    stored = Op("astype", Chain(REQUANTISE, core), dtypes=stored_bytes)
    found = [
        Pattern(f"{name}_integer_clip", kind, Op("clip", stored), refuses),
        Pattern(f"{name}_integer", kind, stored, refuses),
    ]
    if weighted:
        core = Op(operator, *core.inputs, dtypes=("int32",))
        biased = Op("add", core, Const("bias"), dtypes=("int32",))
        found.append(Pattern(f"{name}_integer_bias_sum", kind, biased, refuses))
        found.append(Pattern(f"{name}_integer_sum", kind, core, refuses))
    return tuple(found)
