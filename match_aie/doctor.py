"""What this machine has and lacks: Python, packages, C compilers."""

from __future__ import annotations

import platform
import sys
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version

import match_aie
from match_aie.hardware.registry import target_names
from match_aie.toolchain.survey import FoundCompiler, survey_compilers, survey_cxx_compiler

OLDEST, NEWEST = (3, 11), (3, 14)

#: Package -> what needs it.
REQUIRED = {
    "apache-tvm": "reading models and the fallback",
    "apache-tvm-ffi": "TVM; only the version that match_aie names works with it",
    "mako": "layer templates",
    "numpy": "everything",
    "onnx": "reading ONNX files",
    "ortools": "memory plans, selection",
    "platformdirs": "where the cache lies",
    "rich": "progress",
    "six": "zigzag-dse, which does not declare it",
    "tflite": "reading TFLite files",
    "typer": "the command line",
    "vl-convert-python": "figures of reports",
    "zigzag-dse": "loop orders of engine loma",
}
OPTIONAL = {
    "onnxruntime": "`run` compares with the model itself",
    "ziglang": "`run` builds without a system C compiler",
}


@dataclass(frozen=True)
class FoundPackage:
    """A Python package: its version ("" where it is missing), and what needs it."""

    name: str
    version: str
    purpose: str
    required: bool


@dataclass(frozen=True)
class Diagnosis:
    """What was found.

    Attributes:
        match_aie: its version.
        python: its version.
        python_supported: whether match_aie is meant to run on it.
        platform: operating system and processor.
        packages: required ones, then optional ones.
        compilers: of C, the one that builds use first.
        cxx: of C++; None where there is none.
        targets: names of the installed targets.
    """

    match_aie: str
    python: str
    python_supported: bool
    platform: str
    packages: tuple[FoundPackage, ...]
    compilers: tuple[FoundCompiler, ...]
    cxx: FoundCompiler | None
    targets: tuple[str, ...]

    @property
    def problems(self) -> tuple[str, ...]:
        """What keeps match_aie from working, a sentence each, with the cure."""
        found = []
        if not self.python_supported:
            found.append(f"Python {self.python} is not supported; use 3.11 to 3.14")
        found += [
            f"{p.name} is missing ({p.purpose}); install match-aie again with pip"
            for p in self.packages
            if p.required and not p.version
        ]
        if not any(compiler.version for compiler in self.compilers):
            found.append(
                "no C compiler was found: compiling works, `run` does not; "
                "apt install gcc, or pip install ziglang"
            )
        if not self.targets:
            found.append("no target is registered; install match-aie again with pip")
        return tuple(found)

    @property
    def skipped(self) -> tuple[str, ...]:
        """What is left out because an optional package is missing."""
        missing = [
            f"{p.purpose}: not without {p.name}"
            for p in self.packages
            if not p.required and not p.version
        ]
        if self.cxx is None:
            missing.append("`run` of networks on AI Engine arrays: not without a C++ compiler")
        return tuple(missing)

    def to_json(self) -> dict[str, object]:
        """Everything as plain objects."""
        return {**asdict(self), "problems": list(self.problems), "skipped": list(self.skipped)}


def diagnose() -> Diagnosis:
    """Look around; starts each C compiler once to ask for its version."""
    return Diagnosis(
        match_aie=match_aie.__version__,
        python=platform.python_version(),
        python_supported=OLDEST <= sys.version_info[:2] <= NEWEST,
        platform=f"{platform.system()} {platform.release()}, {platform.machine()}",
        packages=(
            *(FoundPackage(n, _installed(n), why, True) for n, why in REQUIRED.items()),
            *(FoundPackage(n, _installed(n), why, False) for n, why in OPTIONAL.items()),
        ),
        compilers=survey_compilers(),
        cxx=survey_cxx_compiler(),
        targets=target_names(),
    )


def _installed(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""
