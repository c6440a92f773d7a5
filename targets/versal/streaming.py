"""Networks whose runs follow each other in one call of the host."""

from __future__ import annotations

from collections.abc import Sequence

from match_aie.targets.aie_ml.graph.capacity import runs_ahead
from match_aie.targets.aie_ml.graph.join import Joined
from match_aie.targets.aie_ml.graph.spread_plan import Aim
from match_aie.targets.versal.chained import Chain


def ahead(aim: Aim, found: Sequence[tuple[Chain, Joined | None]]) -> int:
    """Runs that the host may begin before it takes a result; 0 where runs do not follow each other.

    They do where throughput counts and the array is one graph, which is started once for all of
    them. Constants that are streamed in, and tensors that the host rounds, go run by run.

    Args:
        aim: what counts.
        found: graphs of the network's layers on the array; None where one is a single layer's.
    """
    if aim != "throughput" or len(found) != 1 or found[0][1] is None:
        return 0
    graph = found[0][1].graph
    plain = all(way.values is None and way.dtype != "bfloat16" for way in graph.outside)
    return runs_ahead(graph) if plain else 0
