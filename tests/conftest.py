"""What holds for all tests."""

import os
from collections.abc import Iterator
from pathlib import Path
from zlib import crc32

import numpy as np
import pytest
from hypothesis import settings

from tests import tiers
from tests.needs import lines

# The same examples every time, so that a commit that passes here passes everywhere; nothing is
# timed. For a wider search: HYPOTHESIS_PROFILE=search pytest ...
settings.register_profile("repeatable", derandomize=True, deadline=None, print_blob=True)
settings.register_profile("search", deadline=None, print_blob=True, max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))


@pytest.fixture(scope="session")
def of_the_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of this run, which the processes that share a run (pytest-xdist) share too.

    A project that several tests build may be written here by each of them: one with the same
    contents is left as it is, with what was built.
    """
    run = tmp_path_factory.getbasetemp()
    return run.parent if "PYTEST_XDIST_WORKER" in os.environ else run


@pytest.fixture(autouse=True, scope="session")
def own_cache(of_the_run: Path) -> Iterator[None]:
    """Searches of the tests are cached in a folder of this run, never in the user's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MATCH_AIE_CACHE", str(of_the_run / "searches"))
        yield


@pytest.fixture(autouse=True)
def own_numbers(request: pytest.FixtureRequest) -> None:
    """A module's `RNG` begins anew with each test, from the test's name.

    Which tests a process runs, and in which order, differs from run to run where several share
    them; numbers that went on from one test to the next would differ with it.
    """
    if isinstance(getattr(request.module, "RNG", None), np.random.Generator):
        request.module.RNG = np.random.default_rng(crc32(request.node.name.encode()))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is slow, and what is long, before tests are chosen by their marks."""
    tiers.mark(items)


def pytest_configure() -> None:
    """Emulate the processor that `MATCH_AIE_ARCH` names, where this one is another."""
    if os.environ.get("MATCH_AIE_ARCH"):
        from tests import emulation  # only then: it loads the CPU target

        emulation.stand_in(pytest.MonkeyPatch())


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name optional tools that were absent, and how many tests were skipped for each."""
    skipped = terminalreporter.getreports("skipped")
    for line in lines(str(report.longrepr[-1]) for report in skipped):
        terminalreporter.write_line(line)
