"""The C compilers that emitted code must be right with, each where it is installed.

Newer ones may optimise what older ones left alone, and some miscompile: every form that is printed
is run with all of them. `apt install gcc-11 gcc-12 clang-14 clang-15 clang-16 clang-19 clang-22`
has what Debian 12 offers; the end of a run names those that were absent.
"""

from __future__ import annotations

import pytest

from tests.needs import needs

GCCS = tuple(f"gcc-{version}" for version in (11, 12, 13, 14, 15))
CLANGS = tuple(f"clang-{version}" for version in (14, 15, 16, 19, 22))
ALL = (*GCCS, *CLANGS)

#: Runs a test once with each of them: `def test_it(compiler, ...)`.
every_compiler = pytest.mark.parametrize(
    "compiler", [pytest.param(name, marks=needs(name)) for name in ALL]
)
