"""`If`: the branch that a constant condition takes, or both where the condition is not constant.

Both branches may be computed whatever the condition is, as no operator traps: integer divisions by
zero have a result, and indices beyond a tensor read its nearest element (`match_aie.fallback`).
"""

from __future__ import annotations

import numpy as np
from onnx import helper

from match_aie.frontend.onnx_rewrite.graph import OWN, Builder, Node, Refusal

#: One of two tensors of the same shape: condition, tensor where it holds, tensor where not.
CHOOSE = "Choose"


def conditional(node: Node, b: Builder) -> tuple[str, ...] | None:
    """The branch that is taken, or both and a choice between their results.

    None where the condition hangs on shapes alone: they may be known in a later round.
    """
    condition = b.graph.constant(node.input(0))
    if condition is not None:
        branch = node.attr("then_branch" if bool(condition.reshape(-1)[0]) else "else_branch")
        return tuple(b.splice(branch, {}))
    if _of_shapes(node.input(0), b):
        return None
    yes = b.splice(node.attr("then_branch"), {})
    no = b.splice(node.attr("else_branch"), {})
    if not len(yes) == len(no) == len(node.outputs):
        raise Refusal("its branches have not as many results as it has")
    holds = b.op("Reshape", node.input(0), b.const(np.zeros(0, np.int64)))
    return tuple(chosen(b, holds, *pair) for pair in zip(yes, no, strict=True))


def chosen(b: Builder, holds: str, yes: str, no: str) -> str:
    """`yes` where `holds`, else `no`, once their shapes are known.

    Args:
        b: the builder.
        holds: a truth value without dimensions.
        yes: a value.
        no: a value of the same shape.
    """
    if all(each.domain != OWN for each in b.graph.model.opset_import):
        b.graph.model.opset_import.append(helper.make_opsetid(OWN, 1))
    return b.op(f"{OWN}.{CHOOSE}", holds, yes, no)


def _of_shapes(condition: str, b: Builder) -> bool:
    """Whether a value is computed of nothing but shapes and constants."""
    producers = {name: proto for proto in b.graph.proto.node for name in proto.output}
    wanted, seen, shapes = [condition], set[str](), False
    while wanted:
        name = wanted.pop()
        if not name or name in seen or b.graph.is_constant(name):
            continue
        seen.add(name)
        producer = producers.get(name)
        if producer is None:
            return False
        if producer.op_type in ("Shape", "Size"):
            shapes = True
        elif any(attribute.HasField("g") for attribute in producer.attribute):
            return False
        else:
            wanted += producer.input
    return shapes


def choose(node: Node, b: Builder) -> tuple[str, ...] | None:
    """A `Where` once both shapes are known, which has to be one: `Where` would broadcast them."""
    infos = [b.graph.info(name) for name in node.inputs[1:]]
    shapes = [None if info is None else info.shape for info in infos]
    if None in shapes:
        return None
    if shapes[0] != shapes[1]:
        sizes = " and ".join(str(list(shape or ())) for shape in shapes)
        raise Refusal(
            f"its condition is computed at run time, and its branches have results of {sizes}"
        )
    return (b.op("Where", *node.inputs),)
