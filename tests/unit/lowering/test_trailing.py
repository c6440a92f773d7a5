"""One layer tile by tile behind another one: in which order, and what that takes."""

from dataclasses import replace

import pytest

from match_aie.hardware import Company, Loop
from match_aie.hardware.tile_codec import tiles_from_json, tiles_to_json
from match_aie.hardware.tiles import TileAxis, TileOperand, TileProgram
from match_aie.lowering.company import Lane, trailing_cycles, trailing_idle
from match_aie.lowering.turns import needs_of, turns_behind
from match_aie.workload import Quantized, conv2d

ROWS, LINE = 12, 32
BYTE = Quantized("uint8", 0)
WORKLOAD = conv2d(BYTE, BYTE, shape=(1, 4, 4, 4), weight_shape=(4, 1, 1, 4), scales=4)


def program(rows, *, name, offset=0, terms=(("OY", 1),), outputs=ROWS):
    """A layer in tiles of `rows` output rows, of whose image rows are `terms` and `offset`."""
    axes = (TileAxis(terms, offset, ROWS, 1, LINE), TileAxis((), 0, LINE, 1, 1))
    image = TileOperand(name, "L1", 0, 1, 0, ROWS * LINE, 1, ROWS * LINE, axes, "never")
    loops = (Loop("OY", -(-outputs // rows), rows),)
    return TileProgram((("OY", outputs), ("FY", 3)), loops, (image,), (), 0, 0, 0)


def test_a_sum_needs_the_tiles_of_its_rows():
    made = program(4, name="y")
    assert needs_of(made, program(4, name="x"), ["x"]) == (1, 2, 3)
    assert needs_of(made, program(3, name="x"), ["x"]) == (1, 2, 3, 3)
    assert needs_of(made, program(6, name="x"), ["x"]) == (2, 3)


def test_windows_need_the_rows_below_too():
    """Three rows, one of padding: the last row of a tile sees the first one of the next."""
    made = program(4, name="y")
    window = program(4, name="x", offset=-1, terms=(("OY", 1), ("FY", 1)))
    assert needs_of(made, window, ["x"]) == (2, 3, 3)
    strided = program(2, name="x", offset=-1, terms=(("OY", 2), ("FY", 1)), outputs=6)
    assert needs_of(made, strided, ["x"]) == (1, 2, 3)


def test_rows_of_nothing_but_padding_need_no_tile():
    """Eight rows of padding above and below: the first two tiles and the last two see no image."""
    made = program(4, name="y")
    padded = program(4, name="x", offset=-8, outputs=28)
    assert needs_of(made, padded, ["x"]) == (0, 0, 1, 2, 3, 0, 0)
    assert turns_behind((0, 0, 1, 2, 3, 0, 0), 3) == (0, 1, 1, 0, 1, 0, 1, 0, 1, 1, 1, 1)


def test_images_that_lie_otherwise_are_not_compared():
    made = program(4, name="y")
    (image,) = made.operands
    other = replace(made, operands=(replace(image, name="x", axes=image.axes[::-1]),))
    assert needs_of(made, other, ["x"]) == ()


@pytest.mark.parametrize("needs", [(1, 2, 3), (2, 3, 3), (1, 1, 3), (3,), (1, 1, 2, 2, 3, 3)])
def test_the_controller_starts_on_what_it_has_seen_the_end_of(needs):
    order = turns_behind(needs, 3)
    assert (order.count(0), order.count(1)) == (4, len(needs) + 1)
    for number, need in enumerate(needs):
        at = [turn for turn, lane in enumerate(order) if lane][number]
        assert order[:at].count(0) - 1 >= need


def lane(alone, calls, *, works=None, waited=True, company=None):
    """A layer of so many calls, all of it its unit's work where nothing else is said."""
    works = alone if works is None else works
    return Lane(alone, works, works, WORKLOAD, company or Company(), calls, waited)


def test_two_take_the_longer_one_and_a_tile_of_the_other():
    """Where nobody waits at banks and the controller takes nothing."""
    assert trailing_cycles(lane(400.0, 4), lane(200.0, 4), (1, 2, 3, 4)) == 450.0
    assert trailing_cycles(lane(200.0, 4), lane(400.0, 4), (1, 2, 3, 4)) == 450.0
    assert trailing_cycles(lane(400.0, 4), lane(400.0, 1), (4,)) == 800.0
    assert trailing_idle(lane(400.0, 4), lane(200.0, 4), (1, 2, 3, 4)) == 350.0


def test_starts_count_one_by_one():
    """What the controller takes for a call is in front of each; entering once."""
    company = Company(enter=10.0, call=5.0)
    made = lane(400.0, 4, company=company)
    assert trailing_cycles(made, lane(0.0, 4), (1, 2, 3, 4)) == pytest.approx(10 + 5 + 400)
    behind = lane(440.0, 4, works=400.0)
    assert trailing_cycles(lane(4.0, 4), behind, (1, 2, 3, 4)) == pytest.approx(1 + 10 + 400)


def test_what_is_in_front_of_the_first_call_only_is_not_spread_over_all():
    """Of 40 cycles beside the kernel each of four calls has 5, the first one 20 more.

    The unit of the other layer stands still meanwhile, as the controller has nothing left for it.
    """
    behind = replace(lane(440.0, 4, works=400.0), told=5.0)
    assert trailing_cycles(lane(4.0, 4), behind, (1, 2, 3, 4)) == pytest.approx(1 + 25 + 400)


def test_both_wait_at_banks_while_both_work():
    """All calls but the first of the one, and the last of the other."""
    made = lane(400.0, 4, company=Company(slowed=0.5))
    assert trailing_cycles(made, lane(400.0, 4), (1, 2, 3, 4)) > 500
    assert trailing_cycles(made, lane(0.0, 4), (1, 2, 3, 4)) == 400.0


def test_what_it_follows_is_in_the_project_s_description():
    tiles = replace(program(4, name="x"), follows=("x",))
    assert tiles_from_json(tiles_to_json(tiles)) == tiles
    assert "follows" not in tiles_to_json(program(4, name="x"))
