"""The lists of slow and long tests name tests that there are."""

from pathlib import Path

import pytest

from tests.tiers import LONG, SLOW

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("name", [*SLOW, *LONG])
def test_each_name_is_a_test(name):
    file, _, test = name.partition("::")
    assert f"def {test.split('[')[0]}(" in (ROOT / file).read_text()


def test_no_line_is_there_twice():
    assert len({*SLOW, *LONG}) == len(SLOW) + len(LONG)
