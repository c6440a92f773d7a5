"""A chip's energy: ranges, sources, and who refuses where there is none."""

import json

import pytest

from match_aie.errors import OptionError, TargetError
from match_aie.hardware import Figure, measure, refuse_objective
from match_aie.hardware.cost import Cost
from match_aie.targets.gap9.facts import FACTS_FILE, facts, read_facts


@pytest.mark.parametrize("bad", [(1, 2, 3), (4, 2, 3), (1, -1, 3), (1, 0, float("inf"))])
def test_a_figure_lies_in_its_range(bad):
    with pytest.raises(TargetError, match="do not lie between"):
        Figure(*bad, "somebody")


def test_a_figure_has_a_source():
    with pytest.raises(TargetError, match="without a source"):
        Figure(2.0, 1.0, 3.0, "")


def test_gap9_has_figures_for_every_module():
    energy = facts().energy
    assert set(energy.units) == {"ne16", "cluster"}
    every = [energy.core, energy.byte, energy.fetched, *energy.units.values()]
    assert all(figure.low <= figure.value <= figure.high and figure.source for figure in every)
    charges = energy.charges("ne16")
    assert (charges.unit, charges.core) == (energy.units["ne16"].value, energy.core.value)


def test_a_figure_that_is_missing_is_named(tmp_path):
    data = json.loads(FACTS_FILE.read_text())
    del data["energy"]["byte"]
    (tmp_path / "facts.json").write_text(json.dumps(data))
    with pytest.raises(TargetError, match="energy: 'byte' is missing"):
        read_facts(tmp_path / "facts.json")


def test_only_latency_needs_no_energy():
    refuse_objective("latency", "chip", None)
    refuse_objective("energy", "chip", facts().energy)
    with pytest.raises(OptionError, match="'edp' needs energy, and target 'chip' states none"):
        refuse_objective("edp", "chip", None)


def test_what_is_minimised():
    cost = Cost(10.0, (), 3.0)
    assert [measure(cost, o) for o in ("latency", "energy", "edp")] == [10.0, 3.0, 30.0]
