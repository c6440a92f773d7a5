"""Two branches on NE16 and the cluster at the same time: C, simulator and memories agree."""

import json
import re
import warnings
from itertools import combinations

import numpy as np
import pytest
from gap9_lanes import lanes_of
from pmsis_project import STAND_IN, build, build_emulated, run

import match_aie as match
from match_aie.lowering import kept_after
from match_aie.lowering.lanes import members
from match_aie.targets.gap9 import GAP9
from tests.cc.gap9.test_handover import taken, tile_programs
from tests.networks import network
from tests.networks.graph import Graph
from tests.networks.quantised import unsigned

IMAGE = np.random.default_rng(3).integers(0, 256, (1, 32, 12, 12)).astype(np.uint8)


def compiled(**options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return match.compile(network("branches_u8.onnx"), GAP9(**options), integer_io=True)


@pytest.fixture(scope="module")
def nets():
    return {on: compiled(beside=on) for on in (False, True)}


@pytest.fixture(scope="module")
def whole(nets, tmp_path_factory):
    """The project's folder, and its outputs in emulation."""
    project = nets[True].write(tmp_path_factory.mktemp("beside") / "net")
    result = project.run(IMAGE, quick=True)
    assert result.matches_reference
    return project.folder, list(result.outputs.values())


@pytest.fixture(scope="module")
def folder(whole, tmp_path_factory):
    """A copy that may be changed."""
    made = tmp_path_factory.mktemp("changed")
    for path in whole[0].rglob("*"):
        if path.is_file() and "build" not in path.parts[len(whole[0].parts) :]:
            to = made / path.relative_to(whole[0])
            to.parent.mkdir(parents=True, exist_ok=True)
            to.write_bytes(path.read_bytes())
    return made


def overlap(timeline, one, other):
    """Cycles in which both units work on kernels."""
    spans = {
        unit: [(e.start, e.end) for e in timeline.events if (e.resource, e.category) == unit]
        for unit in ((one, "kernel"), (other, "kernel"))
    }
    first, second = spans.values()
    return sum(max(0.0, min(a[1], b[1]) - max(a[0], b[0])) for a in first for b in second)


def test_two_branches_are_faster_together(nets):
    """Cycles to the last integer tensor; the cluster's branch is the shorter one by far.

    What takes no longer than it did: both engines than on 2026-11-26, one than with the depthwise
    kernel of the day after. Branches of one length are held to 1.4 in `test_any_banks.py`.
    """
    runs = {on: net.simulate() for on, net in nets.items()}
    assert not nets[False].program.schedule.beside
    assert overlap(runs[False].timeline, "NE16", "cluster") == 0
    assert overlap(runs[True].timeline, "NE16", "cluster") > 0.3 * runs[True].cycles
    assert {step.module for step in runs[True].steps[-3:]} == {"core"}  # floats
    one, both = (sum(step.cycles for step in runs[on].steps[:-3]) for on in (False, True))
    assert both <= 0.457e-3 * runs[True].frequency_hz
    assert one <= 0.596e-3 * runs[False].frequency_hz
    assert one >= 1.3 * both


def test_the_model_knows_it(nets):
    runs = {on: net.simulate(record=False) for on, net in nets.items()}
    cost = {on: sum(step.predicted for step in run.steps) for on, run in runs.items()}
    assert cost[True] < cost[False]
    assert sum(step.cycles for step in runs[True].steps) == pytest.approx(runs[True].cycles)


def test_what_runs_at_the_same_time_lies_apart(nets):
    schedule = nets[True].program.schedule
    programs, kept = tile_programs(nets[True]), kept_after(schedule)
    both = [
        (pair, one, other)
        for pair in schedule.beside
        for one, other in combinations(pair.steps, 2)
        if pair.span(one)[1] >= pair.span(other)[0]
    ]
    assert len(both) > len(schedule.beside)
    for pair, *at in both:
        one, other = (programs[step] for step in at)
        assert one.beside
        assert other.beside
        shared = {o.offset for o in one.operands} & {o.offset for o in other.operands}
        there = {*taken(one), *taken(other)}
        there = {(a, b, name if a in shared else (name, a)) for a, b, name in there}
        known = {first for first, _, _ in there}
        if at[1] == pair.end - 1:
            there |= {(o, o + n, "kept") for o, n in kept.get(at[1], ()) if o not in known}
        for a, b in combinations({(first, end) for first, end, _ in there}, 2):
            assert a[1] <= b[0] or b[1] <= a[0], (pair, a, b)


@pytest.mark.parametrize("flag", ["-DMA_FORK_EARLY", "-DMA_REVERSE_CORES", "-DNOTHING"])
def test_the_same_bits_whenever_a_kernel_runs(whole, folder, flag):
    ran = run(build_emulated(folder, flag), [IMAGE], whole[1])
    assert (ran.status, ran.said) == (0, "")
    for got, want in zip(ran.outputs, whole[1], strict=True):
        np.testing.assert_array_equal(got, want)


def test_simulator_and_c_do_the_same_in_the_same_order(nets, whole, folder):
    ran = run(build_emulated(folder, "-DMA_BESIDE_TRACE"), [IMAGE], whole[1])
    in_c = re.findall(r"lane (\d): (\w+)", ran.said)
    assert len(in_c) == len(ran.said.splitlines())
    run_steps = nets[True].simulate()
    lanes = lanes_of(nets[True])
    events = [e.name for e in run_steps.timeline.events if e.category == "beside"]
    simulated = [(lanes[name.split(" ", 1)[1]], name.split(" ", 1)[0]) for name in events]
    assert simulated == in_c
    assert {"open", "start", "end", "close"} <= {what for _, what in in_c}


def changed(folder, pattern, text):
    """The network's C with the first match of `pattern` replaced; and how it was."""
    (source,) = (path for path in (folder / "src").glob("*.c") if not path.match("*_main.c"))
    good = source.read_text()
    bad, count = re.subn(pattern, text, good, count=1)
    assert count == 1
    source.write_text(bad)
    return source, good


WRONG = {
    # The cluster's layer is never left: its kernel is not waited for, its result stays behind.
    "no wait": (r"ma_lane_close\(&lane\[0\]\);", ""),
    # Nor is NE16's.
    "no wait for NE16": (r"ma_lane_close\(&lane\[1\]\);", ""),
    # Operands may be on their way when the kernel starts.
    "no arrival": (r"ma_tile_arrive\(t\);\n(\s+return ma_fork_start)", r"\1"),
}


@pytest.mark.parametrize("early", [True, False])
@pytest.mark.parametrize("wrong", WRONG)
def test_a_wait_that_is_missing_is_seen(whole, folder, wrong, early):
    """Whether the kernel runs as early or as late as it may, or as only one of them shows."""
    source, good = changed(folder, *WRONG[wrong])
    try:
        flags = ["-DMA_FORK_EARLY"] if early else []
        ran = run(build_emulated(folder, *flags), [IMAGE], whole[1])
    finally:
        source.write_text(good)
    assert ran.status == 70, ran.said


def test_a_kernel_that_is_stored_before_its_end_is_seen(whole, folder):
    """Of the last one: one before another would be waited for when that is started."""
    last = r"(?s)(.*)_start, ma_fork_wait, NULL"
    source, good = changed(folder, last, r"\1_start, ignored, NULL")
    try:
        text = source.read_text()
        at = text.index("static uint32_t ")
        source.write_text(
            text[:at] + "static void ignored(uint32_t ticket) { (void)ticket; }\n" + text[at:]
        )
        ran = run(build_emulated(folder), [IMAGE], whole[1])
    finally:
        source.write_text(good)
    assert ran.status == 70
    assert "nobody waited for kernel" in ran.said


@pytest.mark.parametrize("controller", [8, 0])
def test_the_binding_computes_what_emulation_computes(whole, folder, controller):
    """Workers are threads; the controller is a core behind them, or the first of them."""
    program = build(folder, f"mocked{controller}", STAND_IN, [f"-DCONTROLLER={controller}"])
    for _ in range(2):
        ran = run(program, [IMAGE], whole[1])
        assert (ran.status, ran.said) == (0, "")
        for got, want in zip(ran.outputs, whole[1], strict=True):
            np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("lane", [0, 1])
def test_a_layer_that_fails_on_either_unit_is_an_error(nets, whole, folder, lane):
    """The other one is joined: the network ends, with its code and the sentence."""
    pair = nets[True].program.schedule.beside[0]
    layer = nets[True].program.schedule.steps[pair.step + lane].layer
    entry = r"(static void " + layer.symbol + r"\([^{]*\{)"
    source, good = changed(folder, entry, r'\1 ma_fail("the layer cannot");')
    try:
        emulated = build_emulated(folder)
        mocked = build(folder, f"failing{lane}", [f"src/{source.name}"])
    finally:
        source.write_text(good)
    for program, status in ((emulated, 70), (mocked, 1)):
        ran = run(program, [IMAGE], whole[1])
        assert (ran.status, ran.said) == (status, "the layer cannot")


def test_ne16_that_hangs_beside_the_cluster_is_an_error(whole, folder):
    program = build(folder, "mocked")
    ran = run(program, [IMAGE], whole[1], fail="ne16")
    assert ran.status == 1
    assert "NE16 does not answer" in ran.said


def test_the_manifest_says_who_runs_beside_whom(nets, whole):
    document = json.loads((whole[0] / "match_aie.json").read_text())
    assert [pair["step"] for pair in document["beside"]] == [
        pair.step for pair in nets[True].program.schedule.beside
    ]


def test_without_a_common_memory_nothing_runs_beside(nets):
    del nets
    assert not compiled(handover=False).program.schedule.beside


def pooled():
    """A 3x3 convolution beside a pool (5x5), whose result is pooled again; joined: uint8."""
    graph = Graph(21)
    weight = graph.normal(64, 16, 3, 3, deviation=0.1)
    padded = {"kernel_shape": [5, 5], "pads": [2] * 4}
    one = graph.add("Relu", graph.add("Conv", "x", weight, pads=[1] * 4))
    other = graph.add("MaxPool", graph.add("AveragePool", "x", **padded), **padded)
    joined = graph.add("Concat", one, other, axis=1)
    last = graph.normal(32, 80, 1, 1, deviation=0.1)
    y = graph.add("Relu", graph.add("Conv", joined, last))
    return unsigned(graph.model("pooled", {"x": (1, 16, 8, 8)}, {y: (1, 32, 8, 8)}))


def test_layers_without_channels_of_their_own_run_beside_others(tmp_path):
    """Kinds of layers have different dimensions: a pool has none of output channels."""
    model, chip = pooled().SerializeToString(), GAP9(banks="priority")  # with GVSoC's it loses
    net = match.compile(model, chip, integer_io=True, cache=False)
    steps = net.program.schedule.steps
    (pair,) = net.program.schedule.beside
    kinds = {steps[pair.step + lane].layer.workload.kind for lane in (0, 1)}
    assert "conv2d" in kinds
    assert len(kinds) == 2
    assert net.write(tmp_path / "net").run(IMAGE[:, :16, :8, :8], quick=True).matches_reference


@pytest.mark.slow
def test_a_pair_that_does_not_fit_leaves_the_other(nets):
    """Both at once take more than 64,000 bytes of L1: what gains less is given up."""
    small = {on: compiled(beside=on, l1_bytes=64_000) for on in (False, True)}
    steps = {net: len(members(net.program.schedule.beside)) for net in (nets[True], small[True])}
    assert list(steps.values()) == [4, 2]
    assert small[True].simulate().cycles < 0.9 * small[False].simulate().cycles


@pytest.mark.slow
def test_where_both_do_not_fit_they_run_one_after_the_other(tmp_path):
    net = compiled(l1_bytes=12 << 10)
    assert net.write(tmp_path / "net").run(IMAGE, quick=True).matches_reference


def test_the_options_make_an_equal_target():
    for beside in (True, False):
        target = GAP9(beside=beside)
        assert GAP9(**target.options()).options() == target.options()
