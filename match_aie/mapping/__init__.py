"""How a layer's loops run on a module, and at what modelled cost."""

from match_aie.mapping.checker import Violation, check
from match_aie.mapping.evaluate import Evaluation, overfull
from match_aie.mapping.options import SearchOptions
from match_aie.mapping.search import MappedCost, search

__all__ = [
    "Evaluation",
    "MappedCost",
    "SearchOptions",
    "Violation",
    "check",
    "overfull",
    "search",
]
