"""match_aie inside TVM: layers of a Relax module compiled by us, the rest by TVM.

    module = from_onnx(model)
    module = Sequential([Partition("CPU"), relax.transform.RunCodegen()])(module)
    executable = relax.build(module, "llvm")

Importing this package registers the code generator `relax.ext.match_aie` with TVM.
"""

from match_aie import tvm_api
from match_aie.byoc.codegen import generate
from match_aie.byoc.partitioning import Partition, partition
from match_aie.byoc.patterns import patterns, register_patterns
from match_aie.byoc.refusals import Refusal, refusals
from match_aie.byoc.repeat import RepeatDequantize
from match_aie.errors import (
    InternalError,
    LimitError,
    MatchError,
    ModelError,
    OptionError,
    ProjectError,
    TargetError,
    ToolchainError,
)

tvm_api.register_codegen("match_aie", generate)
_OF_A_SENTENCE = (ModelError, LimitError, TargetError, OptionError, ProjectError, ToolchainError)
tvm_api.register_errors([*_OF_A_SENTENCE, InternalError, MatchError])

__all__ = [
    "Partition",
    "Refusal",
    "RepeatDequantize",
    "partition",
    "patterns",
    "refusals",
    "register_patterns",
]
