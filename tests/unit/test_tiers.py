"""The lists of slow and long tests name tests that there are."""

from pathlib import Path

import pytest

from tests.tiers import LONG, SLOW

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("names", [SLOW, LONG], ids=["slow", "long"])
def test_each_name_is_a_test(names):
    texts = {
        file: (ROOT / file).read_text() for file in {name.partition("::")[0] for name in names}
    }
    for name in names:
        file, _, test = name.partition("::")
        assert f"def {test.partition('[')[0]}(" in texts[file], name


def test_no_line_is_there_twice():
    assert len({*SLOW, *LONG}) == len(SLOW) + len(LONG)
