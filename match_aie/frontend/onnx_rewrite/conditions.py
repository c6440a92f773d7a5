"""Forms of supported operators that TVM imports wrongly and that are not rewritten: refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from onnx import TensorProto

from match_aie.frontend.onnx_rewrite import recurrent
from match_aie.frontend.onnx_rewrite.graph import Graph, Node

#: Floating-point element types.
FLOATS = (TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.BFLOAT16)

Condition = Callable[[Node, Graph], "str | None"]


def _needs_constant(*positions: int) -> Condition:
    """Inputs that steer the shape of the computation must be known."""

    def condition(node: Node, graph: Graph) -> str | None:
        for position in positions:
            name = node.input(position)
            if name and not graph.is_constant(name):
                return f"its input {position + 1} must be known at compile time"
        return None

    return condition


def _roi_align(node: Node, graph: Graph) -> str | None:
    return "mode max is not compiled" if node.attr("mode", "avg") == "max" else None


def _reduction(node: Node, graph: Graph) -> str | None:
    axes = node.input(1)
    none = not axes or (graph.is_constant(axes) and graph.shape(axes) == (0,))
    if none and node.attr("noop_with_empty_axes", 0):
        if node.op not in ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd"):
            return "noop_with_empty_axes: runtimes disagree about what then remains"
    if node.op == "ReduceMean" and graph.dtype(node.input(0)) not in FLOATS:
        return "the mean of integers is not compiled"
    return None


def _lp_pool(node: Node, graph: Graph) -> str | None:
    return "ceil_mode is not compiled" if node.attr("ceil_mode", 0) else None


CONDITIONS: Mapping[str, tuple[Condition, ...]] = MappingProxyType(
    {
        "AffineGrid": (_needs_constant(1),),
        "RoiAlign": (_roi_align,),
        "LpPool": (_lp_pool,),
        "CumSum": (_needs_constant(1),),
        "Pad": (_needs_constant(1, 2, 3),),
        "Slice": (_needs_constant(1, 2, 3, 4),),
        "Split": (_needs_constant(1),),
        "Squeeze": (_needs_constant(1),),
        "Tile": (_needs_constant(1),),
        "TopK": (_needs_constant(1),),
        "Trilu": (_needs_constant(1),),
        "Unsqueeze": (_needs_constant(1),),
        "Reshape": (_needs_constant(1),),
        **dict.fromkeys(("GRU", "LSTM", "RNN"), (recurrent.problem,)),
        **{
            f"Reduce{kind}": (_needs_constant(1), _reduction)
            for kind in "L1 L2 LogSum LogSumExp Max Mean Min Prod Sum SumSquare".split()
        },
    }
)
