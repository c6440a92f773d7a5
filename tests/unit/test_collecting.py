"""Garbage is looked for less often while a network is compiled, and as before behind it."""

import gc
import threading

import pytest

from match_aie.collecting import OBJECTS, collecting_seldom


def test_thresholds_are_put_back_also_behind_an_error() -> None:
    before, seen = gc.get_threshold(), []

    def inside() -> None:
        with collecting_seldom():
            seen.append(gc.get_threshold())
            with collecting_seldom():
                seen.append(gc.get_threshold())
            seen.append(gc.get_threshold())
            raise ValueError("inside")

    with pytest.raises(ValueError, match="inside"):
        inside()
    assert seen == [(OBJECTS, *before[1:])] * 3
    assert gc.get_threshold() == before


@pytest.mark.parametrize("mine", [0, 2 * OBJECTS])
def test_who_looks_less_often_or_never_is_left_alone(mine: int) -> None:
    before = gc.get_threshold()
    gc.set_threshold(mine, *before[1:])
    try:
        with collecting_seldom():
            assert gc.get_threshold()[0] == mine
    finally:
        gc.set_threshold(*before)


def test_other_threads_change_nothing() -> None:
    seen: list[int] = []

    def inside() -> None:
        with collecting_seldom():
            seen.append(gc.get_threshold()[0])

    thread = threading.Thread(target=inside)
    thread.start()
    thread.join()
    assert seen == [gc.get_threshold()[0]]
