"""Images that do not fit into L2 are made in bands of rows, a few layers at a time."""

import platform
import warnings

import numpy as np
import pytest
from pmsis_project import build, run

import match_aie as match
from match_aie.errors import InfeasibleError
from match_aie.lowering.streams import taken
from match_aie.targets.gap9 import GAP9
from tests.networks.image import tall
from tests.networks.quantised import unsigned

#: Bytes of L2: less than either network takes whole (36,000 and 39,000), and far less.
LESS, FAR_LESS = 28_000, 22_000
IMAGE = np.random.default_rng(1).integers(0, 256, (1, 3, 24, 24), np.uint8)


def compiled(which, bands=True, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = unsigned(tall(pooled=which == "pooled"), more=("MaxPool",))
        target = GAP9(**options)
        target.passes = target.passes[0 if bands else 1 :]
        return match.compile(model, target, integer_io=True, name="tall")


def space(net):
    return taken(net.program, net.target.build_profile().alignment)


@pytest.fixture(scope="module", params=["separable", "pooled"])
def whole(request):
    return request.param, compiled(request.param)


@pytest.fixture(scope="module")
def narrow(whole):
    return compiled(whole[0], l2_bytes=FAR_LESS)


def test_bands_give_the_same_bits_and_fit(whole, narrow, tmp_path):
    (_, wide), net = whole, narrow
    assert space(net) <= FAR_LESS
    # Bands are read and made where they lie: no code but that of the layers and the ends.
    assert len(net.program.schedule.functions) == len(wide.program.schedule.functions)
    want = wide.write(tmp_path / "whole").run({"x": IMAGE}, quick=True)
    got = net.write(tmp_path / "bands").run({"x": IMAGE}, quick=True)
    assert got.matches_reference
    assert got.layers_checked == len(net.program.schedule.layers)
    for name, array in want.outputs.items():
        np.testing.assert_array_equal(got.outputs[name], array)


@pytest.mark.skipif(platform.system() != "Linux", reason="programs below 4 GB are made for Linux")
def test_the_binding_to_the_sdk_computes_the_same(narrow, tmp_path):
    """With constants in the RAM behind L2, on the stand-in for PMSIS."""
    assert narrow.program.streams
    want = narrow.write(tmp_path / "net").run({"x": IMAGE}, quick=True).outputs.values()
    folder = narrow.write(tmp_path / "mocked").folder
    ran = run(build(folder, "mocked"), [IMAGE], list(want), flash=folder / "weights")
    assert (ran.status, ran.said) == (0, "")
    for got, wanted in zip(ran.outputs, want, strict=True):
        np.testing.assert_array_equal(got, wanted)


def test_less_room_means_more_bands_and_takes_longer(whole):
    which, wide = whole
    bands, cycles = [0], [wide.simulate().cycles]
    for room in (LESS, FAR_LESS):
        with pytest.raises(InfeasibleError):
            compiled(which, bands=False, l2_bytes=room)
        net = compiled(which, l2_bytes=room)
        assert space(net) <= room
        labels = [step.label for step in net.program.schedule.steps]
        bands.append(sum(" rows " in label for label in labels))
        cycles.append(net.simulate().cycles)
    assert bands == sorted(set(bands))
    assert cycles == sorted(cycles)


def test_what_no_bands_make_fit_is_refused_as_before(whole):
    """The image that layers read, once as it came and once in their order, is there whole."""
    which, _ = whole
    with pytest.raises(InfeasibleError, match="L2") as refused:
        compiled(which, l2_bytes=5000)
    assert "split or shrink the layer at the peak" in refused.value.reason.levers[1]
