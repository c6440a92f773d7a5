"""Which tests are slow, and which so long that continuous integration leaves them out.

Other marks stand at their tests. What `slow.txt` and `long.txt` name, a test function or a case of
it a line, was moved for its time alone, measured with two processes on two cores of a slow machine.
`make test` runs what is in neither list and is to take ten minutes; `make test-slow` runs what is
slow, and with it continuous integration has an hour; `make test-long` runs the rest: do that before
a release. A case whose name changes runs again where its function does: only names of functions
are held to what there is.

Slow are tests of about two seconds and more. By default one of each kind of layer is still built
and run on each target, and every instruction set is emulated. Long are slow ones of half a minute
and more, or many of a kind of which some stay. Some kinds have none that is not long: the fuzzer;
what GAP9's controller counts; sanitizers of kernels on several cores and of GAP9's networks; whole
zoos of the CPU, of GAP9 and of Versal (`check-target`); some of the compilers' own vector machines;
a network of megabytes on GAP9; on Versal MobileNet, layers of 512, blocks of BERT-base and ViT-tiny
and the order of mappings; Whisper's layer in its real size; a quick run of the benchmarks.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import pytest


def _listed(name: str) -> tuple[str, ...]:
    return tuple((Path(__file__).parent / name).read_text(encoding="utf-8").splitlines())


SLOW = _listed("slow.txt")
LONG = _listed("long.txt")


def mark(items: Sequence[pytest.Item]) -> None:
    """Mark what the lists name: a function, a case of it, or the cases that begin so."""
    by_function = defaultdict(list)
    for item in items:
        by_function[item.nodeid.partition("[")[0]].append(item)
    for name, tests in (("slow", SLOW), ("slow", LONG), ("long", LONG)):
        for test in tests:
            for item in by_function[test.partition("[")[0]]:
                if item.nodeid.startswith(test):
                    item.add_marker(name)
