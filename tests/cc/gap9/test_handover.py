"""Results that stay in L1 for the next layers, and constants that are loaded a layer early."""

import shutil
import warnings
from itertools import combinations

import numpy as np
import pytest

import match_aie as match
from match_aie.demo import digits, digits_model
from match_aie.lowering import kept_after
from match_aie.targets.gap9 import GAP9
from tests.thinned import thinned


def compiled(model, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return match.compile(model, GAP9(**options))


def tile_programs(net):
    return {
        index: step.layer.tiles
        for index, step in enumerate(net.program.schedule.steps)
        if step.layer is not None and step.layer.tiles is not None
    }


def taken(tiles):
    """(first byte, end, what) of everything that a layer has in L1."""
    found = [(tiles.scratch, tiles.scratch + tiles.scratch_bytes, "scratch")]
    for o in tiles.operands:
        nbytes = o.copies * o.copy_bytes if o.moves == "here" else o.nbytes
        found.append((o.offset, o.offset + nbytes, o.name))
    return [(a, b, name) for a, b, name in found if b > a]


@pytest.fixture(scope="module")
def nets():
    return {on: compiled(digits_model(), handover=on) for on in (True, False)}


def test_outputs_are_the_same_bits(nets, tmp_path, of_the_run):
    image = digits().images[:1]
    # Handing over is what the target does by default: tests of streams build that project too.
    folders = {True: of_the_run / "gap9_digits", False: tmp_path / "without"}
    runs = {
        on: net.write(folders[on], overwrite=True).run(image, quick=True)
        for on, net in nets.items()
    }
    assert all(run.matches_reference for run in runs.values())
    for name, array in runs[True].outputs.items():
        np.testing.assert_array_equal(array, runs[False].outputs[name])


@pytest.mark.skipif(not shutil.which("clang"), reason="no clang")
@pytest.mark.parametrize("bytes_of_l1", [None, 6000])
def test_nothing_is_added_to_null(bytes_of_l1, tmp_path):
    """Operands in L1 have no address in L2, and visits without loads no list: clang's sanitizer
    looks at such additions, GCC's does not."""
    project = compiled(digits_model(), l1_bytes=bytes_of_l1).write(tmp_path / "net")
    image = digits().images[:1]
    made = project.run_sanitized(image, compiler="clang", quick=True)
    for name, array in project.run(image, quick=True).outputs.items():
        np.testing.assert_array_equal(made[name], array)


def test_what_stays_takes_no_l2_and_less_time(nets):
    with_it, without = nets[True], nets[False]
    assert any(step.stays() for step in with_it.program.schedule.steps)
    assert not any(step.stays() for step in without.program.schedule.steps)
    assert with_it.program.plan.nbytes < without.program.plan.nbytes
    assert with_it.simulate().cycles < 0.95 * without.simulate().cycles


def test_constants_of_the_next_layer_arrive_early(nets):
    early = [p for p in tile_programs(nets[True]).values() if p.ahead]
    assert early
    names = {region.operand.name for program in early for region in program.ahead}
    assert "weight" in names
    assert not any(p.ahead for p in tile_programs(nets[False]).values())


@pytest.mark.parametrize("kilobytes", thinned([2, 4, 8, 16, 117], 2))
def test_nothing_lies_over_what_is_needed(kilobytes):
    """At any size of L1: what is there at a time is apart, and inside."""
    net = compiled(digits_model(), l1_bytes=kilobytes << 10)
    kept = kept_after(net.program.schedule)
    for index, tiles in tile_programs(net).items():
        there = taken(tiles)
        known = {first for first, _, _ in there}
        outlive = [(o, o + n, "kept") for o, n in kept.get(index, ()) if o not in known]
        for one, other in combinations([*there, *outlive], 2):
            assert one[1] <= other[0] or other[1] <= one[0], (index, one, other)
        assert max(end for _, end, _ in [*there, *outlive]) <= tiles.total <= kilobytes << 10


def test_the_options_make_an_equal_target():
    for handover in (True, False):
        target = GAP9(handover=handover)
        assert GAP9(**target.options()).options() == target.options()
