"""The page that names the types on a convolution's way to the array says what happens."""

import re
from pathlib import Path

import match_aie as match
from match_aie.demo import digits_model
from match_aie.partition import candidates as partitioned
from match_aie.targets.aie_ml import device
from match_aie.targets.aie_ml.array.layout import lay_out
from match_aie.targets.versal import VersalAIEML
from match_aie.targets.versal.module import plan_of

PAGE = Path(__file__).parents[4] / "docs" / "architecture.md"


def test_the_page_names_the_types_on_a_convolutions_way(monkeypatch) -> None:
    """Each type that a convolution goes through, in its order, and no others; at most eight."""
    way = PAGE.read_text().split("## A convolution on its way to the array")[1].split("\n## ")[0]
    named = re.findall(r"^\| `(\w+)` \|", way, re.MULTILINE)
    seen: list[object] = []

    def watched(*given):
        found = partitioned(*given)
        seen.extend(found)
        return found

    monkeypatch.setattr("match_aie.partition.candidates", watched)
    net = match.compile(digits_model(), target=VersalAIEML(modules=("array", "arm")))
    chosen = next(c for c in net.program.schedule.chosen if c.workload.kind == "conv2d")
    assert chosen.module == "array"
    plan = plan_of(chosen.workload, "vek280", chosen.mapping)
    graph = plan.graph(chosen.symbol, chosen.workload, chosen.constants)
    program = lay_out(graph, device("vek280"))
    unit = net.program.units[0]
    way_of_it = (chosen.workload, seen[0], plan.cut, plan, chosen, graph, program, unit)
    assert named == [type(each).__name__ for each in way_of_it]
    assert len(named) <= 8
