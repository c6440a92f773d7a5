"""The sizes at which a network is tried, to find what depends on them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from match_aie.workload.extent import Size

#: Sizes of a dimension that are tried: two more than a square has coefficients.
COUNT = 5

#: The least that is tried: 1, 2 and 3 are the sizes of much that does not depend on the size.
LEAST = 5

#: Ranges that end below are tried beyond their end too, where the model has such sizes.
WIDE = 47

#: With two sizes, pairs of theirs: two more than the coefficients that there may be.
PAIRS = 10


def trials(sizes: Sequence[Size]) -> Iterator[Sequence[tuple[int, ...]]]:
    """Points to try all of, the best choice first.

    Args:
        sizes: one or two.
    """
    yield _points([_spread(_primes(max(LEAST, s.low), max(WIDE, s.high))) for s in sizes])
    inside = [_spread(list(range(max(2, s.low), s.high + 1))) for s in sizes]
    if all(len(values) == COUNT for values in inside):
        yield _points(inside)


def _points(values: Sequence[list[int]]) -> Sequence[tuple[int, ...]]:
    if len(values) == 1:
        return [(value,) for value in values[0]]
    ours, theirs = values
    pairs = [
        (ours[i % len(ours)], theirs[(i + turn) % len(theirs)])
        for turn in range(1, COUNT)
        for i in range(COUNT)
    ]
    return [(a, b) for a, b in dict.fromkeys(pairs) if a != b][:PAIRS]


def _primes(low: int, high: int) -> list[int]:
    """Primes from `low` to `high`; where these are few, the next ones too.

    >>> _primes(5, 20)
    [5, 7, 11, 13, 17, 19]
    """
    found: list[int] = []
    number = low
    while number <= high or len(found) < COUNT:
        if number > 1 and all(number % d for d in range(2, int(number**0.5) + 1)):
            found.append(number)
        number += 1
    return found


def _spread(values: Sequence[int]) -> list[int]:
    """At most `COUNT` of them, evenly, the largest first.

    >>> _spread([5, 7, 11, 13, 17, 19, 23, 29])
    [29, 19, 13, 7, 5]
    """
    if len(values) <= COUNT:
        return list(reversed(values))
    last = len(values) - 1
    return [values[last * at // (COUNT - 1)] for at in reversed(range(COUNT))]
