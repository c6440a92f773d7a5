"""The chip's facts: read, complete, and each with a source."""

import json

import pytest

from match_aie.errors import TargetError
from match_aie.targets.gap9.facts import FACTS_FILE, facts, read_facts


def test_facts():
    assert facts().memory.l1_usable_bytes + facts().memory.l1_list_bytes == 92_160
    assert facts().ne16.registers == 24
    assert facts().clock.typical_hz == 260e6


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: data["dma"].pop("latency_cycles"), "name different facts"),
        (lambda data: data["dma"]["latency_cycles"].pop("source"), "has no source"),
    ],
)
def test_incomplete_facts(tmp_path, change, message):
    data = json.loads(FACTS_FILE.read_text())
    change(data)
    path = tmp_path / "facts.json"
    path.write_text(json.dumps(data))
    with pytest.raises(TargetError, match=message):
        read_facts(path)
