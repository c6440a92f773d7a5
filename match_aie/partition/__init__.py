"""Who could run what, and who does: candidates, selection, and the cut."""

from match_aie.partition.candidates import Candidate, candidates
from match_aie.partition.cut import cut
from match_aie.partition.layer import Extracted
from match_aie.partition.passes import rewritten, transformed
from match_aie.partition.pins import pinned
from match_aie.partition.select import Assignment, Option, select
from match_aie.partition.to_graph import to_graph

__all__ = [
    "Assignment",
    "Candidate",
    "Extracted",
    "Option",
    "candidates",
    "cut",
    "pinned",
    "rewritten",
    "select",
    "to_graph",
    "transformed",
]
