"""Forms of supported operators that TVM imports wrongly and that are not rewritten: refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from match_aie.frontend.onnx_rewrite import recurrent
from match_aie.frontend.onnx_rewrite.graph import Graph, Node

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


def _batch_norm(node: Node, graph: Graph) -> str | None:
    return "training mode is not compiled" if node.attr("training_mode", 0) else None


def _resize(node: Node, graph: Graph) -> str | None:
    return "antialiasing is not compiled" if node.attr("antialias", 0) else None


def _roi_align(node: Node, graph: Graph) -> str | None:
    return "mode max is not compiled" if node.attr("mode", "avg") == "max" else None


def _max_pool(node: Node, graph: Graph) -> str | None:
    return "the indices of the maxima are not computed" if node.has_output(1) else None


CONDITIONS: Mapping[str, tuple[Condition, ...]] = MappingProxyType(
    {
        "BatchNormalization": (_batch_norm,),
        "Resize": (_resize, _needs_constant(1, 2, 3)),
        "Upsample": (_needs_constant(1),),
        "RoiAlign": (_roi_align,),
        "MaxPool": (_max_pool,),
        "CumSum": (_needs_constant(1),),
        "OneHot": (_needs_constant(1, 2),),
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
        "Compress": (_needs_constant(1),),
        **{
            f"Reduce{kind}": (_needs_constant(1),)
            for kind in "L1 L2 LogSum LogSumExp Max Mean Min Prod Sum SumSquare".split()
        },
    }
)
