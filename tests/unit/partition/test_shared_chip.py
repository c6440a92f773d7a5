"""Layers that share something of a chip: selection keeps to it, and divides it among them."""

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[2] / "cc" / "versal"))
from versal_networks import DenseNet, Layer

import match_aie as match
from match_aie.errors import Infeasible
from match_aie.hardware import (
    ArrayChip,
    Configuration,
    Cost,
    ExecModule,
    Loop,
    Mapping,
    MatchTarget,
    Memory,
    OnArray,
    weighted,
)


class Lanes(ExecModule, OnArray):
    """Dense layers on 1, 2 or 4 lanes."""

    name = "lanes"
    memories = (Memory("L2", None, 8.0),)

    def patterns(self):
        return weighted("dense", "dense", "matmul", lambda workload: None)

    def spatial(self, workload):
        return (Loop("K", 1),)

    def unrollings(self, workload):
        return [(Loop("K", width),) for width in (1, 2, 4, 64)]

    def demands(self, workload, mapping):
        return {"lanes": mapping.spatial[0].size}

    def cost_model(self, workload):
        return self

    def cost(self, workload, mapping):
        lanes = mapping.spatial[0].size
        return Infeasible("lanes", lanes, 4, "lanes") if lanes > 4 else Cost(1000.0 / lanes)

    def template(self, workload):
        return "cpu/dense.c.mako"


class Shared(MatchTarget, ArrayChip):
    """So many lanes for the whole network."""

    name = "shared"

    def __init__(self, lanes):
        self.lanes = lanes

    def modules(self):
        return [Lanes()]

    def capacities(self):
        return {"lanes": self.lanes}


def widths(lanes, selection="cheapest"):
    net = DenseNet(2, 16)
    for _ in range(3):
        net.dense(Layer(16))
    made = match.compile(net.model(), target=Shared(lanes), cache=False, selection=selection)
    return [
        step.layer.mapping.spatial[0].size for step in made.program.schedule.steps if step.layer
    ], made


@pytest.mark.parametrize(
    ("lanes", "wanted"), [(12, [4, 4, 4]), (5, [1, 2, 2]), (3, [1, 1, 1]), (9, [2, 2, 4])]
)
def test_the_cheapest_division(lanes, wanted) -> None:
    found, made = widths(lanes)
    assert sorted(found) == wanted
    assert made.assignment.proven
    assert made.assignment.cost.layers == sum(1000 / width for width in wanted)


def test_what_finds_no_room_runs_elsewhere() -> None:
    found, made = widths(2)
    assert found == [1, 1]
    assert sum("matmul" in f.operators for f in made.program.schedule.functions) == 1
    chosen = {id(option) for option in made.assignment.chosen}
    assert sum(id(option) in chosen for option in made.assignment.considered) == 2


def test_a_mapping_that_does_not_fit_is_left_out() -> None:
    _, made = widths(12)
    (option, *_) = made.assignment.considered
    sizes = [option.mapping, *(mapping for mapping, _ in option.others)]
    assert [mapping.spatial[0].size for mapping in sizes] == [4, 2, 1]


class Together(Shared):
    """A configuration of so many lanes serves the first layers, each in so many cycles."""

    def __init__(self, lanes, taken, cycles, served):
        super().__init__(lanes)
        self.taken, self.cycles, self.served = taken, cycles, served
        self.bids = ()

    def configurations(self, bids):
        self.bids = bids
        ways = {
            number: (Mapping((Loop("K", 64),), ()), Cost(self.cycles))
            for number in range(len(bids))
            if number < self.served
        }
        return [Configuration(ways, {"lanes": self.taken})]


class Lent(Lanes):
    """Lanes of a configuration are its own."""

    def demands(self, workload, mapping):
        found = super().demands(workload, mapping)
        return {} if found["lanes"] == 64 else found


@pytest.mark.parametrize(
    ("chip", "wanted"),
    [
        (Together(4, 2, 300.0, 3), [64, 64, 64]),  # 900 for 500 + 500 + 1000
        (Together(4, 2, 600.0, 3), [2, 64, 64]),  # one is faster on what is left
        (Together(4, 2, 1200.0, 3), [1, 1, 2]),  # dearer than all for themselves
        (Together(6, 2, 100.0, 2), [4, 64, 64]),  # what is left serves the others
        (Together(4, 4, 100.0, 2), None),  # nothing is left for the third
        (Together(4, 5, 100.0, 3), [1, 1, 2]),  # more than there is
    ],
)
def test_a_configuration_is_taken_where_the_cover_is_cheaper(chip, wanted, monkeypatch):
    monkeypatch.setattr(chip, "modules", lambda: [Lent()])
    net = DenseNet(2, 16)
    for _ in range(3):
        net.dense(Layer(16))
    made = match.compile(net.model(), target=chip, cache=False)
    found = [
        step.layer.mapping.spatial[0].size for step in made.program.schedule.steps if step.layer
    ]
    assert {bid.module for bid in chip.bids} == {"lanes"}
    assert [bid.workload.kind for bid in chip.bids] == ["dense"] * 3
    if wanted is not None:
        assert sorted(found) == wanted
    else:
        own = sum(width for width in found if width != 64)
        assert own + (chip.taken if 64 in found else 0) <= 4
