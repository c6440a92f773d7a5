"""Constants that do not fit into L2 come from L3 while the step before their layer runs."""

import warnings

import numpy as np
import pytest

import match_aie as match
from match_aie.demo import digits, digits_model
from match_aie.errors import MatchError
from match_aie.lowering.streams import taken
from match_aie.targets.gap9 import GAP9


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
    got, want = net.write(tmp_path / "a").run(image), alone.write(tmp_path / "b").run(image)
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


def test_too_little_l2_is_refused_by_name():
    with pytest.raises(MatchError, match="L2"):
        compiled(l2_bytes=1024)


def test_no_l2_is_refused():
    with pytest.raises(MatchError, match="bytes of L2"):
        GAP9(l2_bytes=0)
