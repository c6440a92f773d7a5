"""A layer on the array: mapping, cost, search, and the program with its checker."""

from match_aie.targets.aie_ml.array.assumed import Assumed
from match_aie.targets.aie_ml.array.layer import ArrayMapping, DenseLayer
from match_aie.targets.aie_ml.array.price import Priced, price
from match_aie.targets.aie_ml.array.program import ArrayProgram
from match_aie.targets.aie_ml.array.search import search

__all__ = [
    "ArrayMapping",
    "ArrayProgram",
    "Assumed",
    "DenseLayer",
    "Priced",
    "price",
    "search",
]
