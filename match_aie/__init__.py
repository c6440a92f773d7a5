"""match_aie: compiles neural networks for heterogeneous chips.

>>> import match_aie as match
>>> net = match.compile("model.onnx", target="CPU")        # doctest: +SKIP
>>> project = net.write("build/model")                     # doctest: +SKIP
>>> result = project.run(np.zeros((1, 3, 32, 32), "float32"))  # doctest: +SKIP
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from match_aie.errors import Infeasible, InfeasibleError, MatchError
from match_aie.limits import Limits
from match_aie.pipeline import compile
from match_aie.version import version

if TYPE_CHECKING:
    from match_aie.toolchain import Project

__version__ = version()


def load(folder: str | os.PathLike[str], *, edited: bool = False) -> Project:
    """Open a project that `Compilation.write` wrote.

    Args:
        folder: where it lies.
        edited: run files that were changed since; without it only what was compiled runs.

    Raises:
        ProjectError: not a project, damaged, or of another schema version.
    """
    from match_aie.toolchain import load as open_project

    return open_project(folder, edited=edited)


__all__ = [
    "Infeasible",
    "InfeasibleError",
    "Limits",
    "MatchError",
    "__version__",
    "compile",
    "load",
]
