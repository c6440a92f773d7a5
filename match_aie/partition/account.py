"""Nothing vanishes: a layer computes every operator of its match, and reads every operand.

Extraction takes what its kind has words for. What a pattern matched beyond that would be computed
by nobody once the match is cut out of the graph, so it is looked for, and refused.
"""

from __future__ import annotations

from match_aie.partition.layer import Extracted
from match_aie.partition.view import View
from match_aie.workload import Kind


def lost(view: View, layer: Extracted, kind: Kind) -> str:
    """What of the match `layer` does not compute, in a sentence; "" where it computes all."""
    nodes = [view.graph.nodes[index] for index in dict.fromkeys(view.match.nodes)]
    left = [node for node in nodes if node.index not in view.accounted]
    if left:
        operators = ", ".join(dict.fromkeys(node.operator for node in left))
        verb = "was" if len(left) == 1 else "were"
        return f"a layer of kind {kind} does not compute the {operators} that {verb} matched too"
    inside = {node.output for node in nodes}
    for name in layer.inputs:
        if name in inside:
            return f"a layer of kind {kind} would read {name}, which its own match computes"
    if layer.output != view.root.output:
        return f"a layer of kind {kind} does not give the result of its match"
    behind = {view.graph.nodes[index].output for index in view.accounted}
    for node in nodes:
        for name in node.inputs():
            if name in inside or name in behind or name in layer.inputs:
                continue
            if view.value(name).constant is None:
                called = [bound for bound, found in view.match.bound.items() if found == name]
                return (
                    f"a layer of kind {kind} does not read the "
                    f"{' or '.join(called) or name} of its {node.operator}"
                )
    return ""
