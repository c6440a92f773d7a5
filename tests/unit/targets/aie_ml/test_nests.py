"""A plan is its nest: reading one gives the plan that was chosen, and searches nothing."""

from dataclasses import replace

import numpy as np
import pytest

from match_aie.errors import Infeasible, TargetError
from match_aie.hardware import Loop, Mapping, mapping_from_json, mapping_to_json
from match_aie.targets.aie_ml.graph import candidates, cut_plan, dense_plan, timed_plan
from match_aie.targets.versal.module import plan_of, plans
from tests.aie_layers import constants_of, in_fixed_point, random_layer, random_product
from tests.aie_timed import layer as dense

IMAGES = ("conv", "conv", "conv", "depthwise", "average", "max", "add", "table")

#: Rows, reduction, columns, element types: weights that stay, and such that go by.
DENSE = (
    (64, 256, 128, ("int8", "int8")),
    (1, 300, 40, ("int8", "int8")),
    (33, 200, 72, ("int16", "int8")),
    (64, 512, 4096, ("int8", "int8")),
    pytest.param(700, 1024, 1024, ("int8", "int8"), marks=pytest.mark.slow),
)


def forbid_searches(monkeypatch):
    """Reading must not look at any other cut."""

    def searched(*_args, **_options):
        raise AssertionError("a plan was searched again")

    for module, name in (
        (candidates.Candidates, "best"),
        (cut_plan, "_candidates"),
        (dense_plan, "search"),
        (timed_plan, "search"),
    ):
        monkeypatch.setattr(module, name, searched)
    for function in (cut_plan.cut_plan, dense_plan._of_nest, timed_plan.timed_of_nest):
        function.cache_clear()


def all_read_again(workload, monkeypatch, columns=4):
    """How many plans there are, each of which its nest gives, through JSON as well."""
    found = plans(workload, "vek280", columns)
    if isinstance(found, Infeasible):
        return 0
    forbid_searches(monkeypatch)
    nests = [plan.nest for plan in found]
    assert len(set(nests)) == len(nests)
    for plan, nest in zip(found, nests, strict=True):
        again = plan_of(workload, "vek280", mapping_from_json(mapping_to_json(nest)))
        assert again.nest == nest
        assert (again.columns, again.ways, again.cycles) == (plan.columns, plan.ways, plan.cycles)
        if isinstance(plan, cut_plan.CutPlan):
            mine, read = (getattr(one.cut, "cut", one.cut) for one in (plan, again))
            assert mine == read
        else:
            assert again == plan
    return len(found)


def able_layer(kind, seed):
    """A random layer in fixed point that the array has a kernel for."""
    rng = np.random.default_rng(seed)
    while True:
        workload = random_layer(rng, kind)
        if workload is None:
            continue
        made = in_fixed_point(workload, constants_of(workload, rng))
        if not isinstance(made, str) and cut_plan.refuses(made.workload) is None:
            return made.workload


@pytest.mark.parametrize("seed", range(len(IMAGES)))
def test_image_layers_and_rows(seed, monkeypatch):
    assert all_read_again(able_layer(IMAGES[seed], seed), monkeypatch, 2)


@pytest.mark.parametrize("seed", range(4))
def test_products(seed, monkeypatch):
    assert all_read_again(random_product(seed)[0], monkeypatch)


@pytest.mark.parametrize(("rows", "reduction", "columns", "pair"), DENSE)
def test_dense_layers(rows, reduction, columns, pair, monkeypatch):
    made = dense(np.random.default_rng(0), rows, reduction, columns, pair)
    assert all_read_again(made[0], monkeypatch)


def test_loops_that_say_no_plan_are_refused():
    workload, _ = dense(np.random.default_rng(0), 64, 256, 128, ("int8", "int8"))
    best = plans(workload, "vek280", 2)[-1].nest
    twice = replace(best.temporal[0], size=2 * best.temporal[0].size)
    spatial = (Loop("B", best.spatial[0].size + 1), *best.spatial[1:])
    for wrong in (
        Mapping(best.spatial, ()),
        Mapping((), best.temporal),
        replace(best, temporal=(twice, *best.temporal[1:])),
        replace(best, spatial=spatial),
        replace(best, spatial=(*best.spatial[:-1], Loop("C", 5))),
    ):
        with pytest.raises(TargetError):
            plan_of(workload, "vek280", wrong)


@pytest.mark.parametrize("kind", ["conv", "max", "add", "product"])
def test_loops_that_say_no_cut_are_refused(kind):
    workload = random_product(0)[0] if kind == "product" else able_layer(kind, 1)
    best = plans(workload, "vek280", 2)[-1].nest
    first = replace(best.temporal[0], size=best.temporal[0].size + 100)
    for wrong in (
        Mapping((), ()),
        Mapping(best.spatial, ()),
        Mapping(best.spatial[:1], best.temporal),
        replace(best, temporal=(first, *best.temporal[1:])),
        replace(best, spatial=(Loop("Q", 2), *best.spatial[1:])),
    ):
        with pytest.raises(TargetError):
            plan_of(workload, "vek280", wrong)
