"""Partial sums where layers share one scratchpad: over nothing that stays, bit for bit."""

import shutil
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from systolic.target import DMA_BYTES, DMA_START, Systolic, SystolicArray, scratchpad

import match_aie as match
from match_aie.errors import InternalError
from match_aie.hardware import Memory, SharedMemory
from match_aie.lowering import kept_after
from match_aie.lowering.handover_choice import Choice, evaluation_of
from match_aie.mapping import Evaluation, SearchOptions
from match_aie.testing import ZOO, check_target
from match_aie.testing.case import Case, network
from match_aie.testing.zoo import INT8, Conv
from tests.shared import random_inputs
from tests.thinned import thinned

OPERANDS = ("x", "x1", "y", "weight", "bias", "scale", "sums")


class Shared(Systolic, SharedMemory):
    """One scratchpad for all operands, which layers leave to each other as it is."""

    shared_memory = "L1"

    def __init__(self, nbytes=65536):
        self.nbytes = nbytes

    def options(self):
        return {"nbytes": self.nbytes}

    def modules(self):
        memories = (
            scratchpad("L1", self.nbytes, operands=OPERANDS),
            Memory("DRAM", None, DMA_BYTES, transfer_cycles=DMA_START),
        )
        return (type("Array", (SystolicArray,), {"memories": memories})(),)


def chain(channels, side, filters=(3, 3)):
    """Convolutions one after the other, as a model."""
    pads = tuple(size // 2 for size in filters) * 2

    def build(graph):
        x = graph.input(replace(INT8, shape=(1, channels[0], side, side)))
        for outputs in channels[1:]:
            x = Conv(INT8, outputs, filters, pads=pads).on(graph, x)
        return x

    return network([Case("chain", build, single=False)])


def compiled(model, nbytes=65536):
    return match.compile(
        model,
        Shared(nbytes),
        name="net",
        selection="match",
        search=SearchOptions("exact"),
        cache=False,
    )


def layers(net):
    """(step, layer) of those with tiles."""
    steps = enumerate(net.program.schedule.steps)
    return [(at, step.layer) for at, step in steps if step.layer and step.layer.tiles]


def there(net):
    """(step, what, first byte, end) of all that the memory holds while a layer runs."""
    kept = kept_after(net.program.schedule)
    found = []
    for at, layer in layers(net):
        tiles = layer.tiles
        mine = [(o.name, o.offset, o.copies * o.copy_bytes) for o in tiles.operands]
        mine += [("sums", tiles.sums.offset, tiles.sums.nbytes)] if tiles.sums else []
        known = {offset for _, offset, _ in mine}
        mine += [("kept", o, n) for o, n in kept.get(at, ()) if o not in known]
        found.append([(at, what, begin, begin + n) for what, begin, n in mine])
    return found


def assert_apart(net, nbytes):
    for step in there(net):
        for one, other in combinations(step, 2):
            assert one[3] <= other[2] or other[3] <= one[2], (one, other)
        assert max(end for *_, end in step) <= nbytes


@pytest.mark.skipif(not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="no C compiler")
@pytest.mark.parametrize(
    ("channels", "side"), thinned([((128, 64, 256, 64), 8), ((256, 128, 256, 64), 4)], 2)
)
def test_sums_beside_what_stays_are_right(tmp_path, channels, side):
    net = compiled(chain(channels, side))
    stays = [o.moves for _, layer in layers(net) for o in layer.tiles.operands]
    assert "never" in stays
    assert any(layer.tiles.sums for _, layer in layers(net))
    assert_apart(net, 65536)
    project = net.write(tmp_path / "net")
    project.build(quick=True)
    inputs = random_inputs(project.record.inputs, np.random.default_rng(0))
    assert project.run(inputs).matches_reference


def drawn(seed):
    """A chain and a scratchpad so small that weights are cut, of random sizes."""
    rng = np.random.default_rng(seed)
    channels = [int(n) for n in rng.choice((16, 32, 48, 64), 4)]
    return chain(channels, int(rng.integers(2, 7))), 1024 * int(rng.integers(10, 18))


@pytest.mark.parametrize("seed", range(12))
def test_nothing_lies_over_anything_else(seed):
    model, nbytes = drawn(seed)
    assert_apart(compiled(model, nbytes), nbytes)


def test_random_chains_have_both_sums_and_what_stays():
    """Else the test before would say nothing."""
    nets = [compiled(*drawn(seed)) for seed in (0, 8)]
    found = [
        (layer.tiles.sums, {o.moves for o in layer.tiles.operands})
        for net in nets
        for _, layer in layers(net)
    ]
    assert any(sums and "never" in moves for sums, moves in found)


def test_a_plan_that_forgets_them_is_refused(monkeypatch):
    def forgetful(self):
        return sum(o.copies * o.copy_bytes for o in self.tiles.operands if o.moves == "here")

    monkeypatch.setattr(Choice, "tiled", property(forgetful))
    with pytest.raises(InternalError, match=r"inner memory: .* partial sums of"):
        compiled(chain((128, 64, 256, 64), 8))


def test_where_nothing_stays_the_price_is_the_layers_own():
    """Partial sums keep their memory where some operands need no transfer."""
    net = compiled(chain((128, 64), 8))
    (layer,) = [layer for _, layer in layers(net)]
    assert layer.tiles.sums is not None
    (module,) = Shared().modules()
    priced = evaluation_of(layer.workload, module, layer.mapping, frozenset())
    alone = Evaluation(layer.workload, module, module.cost_model(layer.workload), layer.mapping)
    assert priced.uses() == alone.uses()
    assert priced.cost() == alone.cost() == layer.cost


def test_small_layers_are_priced_as_they_are_without_their_neighbours():
    """Constants of one are loaded while the layer before works, and are waited for in another."""
    names = ("dense int8", "dense int8, no bias", "conv 1x1 int8", "add int8")
    cases = [case for case in ZOO if case.name in names]
    check = check_target(Shared(), cases=cases)
    assert check.sentences() == ()
    ran = [one for row in check.rows[: len(cases)] for one in row.ran if one.simulated]
    assert ran
    assert all(one.apart < 1.3 for one in ran)
