"""Dense layers whose operands go by, as emitted C++: many graphs in one library, bit for bit."""

import ctypes
import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
from array_library import FASTEST, build

from match_aie.errors import Infeasible
from match_aie.targets.aie_ml import Tiling, device
from match_aie.targets.aie_ml.array import ArrayMapping
from match_aie.targets.aie_ml.array.works import works
from match_aie.targets.aie_ml.graph.carrying import carrying
from match_aie.targets.aie_ml.graph.constants import Numbers
from match_aie.targets.aie_ml.graph.dense_plan import dense_layer
from match_aie.targets.aie_ml.graph.spread_plan import plan_of_pass, spread_plans
from match_aie.targets.aie_ml.graph.timed_graph import TimedGraph
from match_aie.targets.aie_ml.graph.write import pack
from match_aie.workload import reference
from tests.aie_layers import random_inputs
from tests.aie_timed import float_layer, layer, random_graph, timed_graph
from tests.kernel_counts import kernel_counts

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler")
VEK280 = device("vek280")


def known_layers():
    """What every way of walking needs, once: (workload, constants, TimedGraph)."""
    rng = np.random.default_rng(0)
    cases = (
        # Rows in passes, calls along rows and columns, turns of a chain of two tiles.
        (layer(rng, 37, 100, 61, ("uint8", "int8"), "channel", 3), 19, (2, 2, 2), (1, 1), 3, {}),
        # A single row: activations stay, weights go by, a single way for both parts.
        (layer(rng, 1, 130, 75), 1, (2, 2, 1), (1, 2), 1, {"feeds": 1}),
        # Rows go by while weights stay for a call; 16 bits.
        (layer(rng, 24, 48, 40, ("int16", "int8")), 24, (1, 1, 2), (1, 2), 1, {"order": "n"}),
        # Weights stay in the tiles, rows come in passes.
        (layer(rng, 50, 70, 33), 12, (2, 2, 1), (1, 3), 2, {"home": "tile"}),
        # Products of 32-bit integers, sums of 64 bits on the cascade and 32 between turns.
        (layer(rng, 18, 50, 21, ("int32", "int32")), 9, (2, 1, 1), (1, 2), 2, {}),
        # Floats: the order of sums goes through turns and along a chain.
        (float_layer(rng, 22, 70, 37), 11, (3, 2, 1), (1, 2), 2, {}),
        # Activations of a pass in two parts, which the emulation has as one.
        (layer(rng, 21, 128, 40), 8, (1, 2, 1), (2, 1), 4, {"cut": 2}),
        # Weights past memory tiles, to the tiles of two chains; sums of floats start from zero.
        (float_layer(rng, 24, 70, 37, bias=False), 8, (2, 1, 2), (1, 2), 2, {"direct": True}),
    )
    found = []
    for number, (made, rows, parts, calls, turns, more) in enumerate(cases):
        graph = timed_graph(f"layer{number}", made, rows, parts, calls, turns, **more)
        assert graph is not None, number
        found.append((*made, graph))
    return found


def run_all(layers, folder, compiler=FASTEST):
    """Every layer's emulated results equal its reference, run after run."""
    graphs = [(workload, constants, made.graph) for workload, constants, made in layers]
    library = build(graphs, folder, compiler)
    for number, (workload, constants, graph) in enumerate(graphs):
        packed = pack(graph, workload).constants
        for turn in range(2):
            inputs = random_inputs(workload, np.random.default_rng(number + 100 * turn))
            arrays = [inputs.get(o.name, packed.get(o.name)) for o in workload.operands[:-1]]
            y = np.zeros(workload.output.shape, workload.output.dtype)
            call = getattr(library, f"{graph.name}_array")
            call(*(array.ctypes.data_as(ctypes.c_void_p) for array in (*arrays, y)))
            wanted = reference(workload, [inputs[o.name] for o in workload.inputs], constants)
            np.testing.assert_array_equal(y, wanted)
            assert np.unique(y).size > min(y.size, 10) // 2
    return library, graphs


def counted(graphs, runs):
    """Operations of every core by its place, from the kernels of its calls, one after another."""
    found, column = {}, 0
    for _, _, graph in graphs:
        for kernel in graph.kernels:
            nest = kernel.call
            first, *_, last = (nest.kernels * 3)[:3] if len(nest.kernels) == 1 else nest.kernels
            between = [nest.kernels[1]] * (nest.k_tiles - 2) if nest.k_tiles > 2 else []
            turns = [first] if nest.k_tiles == 1 else [first, *between, last]
            calls = kernel.firings * runs * nest.m_tiles * nest.n_tiles
            assert len(works(kernel, VEK280.architecture)) * runs == calls * len(turns)
            total: dict[str, int] = {}
            for spec in turns:
                counts = kernel_counts(spec, VEK280.architecture.core)
                for name, value in vars(counts).items():
                    total[name] = total.get(name, 0) + calls * value
            found[column + kernel.place[0], kernel.place[1]] = total
        column += graph.columns
    return found


@pytest.mark.slow
def test_operands_that_go_by(tmp_path, monkeypatch) -> None:
    """Bit for bit; what cores did is what the kernels' schedules hold, operation for operation."""
    monkeypatch.setenv("AIE_EMULATION_COUNTERS", str(tmp_path / "counters.json"))
    library, graphs = run_all(known_layers(), tmp_path)
    library.end_all()
    wanted = counted(graphs, runs=2)
    rows = json.loads((tmp_path / "counters.json").read_text())
    assert {(row["column"], row["row"]) for row in rows} == set(wanted)
    for row in rows:
        expected = wanted[row["column"], row["row"]]
        assert {name: row[name] for name in expected} == expected


@pytest.mark.slow
@pytest.mark.parametrize(("compiler", "seed"), [("g++", 1), ("g++", 2), ("clang++", 3)])
def test_random_layers(tmp_path, compiler, seed) -> None:
    """40 random layers and mappings in few translation units."""
    if shutil.which(compiler) is None:
        pytest.skip(f"not installed: {compiler}")
    rng, layers = np.random.default_rng(seed), []
    while len(layers) < 40:
        made = random_graph(f"layer{len(layers)}", rng)
        if made is not None:
            layers.append(made)
    run_all(layers, tmp_path, compiler)


def test_a_layer_fed_by_streams(tmp_path) -> None:
    """Programmable logic is the host here; two runs, so that nothing is left of the first."""
    made = layer(np.random.default_rng(3), 24, 64, 40)
    assert made is not None
    workload, constants = made
    plans = spread_plans(dense_layer(workload), workload, "vek280", 2, "latency")
    assert not isinstance(plans, Infeasible)
    timed = plans[-1].timed
    assert timed.memory == "plio"
    graph = TimedGraph("streams", timed, Numbers(timed, workload, constants))
    library, _ = run_all([(workload, constants, graph)], tmp_path)
    library.end_all()


def test_calls_that_go_on_one_into_the_next(tmp_path, monkeypatch) -> None:
    """Three tiles of a chain whose words come in two groups; the same operations as ever."""
    monkeypatch.setenv("AIE_EMULATION_COUNTERS", str(tmp_path / "counters.json"))
    made = layer(np.random.default_rng(4), 48, 552, 32)
    assert made is not None
    workload, constants = made
    part = replace(dense_layer(workload), rows=16)
    tiling = Tiling(4, 8, 8, native=True)
    mapping = ArrayMapping(part, tiling, (2, 2), "flat", 3, 1, 1, 16, 32)
    plan = plan_of_pass(mapping, 48, "vek280")
    assert plan is not None
    assert carrying(plan.timed) is not None
    timed = replace(plan.timed, carries=True)
    graph = TimedGraph("on", timed, Numbers(timed, workload, constants))
    middle = graph.nests[1].kernels[0]
    assert middle.carries
    assert middle.shares[0] == ((0,), (), (1,), (), (), (), (), (), (2,), (), (3,))
    library, graphs = run_all([(workload, constants, graph)], tmp_path)
    library.end_all()
    rows = json.loads((tmp_path / "counters.json").read_text())
    for row in rows:
        (kernel,) = (k for k in graphs[0][2].kernels if k.place == (row["column"], row["row"]))
        once = kernel_counts(kernel.call.kernels[0], VEK280.architecture.core)
        assert {n: row[n] for n in vars(once)} == {n: 6 * each for n, each in vars(once).items()}
