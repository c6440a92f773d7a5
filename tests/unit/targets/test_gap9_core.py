"""What counts of the controller's code take of GVSoC's core and caches."""

import struct

import pytest

from tests.shared import DATA

#: lw a0,0(a1); add a2,a0,a3; mulhu a0,a1,a2; divu a0,a1,a2; beq a0,a1,8; j 8
LOAD, ADD, UPPER, DIVIDE, BRANCH, JUMP = (
    struct.pack("<I", word)
    for word in (0x0005A503, 0x00D50633, 0x02C5B533, 0x02C5D533, 0x00B50463, 0x0080006F)
)
#: c.lw a0,0(a1); c.add a0,a1; c.jr ra; c.beqz a0,8
SHORT_LOAD, SHORT_ADD, RETURN, SHORT_BRANCH = (
    struct.pack("<H", half) for half in (0x4188, 0x952E, 0x8082, 0xC501)
)


@pytest.fixture
def core(monkeypatch):
    monkeypatch.syspath_prepend(str(DATA.parents[1] / "benchmarks"))
    import gap9_core

    return gap9_core


@pytest.mark.parametrize(
    ("code", "always", "elsewhere"),
    [
        (LOAD + ADD, 1, 0),
        (SHORT_LOAD + SHORT_ADD, 1, 0),
        (LOAD + UPPER + ADD, 4, 0),
        (ADD + DIVIDE, 32, 0),
        (ADD + BRANCH, 0, 2),
        (SHORT_LOAD + SHORT_BRANCH, 1, 2),
        (ADD + JUMP, 0, 1),
        (SHORT_ADD + RETURN, 0, 1),
    ],
)
def test_what_instructions_stall(core, code, always, elsewhere):
    assert core.stalls(code) == core.Stalls(always, elsewhere)


def test_a_cache_holds_what_its_sets_have_room_for(core):
    cache = core.Cache(512)
    lines = range(100, 132)
    assert not any(cache.holds(line) for line in lines[:8])
    assert all(cache.holds(line) for line in lines[:8])
    assert cache.misses == 8
    for line in lines:
        cache.holds(line)
    assert sum(cache.holds(line) for line in lines) > 16
    assert not cache.holds(1000)
