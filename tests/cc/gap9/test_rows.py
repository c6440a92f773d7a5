"""Images that do not fit into L2 are made in bands of rows, a few layers at a time."""

import warnings

import numpy as np
import pytest

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


def test_bands_give_the_same_bits_and_fit(whole, tmp_path):
    which, wide = whole
    net = compiled(which, l2_bytes=FAR_LESS)
    assert space(net) <= FAR_LESS
    # Bands are read and made where they lie: no code but that of the layers and the ends.
    assert len(net.program.schedule.functions) == len(wide.program.schedule.functions)
    want = wide.write(tmp_path / "whole").run({"x": IMAGE}, quick=True)
    got = net.write(tmp_path / "bands").run({"x": IMAGE})
    assert got.matches_reference
    assert got.layers_checked == len(net.program.schedule.layers)
    for name, array in want.outputs.items():
        np.testing.assert_array_equal(got.outputs[name], array)


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
