"""Who could run what, and who does: candidates, selection, and the cut."""

from match_aie.partition.candidates import Candidate, candidates
from match_aie.partition.cut import cut
from match_aie.partition.graph import Graph, Node, Value
from match_aie.partition.layer import Extracted
from match_aie.partition.select import Assignment, Option, select
from match_aie.partition.to_graph import to_graph

__all__ = [
    "Assignment",
    "Candidate",
    "Extracted",
    "Graph",
    "Node",
    "Option",
    "Value",
    "candidates",
    "cut",
    "select",
    "to_graph",
]
