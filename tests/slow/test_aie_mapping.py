"""AI Engine: all sizes of layers map, and the cost model ranks mappings as the simulator does."""

import sys
from pathlib import Path

import pytest

from match_aie.errors import Infeasible
from match_aie.targets.aie_ml import device
from match_aie.targets.aie_ml.array import DenseLayer, build, search
from match_aie.targets.aie_ml.array.check import violations

pytestmark = pytest.mark.slow
VEK280 = device("vek280")
SIDES = (8, 100, 512, 4096)


@pytest.mark.parametrize("rows", [1, 3, 64, 1000, 4096])
def test_every_layer_maps_legally(rows: int) -> None:
    for reduction in SIDES:
        for columns in SIDES:
            found = search(DenseLayer(rows, reduction, columns), VEK280)
            assert not isinstance(found, Infeasible), (rows, reduction, columns, str(found))
            program = build(found[0].mapping, VEK280)
            assert not isinstance(program, Infeasible)
            assert violations(program, VEK280) == ()


def test_cost_model_and_simulator_agree_on_the_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[2] / "benchmarks"))
    from aie_correlation import correlation  # a script's module, not the package's

    rows = correlation(VEK280, lambda case, metric, value, *rest: {metric: value}, each=8)
    values = {metric: value for row in rows for metric, value in row.items()}
    assert values["rank_correlation"] >= 0.97
    assert values["chosen_above_best_percent"] <= 3.0
    sys.modules.pop("aie_correlation", None)
