"""Where blocks of tiles lie on an array: `place` is the only door.

A block is a rectangle of tiles, such as a layer's graph. Blocks that hand data to each other should
be near: `Problem.cost` says what is minimised. Some blocks may be pinned by the user. The answer is
a `Placement`, which says whether it is proven to be the best, or why there is none.
"""

from match_aie.targets.aie_ml.placement.problem import Block, Pin, Placement, Position, Problem
from match_aie.targets.aie_ml.placement.solve import place

__all__ = ["Block", "Pin", "Placement", "Position", "Problem", "place"]
