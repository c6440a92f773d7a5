"""The ONNX-to-ONNX pre-pass: afterwards a model holds only operators that import exactly.

It folds constants, expands quantised and rare operators into common ones, and lists what cannot
be compiled, all of it at once.
"""

from match_aie.frontend.onnx_rewrite.driver import rewrite

__all__ = ["rewrite"]
