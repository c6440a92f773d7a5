"""Compiler flags that emitted C needs, for the toolchain and for the emitted Makefile."""

from __future__ import annotations

import re
from collections.abc import Sequence

from match_aie.errors import TargetError, shorten

#: Contraction into fused multiply-adds changes requantised bits. The arena is reused for tensors
#: of different element types, which strict aliasing would allow the compiler to reorder.
CORRECTNESS = ("-std=c11", "-ffp-contract=off", "-fno-strict-aliasing")
#: The same for C++. Names stay inside the library, statics of inline functions included: two
#: networks in one process share nothing.
CXX_CORRECTNESS = (
    "-std=c++20",
    "-ffp-contract=off",
    "-fno-strict-aliasing",
    "-fvisibility=hidden",
)
WARNINGS = ("-Wall", "-Wextra", "-Werror")
SANITIZERS = (
    "-g",
    "-fno-omit-frame-pointer",
    "-fsanitize=address,undefined",
    "-fno-sanitize-recover=all",
)

#: Checks of virtual functions need a runtime that only compilers of C++ link.
CXX_SANITIZERS = (*SANITIZERS, "-fno-sanitize=vptr")

#: Flags that would undo `CORRECTNESS`.
_FORBIDDEN = re.compile(
    r"-Ofast|-ffast-math|-funsafe-math-optimizations|-fassociative-math|-freciprocal-math"
    r"|-ffinite-math-only|-fno-signed-zeros|-fstrict-aliasing|-ffp-contract=(?!off).*"
)
_WELL_FORMED = re.compile(r"-[-A-Za-z0-9_=,.+/:]+")


def is_cxx(path: str) -> bool:
    """Whether a source is C++."""
    return path.endswith(".cpp")


def checked(flags: Sequence[str]) -> tuple[str, ...]:
    """`flags` of a target, as they are.

    Raises:
        TargetError: a flag is not one plain word, or would change results.
    """
    if isinstance(flags, str):
        raise TargetError(
            f"build flags are the text {shorten(flags, 60)!r}, not a tuple of flags",
            hint=f"BuildProfile(flags=({shorten(flags, 60)!r},))",
        )
    for flag in flags:
        if not _WELL_FORMED.fullmatch(flag):
            raise TargetError(f"build flag {shorten(flag, 60)!r} is not a plain compiler flag")
        if _FORBIDDEN.fullmatch(flag):
            raise TargetError(
                f"build flag {flag!r} would change the results of emitted code",
                hint="drop it; correctness needs " + " ".join(CORRECTNESS),
            )
    return tuple(flags)
