"""AI Engine: all sizes of layers map, and the cost model ranks mappings as the simulator does."""

import sys
from pathlib import Path

import pytest

from match_aie.errors import Infeasible
from match_aie.targets.aie_ml import device
from match_aie.targets.aie_ml.array import DenseLayer, search
from match_aie.targets.aie_ml.array.check import violations
from match_aie.targets.aie_ml.graph.given import find, program_of

pytestmark = pytest.mark.slow
VEK280 = device("vek280")
SIDES = (1, 7, 8, 64, 100, 512, 1000, 4096)

#: Element types of x and weights.
TYPES = (("int8", "int8"), ("int16", "int8"), ("int16", "int16"), ("bfloat16", "bfloat16"))


@pytest.mark.parametrize("rows", SIDES)
def test_every_layer_maps_legally(rows: int) -> None:
    """Every reduction with three numbers of columns; all numbers of columns occur with all rows."""
    for at, reduction in enumerate(SIDES):
        for step in (0, 3, 5):
            columns = SIDES[(at + step) % len(SIDES)]
            maps(DenseLayer(rows, reduction, columns), "vek280")


@pytest.mark.parametrize(("a", "w"), TYPES[1:])
def test_other_element_types_map_legally(a: str, w: str) -> None:
    for rows, reduction, columns in ((1, 4096, 100), (7, 512, 4096), (100, 7, 1), (512, 1000, 64)):
        maps(DenseLayer(rows, reduction, columns, a, w, a), "vek280")


@pytest.mark.parametrize("rows", [1, 64, 4096])
def test_a_small_array_streams_or_says_why_not(rows: int) -> None:
    """Sixteen tiles: weights and reductions that are too large for them go by in turns."""
    array = device("npu1")
    for reduction, columns in ((8, 4096), (4096, 8), (1000, 1000), (4096, 4096)):
        found = search(DenseLayer(rows, reduction, columns), array)
        if isinstance(found, Infeasible):
            assert found.resource
            assert found.demand > found.bound


def maps(layer: DenseLayer, name: str) -> None:
    """The layer has a program that keeps all rules, or what it lacks is named."""
    array = device(name)
    found = find(layer, array)
    if isinstance(found, Infeasible):
        assert found.demand > found.bound
        # Weights that no tiles hold, and rows that no memory tiles do.
        assert layer.reduction * layer.columns > array.core_tiles * 48 * 1024, (layer, str(found))
        return
    program = program_of(found[0].mapping, array)
    assert not isinstance(program, Infeasible)
    assert violations(program, array) == ()


@pytest.mark.long
def test_cost_model_and_simulator_agree_on_the_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[2] / "benchmarks"))
    from aie_correlation import correlation  # a script's module, not the package's

    rows = correlation(VEK280, lambda case, metric, value, *rest: {metric: value}, each=24)
    values = {metric: value for row in rows for metric, value in row.items()}
    assert values["rank_correlation"] >= 0.97
    assert values["chosen_above_best_percent"] <= 3.0
    sys.modules.pop("aie_correlation", None)
