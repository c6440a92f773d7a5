"""An `ArrayProgram` as text of the MLIR-AIE dialect, and back.

The text is that of the dialect as of March 2026 (`aie.runtime_sequence`, lock values as attributes,
descriptors as positional operands). What the dialect's own operations do not say stands in
discardable attributes `match.*`; what kernels compute is in the object files that cores link.
"""

from match_aie.targets.xdna.mlir.kernels import Kernels, kernels_of
from match_aie.targets.xdna.mlir.reader import read
from match_aie.targets.xdna.mlir.text import text

__all__ = ["Kernels", "kernels_of", "read", "text"]
