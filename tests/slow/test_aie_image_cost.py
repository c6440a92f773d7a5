"""The cost model of image layers against the simulator of the array, which share no code."""

import random

import numpy as np
import pytest

from match_aie.errors import Infeasible, TargetError
from match_aie.targets.aie_ml import device
from match_aie.targets.aie_ml.array.assumed import Assumed
from match_aie.targets.aie_ml.array.layout import lay_out
from match_aie.targets.aie_ml.graph.borders import borders
from match_aie.targets.aie_ml.graph.choose import cuts, price_image, runs
from match_aie.targets.aie_ml.graph.cut_plan import share
from match_aie.targets.aie_ml.graph.fit import fits_local, image_demand
from match_aie.targets.aie_ml.graph.layers import image_layer
from match_aie.targets.aie_ml.graph.window import window_graph
from match_aie.targets.aie_ml.kernels.arithmetic import in_fixed_point
from match_aie.targets.aie_ml.simulate.layer import simulate_program
from match_aie.workload import Quantized, Window, conv2d, full_range, pool2d
from tests.aie_layers import constants_of

pytestmark = pytest.mark.slow

V, SHARE = device("vek280"), share("vek280", 1)
X, TAIL = Quantized("uint8", 0.1, 3), full_range("uint8", 3)
SAME, HALVED = Window(padding=(1, 1, 1, 1)), Window((2, 2), padding=(0, 0, 1, 1))


def conv(size, channels, outputs, filter_, window, groups=1):
    weights = (outputs, *filter_, channels // groups)
    more = {"window": window, "groups": groups, "scales": outputs, "tail": TAIL}
    return conv2d(X, X, shape=(1, size, size, channels), weight_shape=weights, **more)


LAYERS = {
    "conv": conv(16, 64, 64, (3, 3), SAME),
    "strided": conv(32, 16, 32, (3, 3), HALVED),
    "point": conv(6, 128, 128, (1, 1), Window()),
    "depthwise": conv(24, 16, 16, (3, 3), SAME, groups=16),
    "depthwise strided": conv(48, 16, 16, (3, 3), HALVED, groups=16),
    "maximum": pool2d(
        "max_pool2d", X, X, shape=(1, 28, 28, 30), filter_shape=(3, 3), window=HALVED, tail=TAIL
    ),
}


def sampled(workload, count):
    """(modelled, simulated) cycles until all results have left the array, of random cuts."""
    converted = in_fixed_point(workload, constants_of(workload, np.random.default_rng(0)))
    layer = image_layer(converted.workload, converted.constants, "layer")
    found = []
    every = list(cuts(layer, SHARE, 3))
    random.Random(1).shuffle(every)
    for plan in every:
        fits = fits_local(image_demand(plan, borders(layer), SHARE), SHARE) is None
        if not fits or not runs(plan, SHARE):
            continue
        try:
            cost = price_image(plan, SHARE, Assumed())
        except TargetError:
            continue
        graph = window_graph(plan, SHARE, 3)
        program = graph if isinstance(graph, Infeasible) else lay_out(graph, V)
        if not isinstance(program, Infeasible):
            left = cost.latency - cost.requests[1]  # the chip's memory takes them later
            found.append((left, simulate_program(program, V).latency))
        if len(found) == count:
            break
    return np.array(found).T


@pytest.mark.parametrize("name", LAYERS)
def test_modelled_and_simulated_latencies_agree(name) -> None:
    modelled, simulated = sampled(LAYERS[name], 30)
    ranks = [np.argsort(np.argsort(cycles)) for cycles in (modelled, simulated)]
    assert np.corrcoef(*ranks)[0, 1] >= 0.95
    assert np.abs(modelled / simulated - 1).max() <= 0.1
