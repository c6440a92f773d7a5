"""Projects on disk: written whole, built, run, compared. The only stage that starts processes."""

from match_aie.toolchain.check import Closeness, Deviation, LayerMismatch, RoundedSums
from match_aie.toolchain.compiler import Product, find_compiler
from match_aie.toolchain.fallback_check import FallbackChecked, FunctionMismatch
from match_aie.toolchain.folder import free_place, load, write
from match_aie.toolchain.library import Runner
from match_aie.toolchain.project import Build, Project, RunResult
from match_aie.toolchain.stream import Stream

__all__ = [
    "Build",
    "Closeness",
    "Deviation",
    "FallbackChecked",
    "FunctionMismatch",
    "LayerMismatch",
    "Product",
    "Project",
    "RoundedSums",
    "RunResult",
    "Runner",
    "Stream",
    "find_compiler",
    "free_place",
    "load",
    "write",
]
