"""The array simulator: figures that can be worked out by hand, and those that are promised."""

import json
from dataclasses import replace

import pytest

from match_aie.errors import Infeasible, InfeasibleError, TargetError
from match_aie.targets.aie_ml import Tiling, device
from match_aie.targets.aie_ml.array import ArrayMapping, Assumed, DenseLayer, price
from match_aie.targets.aie_ml.graph.given import find, priced_of
from match_aie.targets.aie_ml.schedule import schedule_call
from match_aie.targets.aie_ml.simulate import simulate

VEK280 = device("vek280")
I8 = Tiling(4, 8, 8, True)
ONE = ArrayMapping(DenseLayer(512, 128, 128), I8, (2, 2), "overlapped", 1, 1, 1, 32, 128)


def test_one_tile_takes_its_calls() -> None:
    """Started once, 40 + 10 a port; a lock each to take (8) and to give (4), and the schedule."""
    result = simulate(ONE, VEK280)
    body = schedule_call(ONE.kernel(0), VEK280.architecture, 32, 128, 128).body
    assert result.steady
    assert result.interval == 16 * (body + 2 * (8 + 4)) + 40 + 2 * 10
    assert result.busy[0, 3] > 0.9


def test_a_narrow_layer_waits_for_its_stream() -> None:
    narrow = replace(ONE, layer=DenseLayer(512, 128, 8), call_columns=8, block=(2, 1))
    result = simulate(narrow, VEK280)
    assert result.interval == 16 * (8 + 32 * 128 / 4)


def test_a_chain_is_as_fast_as_its_slowest_tile() -> None:
    layer = DenseLayer(512, 512, 128)
    chain = ArrayMapping(layer, I8, (2, 2), "flat", 4, 1, 1, 32, 128)
    result = simulate(chain, VEK280)
    last = schedule_call(chain.kernel(3), VEK280.architecture, 32, 128, 128).body
    alone = 16 * (last + 2 * (8 + 4)) + 40 + 2 * 10
    assert alone < result.interval < 1.01 * alone
    assert result.latency > simulate(replace(ONE, variant="flat"), VEK280).latency
    slower = simulate(chain, VEK280, assumed=replace(Assumed(), cascade=200))
    assert slower.latency > result.latency


@pytest.mark.slow
def test_mappings_of_the_whole_array_are_timed() -> None:
    found = find(DenseLayer(512, 896, 576), VEK280)
    assert not isinstance(found, Infeasible)
    result = simulate(found[0].mapping, VEK280)
    assert result.steady
    least = 512 * 896 * 576 / (256 * found[0].mapping.tiles)
    assert least < result.interval < 1.2 * least
    assert result.efficiency == pytest.approx(result.tops / 194.56)


@pytest.mark.parametrize("rows", [1, pytest.param(8, marks=pytest.mark.slow)])
def test_a_layer_grows_over_the_array(rows: int) -> None:
    def grown(length: int, above: int) -> float:
        layer = DenseLayer(1024, 128 * length, 128 * above)
        mapping = ArrayMapping(layer, I8, (2, 2), "flat", length, above, 1, 32, 128)
        return simulate(mapping, VEK280).tops / (length * above)

    assert grown(37, rows) >= 0.97 * grown(1, 1)


def test_published_mappings_can_be_simulated() -> None:
    """AIE4ML's epilogue costs what the calibration file says: 520 of 613 GOPS."""
    theirs = replace(ONE, variant="exposed")
    ratio = simulate(theirs, VEK280).tops / simulate(ONE, VEK280).tops
    assert 0.78 < ratio < 0.88


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(InfeasibleError, match="memory banks of a tile"):
        simulate(replace(ONE, call_rows=256), VEK280)


def test_streamed_weights_run() -> None:
    layer = DenseLayer(64, 256, 256)
    mapping = ArrayMapping(layer, I8, (2, 2), "overlapped", 2, 4, 1, 16, 32, home="chip")
    result = simulate(mapping, VEK280)
    priced = price(mapping, VEK280, Assumed())
    assert not isinstance(priced, Infeasible)
    assert result.interval == pytest.approx(priced.cost.interval, rel=0.25)


@pytest.mark.parametrize(
    ("ways", "rows", "columns", "bound"),
    [(112, 64, 1024, "compute"), (6, 32, 1024, "way of weights"), (4, 64, 256, "way of weights")],
)
def test_what_a_program_shares_is_modelled(ways: int, rows: int, columns: int, bound: str) -> None:
    """Few ways bring several columns' weights in turn; activations held once are filled apart."""
    few = replace(VEK280, plio_in=ways)
    layer = DenseLayer(rows, 256, columns)
    mapping = ArrayMapping(layer, I8, (2, 2), "overlapped", 2, 4, 1, 16, 32, home="chip")
    priced, alone = priced_of(mapping, few), price(mapping, few, Assumed())
    assert not isinstance(priced, Infeasible)
    assert not isinstance(alone, Infeasible)
    result = simulate(mapping, few)
    assert result.interval == pytest.approx(priced.cost.interval, rel=0.02)
    assert priced.cost.bound == bound
    assert alone.cost.interval < 0.92 * priced.cost.interval


def test_a_nest_that_no_graph_has_is_refused() -> None:
    mapping = ArrayMapping(
        DenseLayer(64, 256, 256), I8, (2, 2), "overlapped", 2, 4, 1, 16, 32, home="chip"
    )
    with pytest.raises(InfeasibleError, match="a graph of such a nest"):
        simulate(replace(mapping, outer="m"), VEK280)


def test_a_call_in_turns_starts_once_and_takes_its_inputs_every_turn() -> None:
    """Start 40 + 10 a port; of three ports, results wait for the last turn."""
    layer = DenseLayer(64, 512, 32)
    mapping = ArrayMapping(
        layer, I8, (4, 1), "overlapped", 1, 1, 1, 64, 32, home="chip", reduction_steps=4
    )
    result = simulate(mapping, VEK280)
    bodies = [schedule_call(k, VEK280.architecture, 64, 128, 32).body for k in mapping.kernels(0)]
    stream = 4 * (8 + 64 * 128 / 4)
    assert result.interval == max(sum(bodies) + 40 + 3 * 22 + 3 * 2 * 12, stream)
    chain = replace(mapping, layer=replace(layer, reduction=1536), cas_length=3)
    for one in (mapping, chain):
        priced = price(one, VEK280, Assumed())
        assert not isinstance(priced, Infeasible)
        assert simulate(one, VEK280).interval == pytest.approx(priced.cost.interval, rel=0.03)


def test_more_overhead_is_never_faster_and_runs_repeat() -> None:
    found = [simulate(ONE, VEK280, assumed=Assumed().scaled(f)).interval for f in (0.5, 1, 2, 4)]
    assert found == sorted(found)
    assert found[0] < found[-1]
    assert simulate(ONE, VEK280) == simulate(ONE, VEK280)


def test_the_trace_shows_calls_transfers_and_stalls() -> None:
    result = simulate(ONE, VEK280, trace=True)
    assert result.timeline is not None
    assert {"kernel", "dma"} <= {event.category for event in result.timeline.events}
    trace = json.loads(result.timeline.to_trace_json(VEK280.clock_ghz * 1e9))
    assert any(row["name"] == "call" for row in trace["traceEvents"])


def test_slow_memory_outside_is_seen() -> None:
    npu1 = replace(device("npu1"), shim_noc_columns=None)
    layer = DenseLayer(128, 512, 512)
    mapping = ArrayMapping(layer, I8, (2, 2), "overlapped", 4, 4, 1, 32, 128, home="chip")
    with pytest.raises(TargetError, match="columns with a DMA to memory of npu1 is not known"):
        simulate(mapping, npu1)
    priced = price(mapping, npu1, Assumed())
    assert not isinstance(priced, Infeasible)
    assert priced.cost.bound == "way in"
