"""Layers of Whisper's encoder at their real sizes as MLIR-AIE, read back."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from match_aie.targets.aie_ml.graph.dense_plan import dense_layer
from match_aie.targets.aie_ml.graph.timed_plan import TimedPlan, timed_best
from match_aie.targets.aie_ml.known import device
from match_aie.targets.xdna.mlir import DIALECTS, kernels_of, read, text
from tests.unit.targets.xdna.test_by_stream import program_of

NPU1 = device("npu1")
NPU2 = device("npu2")
BENCHMARKS = Path(__file__).resolve().parents[4] / "benchmarks"

#: Of a host's program.
ARGS = "inputs", "constants", "outputs"

#: Layers of rows, and of how many parts a program's run has one.
ROWS = {"GELU 1": 20, "GELU 2": 12, "sum": 20, "norm": 12, "GELU": 20}


@pytest.fixture
def whisper(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import xdna_layers
    import xdna_overlay
    import xdna_whisper  # scripts, not the package's

    return xdna_whisper, xdna_overlay, xdna_layers


@pytest.mark.slow
@pytest.mark.parametrize("name", ROWS)
def test_layers_of_rows(whisper, name):
    script, overlays, layers = whisper
    kinds = layers.kinds(1.3, next(iter(overlays.candidates(NPU1))))
    (kind,) = (kind for kind in kinds if kind.name == name)
    program = script.best_of(replace(kind, runs=(ROWS[name],)), NPU1).program(NPU1, real=True)[1]
    for dialect in DIALECTS.values():
        assert read(text(program, NPU1, dialect), NPU1, kernels_of(program)) == program


@pytest.mark.slow
@pytest.mark.parametrize("size", [(512, 512), (512, 2048), (2048, 512)])
def test_dense_layers_with_the_fastest_mapping(whisper, size):
    """Each shape by a program of its own."""
    made = whisper[1].quantised(*size)
    layer = replace(dense_layer(made.workload), resident=False)
    plan = timed_best(layer, made.workload, "npu1", NPU1.columns)
    assert isinstance(plan, TimedPlan)
    program = program_of(plan, made.workload, dict(made.constants))
    for dialect in DIALECTS.values():
        assert read(text(program, NPU1, dialect), NPU1, kernels_of(program)) == program


@pytest.mark.slow
@pytest.mark.parametrize("chip", [NPU1, NPU2], ids=lambda chip: chip.name)
def test_dense_layers_by_one_configuration(whisper, chip):
    """All six of the encoder, on the whole array and on half of its columns."""
    script, overlays, layers = whisper
    columns = chip.columns // 2
    for array, every in (
        (chip, overlays.candidates(chip)),
        (
            replace(chip, columns=columns, shim_noc_columns=tuple(range(columns))),
            overlays.beside(chip),
        ),
    ):
        shared = next(iter(every))
        dense = {k.sequence: k for k in layers.kinds(1.3, shared) if k.shared is not None}
        programs = {
            name: script.best_of(kind, array).program(array, real=True)[1]
            for name, kind in dense.items()
        }
        module = overlays.configured_once(programs, array)
        assert module.count("runtime_sequence @") == len(overlays.SIZES)


@pytest.mark.slow
def test_dense_layers_in_bfloat16(whisper):
    """All six by one configuration; each shape by its fastest program."""
    import xdna_floats  # a script

    script, overlays, _ = whisper
    shared = next(iter(overlays.candidates(NPU1, "bf16")))
    programs = {
        kind.sequence: script.best_of(kind, NPU1).program(NPU1, real=True)[1]
        for kind in xdna_floats.kinds(shared)
        if kind.shared is not None
    }
    module = overlays.configured_once(programs, NPU1)
    assert module.count("runtime_sequence @") == len(overlays.SIZES)
    for kind in xdna_floats.kinds():
        if kind.name.startswith(("dense", "convolution")):
            program = script.best_of(kind, NPU1).program(NPU1, real=True)[1]
            assert read(text(program, NPU1), NPU1, kernels_of(program)) == program


@pytest.mark.slow
@pytest.mark.parametrize("chip", [NPU1, NPU2], ids=lambda chip: chip.name)
def test_dense_layers_beside_attention(monkeypatch, chip):
    """All six of the encoder, each alone and beside a quarter of attention, in one text."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import xdna_beside  # a script
    import xdna_groups

    _, _, one = next(each for each in xdna_groups.every(chip) if each[1] == 4)
    rows = dict.fromkeys(("GELU 1", "GELU 2", "sum", "norm", "GELU"), 0.2)
    times = replace(one.pieces_of(chip, rows), longest=6.0, abreast=100.0)
    chosen = xdna_beside.Chosen("", one, times, 16)
    module = xdna_beside.configured_once([chosen], chip)
    # Each once with a piece of attention; tasks of each alone and beside one; attention alone; the
    # largest dispatches, which have more rounds than a channel's queue has places.
    assert chosen.largest
    assert max(map(len, chosen.largest)) > 4
    assert module.count("runtime_sequence @") == 3 * len(one.dense) + 1 + len(chosen.largest)
    assert module.count("aie.core(") == chip.core_tiles


def test_rounds_of_a_dispatch_begin_in_the_order_of_their_data(monkeypatch):
    """No round is begun before another one's that is needed earlier; none shares its inputs."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import xdna_beside
    from xdna_context import Takes

    names = "into_heads", "into_heads", "of_heads", "attention", "attention"
    takes = {"into_heads": 3.0, "of_heads": 1.0, "attention": 3.4}
    every = {name: Takes(took, took, took, "", name) for name, took in takes.items()}
    dense = {"into_heads": SimpleNamespace(runs=3), "of_heads": SimpleNamespace(runs=1)}
    times = SimpleNamespace(dense=every, attention=every["attention"])
    chosen = SimpleNamespace(times=times, programs=SimpleNamespace(dense=dense))
    monkeypatch.setattr(
        xdna_beside, "host_arguments", lambda _: [SimpleNamespace(name=n, words=100) for n in ARGS]
    )
    found = xdna_beside.rounds_of(chosen, names, None, (frozenset("w"), frozenset("e")))
    west = [each for each in found if each.moved == frozenset("w")]
    east = [each for each in found if each.moved == frozenset("e")]
    # Milliseconds 0, 1, 2, 3 (and 3.4 of attention), 4, 5, 6.
    assert [found.index(each) for each in east] == [1, 5]
    assert [each.offset("inputs") for each in west] == [0, 0, 0, 100, 100, 100, 200]
    assert [each.offset("inputs") for each in east] == [300, 400]
    assert [each.offset("constants") for each in west] == list(range(0, 700, 100))
    assert len({each.offset("outputs") for each in west}) == len(west)
