"""The page about Relay names exactly the operators that compile."""

import re
from pathlib import Path

from match_aie.frontend.relay.operators import RULES

PAGE = Path(__file__).resolve().parents[4] / "docs" / "relay.md"


def test_the_table_of_operators_is_complete():
    table = PAGE.read_text().partition("## Operators")[2]
    assert set(re.findall(r"`([a-z_.0-9]+)`", table)) == set(RULES)
