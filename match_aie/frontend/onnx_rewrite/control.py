"""Control flow that is decided at compile time."""

from __future__ import annotations

from match_aie.frontend.onnx_rewrite.graph import Builder, Node, Refusal


def constant_if(node: Node, b: Builder) -> tuple[str, ...]:
    """The branch that a constant condition takes."""
    condition = b.graph.constant(node.input(0))
    if condition is None:
        raise Refusal("its condition is computed at run time")
    branch = node.attr("then_branch" if bool(condition.reshape(-1)[0]) else "else_branch")
    return tuple(b.splice(branch, {}, rename=False))
