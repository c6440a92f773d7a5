"""An `ArrayProgram` as text of the MLIR-AIE dialect, and back; its kernels and its host.

The text is that of one of the dialect's versions (`dialect`). What the dialect's own operations do
not say stands in discardable attributes `match.*`; what kernels compute is in the object files that
cores link (`objects`), whose sources are emitted beside the text.
"""

from match_aie.targets.xdna.mlir.dialect import DEFAULT, DIALECTS, Dialect, dialect_of
from match_aie.targets.xdna.mlir.kernels import Kernels, kernels_of
from match_aie.targets.xdna.mlir.reader import read
from match_aie.targets.xdna.mlir.text import text

__all__ = ["DEFAULT", "DIALECTS", "Dialect", "Kernels", "dialect_of", "kernels_of", "read", "text"]
