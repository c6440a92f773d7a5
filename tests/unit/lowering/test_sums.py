"""Partial sums in tile programs: where they lie, and what no lowering exists for."""

import pytest

from match_aie.errors import TargetError
from match_aie.hardware import Cut, Loop, Mapping, tables, tiles_from_json, tiles_to_json
from match_aie.lowering import tile_program
from match_aie.lowering.tiles import relocated
from match_aie.workload import Quantized, Tail, Window, dense, pool2d
from tests.unit.mapping.machines import Machine

U8 = Quantized("uint8", 0.5, 3)
WORK = dense(U8, U8, rows=2, inputs=40, outputs=8, tail=Tail(0, 0, 255), scales=8)


def mapping(workload, *loops, **cuts):
    """All of these loops outside the kernel; operands are cut at the number given, or innermost."""
    names = [operand.name for operand in workload.operands]
    places = tuple(Cut(name, "L1", cuts.get(name, len(loops))) for name in names)
    return Mapping((), loops, len(loops), places)


def machine(**facts):
    return Machine((4096,), align=16, double=(), **facts)


def test_sums_lie_behind_the_tiles_and_wait_for_the_last_part():
    parts = mapping(WORK, Loop("C", 3, 16), Loop("K", 2, 4), y=0)
    program = tile_program(WORK, machine(sums=True), parts)
    tiles_end = max(o.offset + o.copies * o.copy_bytes for o in program.operands)
    assert program.sums.offset == tiles_end
    assert program.total == tiles_end + 2 * 8 * 4
    assert [(v.first, v.last, v.stores) for v in program.visits()] == [
        *[(True, False, False)] * 2,
        *[(False, False, False)] * 2,
        (False, True, False),
        (False, True, True),
    ]
    assert tables.parts(program) == ((0, 1, 40),)
    assert tiles_from_json(tiles_to_json(program)) == program
    moved = relocated(program, 256, {}, 4096)
    assert moved.sums.offset - program.sums.offset == 256


def test_whole_sums_take_no_place():
    program = tile_program(WORK, machine(sums=True), mapping(WORK, Loop("K", 2, 4)))
    assert program.sums is None
    assert all(visit.first and visit.last for visit in program.visits())


def test_no_memory_holds_them():
    with pytest.raises(TargetError, match="no memory holds partial sums"):
        tile_program(WORK, machine(), mapping(WORK, Loop("C", 3, 16), y=0))


def test_they_may_not_leave():
    with pytest.raises(TargetError, match="partial sums over C leave L1"):
        tile_program(WORK, machine(sums=True), mapping(WORK, Loop("C", 3, 16)))


def test_a_kernel_can_tell_which_part_it_does():
    pool = pool2d(
        "max_pool2d",
        U8,
        U8,
        shape=(1, 6, 6, 4),
        filter_shape=(2, 2),
        window=Window((2, 2)),
        tail=Tail(0, 0, 255),
    )
    with pytest.raises(TargetError, match="no operand of a max_pool2d lies along FY alone"):
        tile_program(pool, machine(sums=True), mapping(pool, Loop("FY", 2, 1), y=0))
