"""Sessions of onnxruntime: how they are opened, and what it raises.

Needs nothing else of the package: `optimised` runs this file in a process of its own.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from onnxruntime import GraphOptimizationLevel, InferenceSession

#: Files of the folder that `answer` works in.
INPUTS, OUTPUTS, NAMES = "inputs.npz", "outputs.npz", "names.json"


def errors() -> tuple[type[Exception], ...]:
    """What onnxruntime raises: its classes have no common base but Exception."""
    from onnxruntime.capi import onnxruntime_pybind11_state as state

    own = [e for e in vars(state).values() if isinstance(e, type) and issubclass(e, Exception)]
    return (*own, RuntimeError, ValueError)


def opened(model: Path | bytes, levels: Sequence[GraphOptimizationLevel]) -> InferenceSession:
    """The model in onnxruntime, at the first of these levels that it takes."""
    known = errors()
    for level in levels:
        for exact in (True, False):
            # onnxruntime 1.31 refuses some models with that option which it runs without:
            # "Attempt to replace the existing tensor".
            try:
                return _session(model, level, exact)
            except known as error:
                last = error
    raise last


def _session(model: Path | bytes, level: GraphOptimizationLevel, exact: bool) -> InferenceSession:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    options.graph_optimization_level = level
    if exact:
        # Without 8-bit dot-product instructions, onnxruntime's default u8 x s8 kernels add pairs
        # of products in saturating 16 bits; this option makes it compute what the model means.
        options.add_session_config_entry("session.x64quantprecision", "1")
    given = model if isinstance(model, bytes) else str(model)
    return onnxruntime.InferenceSession(given, options, providers=["CPUExecutionProvider"])


def answer(model: str, names: Sequence[str], folder: str) -> None:
    """Run an optimised model on the inputs in a folder, which gets its outputs.

    Args:
        model: path of an ONNX file.
        names: of the inputs.
        folder: see above.
    """
    import numpy as np
    from onnxruntime import GraphOptimizationLevel as levels

    session = opened(Path(model), (levels.ORT_ENABLE_ALL,))
    with np.load(Path(folder, INPUTS)) as given:
        feed = {name: given[f"arr_{index}"] for index, name in enumerate(names)}
    outputs = [output.name for output in session.get_outputs()]
    np.savez(Path(folder, OUTPUTS), *session.run(outputs, feed))
    Path(folder, NAMES).write_text(json.dumps(outputs))
