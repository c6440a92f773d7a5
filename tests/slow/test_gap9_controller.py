"""What GAP9's timing says of the controller is what is counted of its code, at -O3 like it."""

import csv
from pathlib import Path

import pytest

from match_aie.targets.gap9 import GAP9
from match_aie.targets.gap9.timing.controller import Access, Code, Work
from match_aie.targets.gap9.timing.network import Gap9Timing
from tests import riscv
from tests.shared import DATA, model_file

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(riscv.missing() is not None, reason=str(riscv.missing())),
]


@pytest.fixture(scope="module")
def benchmark():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(Path(__file__).parents[2] / "benchmarks")
        import gap9_controller

        yield gap9_controller


@pytest.fixture(scope="module")
def layers(benchmark):
    return benchmark.everything([model_file(file) for file in benchmark.NETWORKS])


def test_every_part_is_what_is_counted(benchmark, layers):
    """Within a tenth, of accesses half a one: `Code` has whole numbers."""
    models = [model_file(file) for file in benchmark.NETWORKS]
    both = [benchmark.count(model_file(file), GAP9()) for file in benchmark.BESIDE]
    counted = benchmark.counted(layers, benchmark.distant(models[:1]), both)
    found, held = benchmark.named(counted), benchmark.named(Code())
    assert {
        "one_tile",
        "few tile",
        "lane tile",
        "fork",
        "word",
        "place",
        "many tile",
        "transfer",
        "plane",
        "first",
        "later",
    } <= set(found)
    for name, work in found.items():
        priced = held.get(name, Code().call)
        assert priced.instructions == pytest.approx(work.instructions, rel=0.1), name
        assert priced.l2 == pytest.approx(work.l2, rel=0.1, abs=0.5), name
        assert priced.registers == pytest.approx(work.registers, rel=0.1, abs=0.5), name
        assert priced.stalls == pytest.approx(work.stalls, rel=0.1, abs=2), name
        assert priced.lines == pytest.approx(work.lines, rel=0.2, abs=2), name
        assert priced.cycles(Access()) == pytest.approx(work.cycles(Access()), rel=0.1), name


@pytest.mark.parametrize("form", ["one tile", "few", "many"])
def test_what_all_layers_take_in_all(layers, form):
    """Walks, transfers, waits and starts of layers: what is priced, and what was counted."""
    code, access = Code(), Access()
    forms = {"one tile": (code.one_tile, Work(0)), "few": code.few, "many": code.many}
    enter, visit = forms[form]
    priced = counted = 0.0
    for layer in layers:
        several = "few" if layer.listed else "many"
        if form != (several if layer.visits > 1 else "one tile"):
            continue
        priced += enter.cycles(access) + visit.cycles(access) * layer.visits
        counted += layer.walk.cycles(access)
        for part, works in layer.parts.items():
            kind = code.calls.get(layer.kind, code.call) if part == "call" else getattr(code, part)
            priced += kind.cycles(access) * len(works)
            counted += sum(work.cycles(access) for work in works)
    assert counted
    assert priced == pytest.approx(counted, rel=0.1)


def test_an_offload_takes_what_was_measured():
    lines = (DATA / "gvsoc_gap9.csv").read_text().splitlines()
    rows = csv.DictReader(line for line in lines if not line.startswith("#"))
    (warm,) = [row for row in rows if row["what"] == "offload of a task to the cluster warm"]
    assert warm["use"] == "fit"
    assert Gap9Timing(260e6).offload == pytest.approx(float(warm["gvsoc_cycles"]), rel=0.01)
