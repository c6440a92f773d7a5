"""A DMA's way as buffer descriptors: the same words, in the same order, within their limits."""

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from match_aie.errors import Infeasible
from match_aie.targets.aie_ml import device
from match_aie.targets.aie_ml.array.access import Pattern, descriptors, touched
from match_aie.targets.aie_ml.kernels.block import Access

LIMITS = device("vek280").architecture.addressing["mem"]


def elements(access: Access) -> list[int | None]:
    """What a way touches, element by element; None for what lies outside of the data."""
    bounds = access.boundary or access.buffer
    loops = [(d, 1, size) for d, size in enumerate(access.tile)]
    loops += list(access.traversal)
    found = []
    for turns in itertools.product(*(range(size) for _, _, size in reversed(loops))):
        place = list(access.offset)
        for turn, (dim, stride, _) in zip(turns, reversed(loops), strict=True):
            place[dim] += turn * stride
        inside = all(0 <= p < bound for p, bound in zip(place, bounds, strict=True))
        index, pitch = 0, 1
        for p, extent in zip(place, access.buffer, strict=True):
            index, pitch = index + p * pitch, pitch * extent
        found.append(index if inside else None)
    return found


def words(patterns: tuple[Pattern, ...]) -> list[int | None]:
    """What descriptors move, word by word, each in turn as often as they iterate."""
    uses = patterns[0].iteration[0] if patterns[0].iteration else 1
    found: list[int | None] = []
    for use in range(uses):
        for pattern in patterns:
            step = pattern.iteration[1] if pattern.iteration else 0
            found += pattern.moved(use * step).addresses()
    return found


@st.composite
def ways(draw: st.DrawFn) -> Access:
    """Rows of whole words; tiles in any order, beyond the data's edges or not."""
    rank = draw(st.integers(1, 3))
    buffer = tuple(draw(st.integers(1, 6)) * (1 if d else 4) for d in range(rank))
    tile = tuple(draw(st.integers(1, 3)) * (1 if d else 4) for d in range(rank))
    padded = draw(st.booleans())
    if not padded:
        tile = tuple(min(size, extent) for size, extent in zip(tile, buffer, strict=True))
    turns = [
        -(-extent // size) if padded else extent // size
        for size, extent in zip(tile, buffer, strict=True)
    ]
    order = draw(st.permutations(range(rank)))
    offset = tuple(
        draw(st.sampled_from([0, -1, 1])) * (1 if d else 4) if padded else 0 for d in range(rank)
    )
    traversal = tuple((d, tile[d], turns[d]) for d in order if draw(st.booleans()))
    return Access(buffer, tile, offset, traversal, buffer if padded else ())


@given(ways(), st.sampled_from([1, 2, 4]))
@settings(max_examples=300, deadline=None)
def test_descriptors_move_the_same_words(access: Access, size: int) -> None:
    wanted = elements(access)
    found = descriptors(access, size, LIMITS, "x")
    if isinstance(found, Infeasible):
        # Nothing but zeros, or zeros between descriptors that no padding makes.
        assert access.boundary
        return
    step = max(1, 4 // size)
    runs = [wanted[at : at + step] for at in range(0, len(wanted), step)]
    expected = [None if run[0] is None else run[0] * size // 4 for run in runs]
    if size == 4:
        expected = wanted
    assert words(found) == expected
    assert sum(p.size * (p.iteration[0] if p.iteration else 1) for p in found) == len(runs)
    assert touched(access) == len(wanted)
    assert all(step == 1 for p in found for many, step in p.dims if many == 1)


def test_a_dimension_of_one_element_has_no_step_of_a_row() -> None:
    """A pixel of two words in a buffer of two words, read as the first of four: 8 words a row."""
    pixel = Access((4, 2, 1), (4, 1, 1), (0, 0, 0), ((1, 1, 4), (0, 4, 1)), (4, 1, 1))
    found = descriptors(pixel, 2, LIMITS, "x")
    assert isinstance(found, tuple)
    (only,) = found
    assert (only.dims, only.pad) == (((2, 1), (1, 1)), ((0, 0), (0, 3)))


def test_a_whole_buffer_is_one_linear_descriptor() -> None:
    whole = Access((512, 512), (512, 512), (0, 0))
    found = descriptors(whole, 1, LIMITS, "x")
    assert isinstance(found, tuple)
    (only,) = found
    assert (only.dims, only.offset, only.iteration) == (((512 * 512 // 4, 1),), 0, None)


def test_five_loops_take_the_iteration() -> None:
    tiles = Access((32, 8, 4), (8, 2, 1), (0, 0, 0), ((0, 8, 4), (2, 1, 4), (1, 2, 4)))
    found = descriptors(tiles, 1, LIMITS, "x")
    assert isinstance(found, tuple)
    assert len(found) == 1
    assert found[0].iteration is not None
    assert len(found[0].dims) <= LIMITS.dims


def test_rows_of_half_words_are_refused() -> None:
    odd = Access((6, 8), (2, 4), (0, 0), ((0, 2, 3), (1, 4, 2)))
    refused = descriptors(odd, 1, LIMITS, "x")
    assert isinstance(refused, Infeasible)
    assert refused.levers
