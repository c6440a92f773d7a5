"""Whatever the selection, the emitted network computes the same."""

from pathlib import Path

import numpy as np
import pytest

import match_aie as match
from match_aie.demo import digits, digits_model
from tests.thinned import turns
from tests.tiled_target import Chip


@pytest.mark.parametrize(("synchronisation", "selection"), turns([0.0, 1e6], ["cheapest", "match"]))
def test_both_rules_give_networks_that_equal_their_reference(
    tmp_path: Path, selection: str, synchronisation: float
) -> None:
    target = Chip()
    target.synchronisation = synchronisation
    net = match.compile(digits_model(), target, selection=selection)
    modules = {layer.module for layer in net.program.schedule.layers}
    alone = selection == "cheapest" and synchronisation > 0
    assert modules == ({"cpu"} if alone else {"cpu", "cluster"})
    images = digits().images[:1]
    result = net.write(tmp_path / "net").run(images, quick=True)
    assert result.matches_reference
    plain = match.compile(digits_model()).write(tmp_path / "plain").run(images, quick=True)
    np.testing.assert_array_equal(result.outputs["logits"], plain.outputs["logits"])
