"""What onnxruntime's optimiser makes of a model, in a process of its own.

Its rewrites are run on whatever a user has, and some end the process on a sound model: those of
onnxruntime 1.31 on a `LayerNormalization` whose bias is named as absent. That takes away a figure
beside the run, not the run.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from match_aie.toolchain.child import end_with
from match_aie.toolchain.process import TIMEOUT, supervise
from match_aie.toolchain.sessions import opened

#: Modules are looked for where this process looks for them.
_PROGRAM = """
import json, sys
given = json.load(sys.stdin)
sys.path[:] = given["path"]
from match_aie.toolchain.optimised import answer
answer(given["parent"], given["model"], given["names"], given["folder"])
"""


def optimised_run(model: Path, feed: Mapping[str, np.ndarray]) -> dict[str, np.ndarray] | None:
    """Outputs of the optimised model by name; None where onnxruntime fails or crashes.

    Args:
        model: an ONNX file.
        feed: inputs by name.
    """
    with tempfile.TemporaryDirectory(prefix="match_aie_") as folder:
        np.savez(Path(folder, "inputs.npz"), *feed.values())
        task = {
            "path": sys.path,
            "parent": os.getpid(),
            "model": str(model.absolute()),
            "names": list(feed),
            "folder": folder,
        }
        command = [sys.executable, "-I", "-c", _PROGRAM]
        ended = supervise(command, TIMEOUT, task=json.dumps(task).encode())
        if ended.status != 0:
            return None
        names = json.loads(Path(folder, "names.json").read_text())
        with np.load(Path(folder, "outputs.npz")) as found:
            return {name: found[f"arr_{index}"] for index, name in enumerate(names)}


def answer(parent: int, model: str, names: list[str], folder: str) -> None:
    """Run an optimised model; called in the other process.

    Args:
        parent: number of the process that asked.
        model: path of an ONNX file.
        names: of the inputs.
        folder: holds the inputs, and gets the outputs.
    """
    end_with(parent, TIMEOUT)
    from onnxruntime import GraphOptimizationLevel as levels

    session = opened(Path(model), (levels.ORT_ENABLE_ALL,))
    with np.load(Path(folder, "inputs.npz")) as given:
        feed = {name: given[f"arr_{index}"] for index, name in enumerate(names)}
    outputs = [output.name for output in session.get_outputs()]
    np.savez(Path(folder, "outputs.npz"), *session.run(outputs, feed))
    Path(folder, "names.json").write_text(json.dumps(outputs))
