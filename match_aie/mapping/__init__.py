"""How a layer's loops run on a module, and at what modelled cost."""

from match_aie.mapping.search import MappedCost, search

__all__ = ["MappedCost", "search"]
