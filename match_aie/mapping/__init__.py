"""How a layer's loops run on a module, and at what modelled cost."""

from match_aie.mapping.batch import SearchCounts, Task, search_all
from match_aie.mapping.cache import CacheWarning, SearchCache, cache_folder, open_cache
from match_aie.mapping.checker import Violation, check
from match_aie.mapping.evaluate import Evaluation, overfull
from match_aie.mapping.options import SearchOptions
from match_aie.mapping.search import MappedCost, search

__all__ = [
    "CacheWarning",
    "Evaluation",
    "MappedCost",
    "SearchCache",
    "SearchCounts",
    "SearchOptions",
    "Task",
    "Violation",
    "cache_folder",
    "check",
    "open_cache",
    "overfull",
    "search",
    "search_all",
]
