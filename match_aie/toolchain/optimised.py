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

from match_aie.toolchain import child, sessions
from match_aie.toolchain.process import TIMEOUT, supervise
from match_aie.toolchain.sessions import INPUTS, NAMES, OUTPUTS

#: Of the package only two files that need nothing of it, so that it starts at once; modules are
#: looked for where this process looks for them.
_PROGRAM = """
import json, runpy, sys
given = json.load(sys.stdin)
sys.path[:] = given["path"]
runpy.run_path(given["child"])["end_with"](given["parent"], given["seconds"])
runpy.run_path(given["sessions"])["answer"](given["model"], given["names"], given["folder"])
"""


def optimised_run(model: Path, feed: Mapping[str, np.ndarray]) -> dict[str, np.ndarray] | None:
    """Outputs of the optimised model by name; None where onnxruntime fails or crashes.

    Args:
        model: an ONNX file.
        feed: inputs by name.
    """
    with tempfile.TemporaryDirectory(prefix="match_aie_") as folder:
        np.savez(Path(folder, INPUTS), *feed.values())
        task = {
            "path": sys.path,
            "child": child.__file__,
            "sessions": sessions.__file__,
            "parent": os.getpid(),
            "seconds": TIMEOUT,
            "model": str(model.absolute()),
            "names": list(feed),
            "folder": folder,
        }
        command = [sys.executable, "-I", "-c", _PROGRAM]
        ended = supervise(command, TIMEOUT, task=json.dumps(task).encode())
        if ended.status != 0:
            return None
        names = json.loads(Path(folder, NAMES).read_text())
        with np.load(Path(folder, OUTPUTS)) as found:
            return {name: found[f"arr_{index}"] for index, name in enumerate(names)}
