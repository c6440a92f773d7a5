"""Constants that do not fit into L2 come from L3 while the step before their layer runs."""

import warnings

import numpy as np
import pytest

import match_aie as match
from match_aie.demo import digits, digits_model
from match_aie.errors import Infeasible, InfeasibleError, MatchError
from match_aie.hardware import Storage
from match_aie.lowering.streams import store, taken
from match_aie.targets.gap9 import GAP9
from tests.networks.image import autoencoder, wide_filters
from tests.networks.quantised import unsigned


def compiled(**options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return match.compile(digits_model(), GAP9(**options))


@pytest.fixture(scope="module")
def whole():
    return compiled()


@pytest.fixture(scope="module")
def least(whole):
    """Bytes of L2 for which some constants, not all, are streamed."""
    return taken(whole.program, whole.target.build_profile().alignment) - 1000


@pytest.fixture(scope="module")
def streamed(least):
    return compiled(l2_bytes=least)


def test_nothing_is_streamed_where_all_fits(whole):
    assert whole.program.streams == ()
    assert whole.target.options()["l2_bytes"] == 1_214_464


def test_streamed_constants_give_the_same_bits(whole, streamed, least, tmp_path, of_the_run):
    net = streamed
    assert 1 < len(net.program.streams) < len(net.program.schedule.layers)
    assert taken(net.program, net.target.build_profile().alignment) <= least
    project = net.write(tmp_path / "streamed")
    streams = project.manifest["streams"]
    assert [stream["step"] for stream in streams] == [s.step for s in net.program.streams]
    image = digits().images[:1]
    apart = whole.write(of_the_run / "gap9_digits", overwrite=True)
    got, want = project.run(image, quick=True), apart.run(image, quick=True)
    assert got.matches_reference
    for name, array in want.outputs.items():
        np.testing.assert_array_equal(got.outputs[name], array)


#: Four dense layers of 16,384 weights each: two at a time in L2, one, a part of one.
ROOMS = {"early": 40_000, "late": 20_000, "parts": 12_000}


def coder(**options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = unsigned(autoencoder((128,) * 5))
        return match.compile(model, GAP9(**options), integer_io=True, name="coder")


@pytest.mark.parametrize("room", ROOMS)
def test_neighbours_come_late_and_large_layers_in_parts(room, tmp_path):
    net = coder(l2_bytes=ROOMS[room])
    assert taken(net.program, net.target.build_profile().alignment) <= ROOMS[room]
    late = [stream.late for stream in net.program.streams]
    assert any(late) == (room == "late")
    assert len(net.program.schedule.layers) == (4 * 4 if room == "parts" else 4)
    assert not net.program.schedule.functions  # parts of a row lie where they belong
    project = net.write(tmp_path / "net")
    assert [stream["late"] for stream in project.manifest["streams"]] == late
    rng = np.random.default_rng(1)
    result = project.run({"x": rng.integers(0, 256, (1, 128), np.uint8)}, quick=True)
    assert result.matches_reference
    assert result.layers_checked == len(net.program.schedule.layers)


def test_late_fetches_are_simulated_when_nothing_runs():
    """And the same constants earlier take less time, as in the emitted code's order."""
    late, early = (coder(l2_bytes=ROOMS[room]) for room in ("late", "early"))
    assert late.simulate().cycles > early.simulate().cycles
    events = late.simulate().timeline.events
    fetched = [e for e in events if e.resource == "backing memory"]
    units = [e for e in events if e.category == "kernel"]
    assert len(fetched) == len(late.program.streams) > 2
    assert not any(e.start < f.end and f.start < e.end for e in units for f in fetched)


def test_parts_of_an_image_are_copied_together(tmp_path):
    """A convolution of 100 channels, 43,200 weights; weights of a part at a time in L2."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = unsigned(wide_filters())
        net = match.compile(model, GAP9(l2_bytes=30_000), integer_io=True, name="filters")
    labels = [step.label for step in net.program.schedule.steps]
    parts = [label for label in labels if " channels " in label]
    assert len(parts) > 1
    assert parts[-1].endswith(" to 99")
    rng = np.random.default_rng(1)
    result = net.write(tmp_path / "net").run(
        {"x": rng.integers(0, 256, (1, 48, 6, 6), np.uint8)}, quick=True
    )
    assert result.matches_reference


@pytest.mark.slow
def test_constants_of_the_fallback_are_streamed_too(tmp_path):
    """What the control core runs itself: weights of 32 bits."""
    alone = compiled(modules=())
    bound = taken(alone.program, alone.target.build_profile().alignment) - 1000
    net = compiled(modules=(), l2_bytes=bound)
    steps = [net.program.schedule.steps[stream.step] for stream in net.program.streams]
    assert steps
    assert all(step.layer is None for step in steps)
    image = digits().images[:1]
    got = net.write(tmp_path / "a").run(image, quick=True)
    want = alone.write(tmp_path / "b").run(image, quick=True)
    for name, array in want.outputs.items():
        np.testing.assert_array_equal(got.outputs[name], array)
    assert net.simulate().cycles > alone.simulate().cycles


def test_every_fetch_is_simulated(whole, streamed):
    net = streamed
    events = [e for e in net.simulate().timeline.events if e.resource == "backing memory"]
    assert len(events) == len(net.program.streams)
    nbytes = sum(stream.nbytes for stream in net.program.streams)
    assert sum(e.end - e.start for e in events) == pytest.approx(nbytes)
    assert net.simulate().cycles > whole.simulate().cycles


def test_too_little_l2_is_refused_with_what_lies_there_and_the_option():
    with pytest.raises(InfeasibleError, match="L2") as refused:
        compiled(l2_bytes=1024)
    reason = refused.value.reason
    assert reason.levers[0] == f"raise l2_bytes to {reason.demand} bytes or more"
    assert "split or shrink the layer at the peak (down)" in reason.levers
    rows = dict(reason.breakdown)
    assert {"constants of down", "stem_quantize", "inputs and outputs"} <= set(rows)
    assert sum(rows.values()) == reason.demand
    assert compiled(l2_bytes=reason.demand).program.streams
    # With less, layers are in parts: until images alone are too large.
    less = compiled(l2_bytes=reason.demand * 2 // 3)
    assert any(" channels " in step.label for step in less.program.schedule.steps)
    images = rows["stem_quantize"] + rows["down_quantize"] + rows["inputs and outputs"]
    with pytest.raises(InfeasibleError):
        compiled(l2_bytes=int(images) - 1)


def test_more_than_the_chip_has_is_no_lever():
    schedule = compiled().program.schedule
    refused = store(schedule, Storage("L2", 1024, "L3", "l2_bytes", 2048))
    assert isinstance(refused, Infeasible)
    assert not any("l2_bytes" in lever for lever in refused.levers)


def test_no_l2_is_refused():
    with pytest.raises(MatchError, match="bytes of L2"):
        GAP9(l2_bytes=0)
