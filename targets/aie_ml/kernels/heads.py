"""In which K steps of a block the block before it is drained, and the block after it begun.

A kernel's source and its schedule both follow this. Drains come in the first steps of a block,
refills in its last ones. Words of a cascade are spread: few of them fit between two cores, and a
word is on its way for a while.
"""

from __future__ import annotations

#: K steps over which drains, and refills, are spread at most, where they do not go over a cascade
#: or stand before a loop: every one of them is unrolled, and a step of a larger block has room for
#: several.
LONGEST_HEAD = 4

#: K steps from one accumulator's words to the next one's on a cascade, where so many are unrolled.
SPREAD_STEPS = 2

#: K steps by which the second half of a block's words comes later still in kernels that go on from
#: call to call: what is between two cores then takes up the pause of one of them.
GROUP_STEPS = 4


def heads(
    drains: int,
    refills: int,
    k_steps: int,
    spread: tuple[bool, bool],
    *,
    grouped: bool = False,
) -> tuple[int, int]:
    """K steps of a block in which the block before is drained, and those in which it is refilled.

    Args:
        drains: stores or cascade writes of a block.
        refills: its accumulators.
        k_steps: of a block.
        spread: whether drains, and refills, are words of a cascade and all steps are unrolled.
        grouped: whether what is spread comes in two groups.
    """
    drain = _apart(drains, k_steps, spread[0], grouped)
    drain = drain or min(drains, LONGEST_HEAD, max(1, k_steps // 2))
    refill = _apart(refills, k_steps, spread[1], grouped) or min(refills, LONGEST_HEAD)
    return drain, min(refill, k_steps - drain)


def _apart(items: int, k_steps: int, spread: bool, grouped: bool) -> int:
    """Steps for `items` that are spread; 0 where half of the block has none for each."""
    if spread and grouped and 2 * grouped_steps(items) <= k_steps:
        return grouped_steps(items)
    return items * min(SPREAD_STEPS, k_steps // (2 * items)) if spread else 0


def grouped_steps(items: int) -> int:
    """Steps that `items` in two groups take, the first and the last one included."""
    return _grouped(items)[-1] + 1


def _grouped(items: int) -> tuple[int, ...]:
    """The step of each of `items` in two groups."""
    half = (items + 1) // 2
    return tuple(SPREAD_STEPS * at + (GROUP_STEPS if at >= half else 0) for at in range(items))


def share(
    items: int, steps: int, *, early: bool = False, grouped: bool = False
) -> tuple[tuple[int, ...], ...]:
    """Indices of `items` in order, spread over `steps` as evenly as can be.

    Args:
        items: how many.
        steps: over how many.
        early: whether each comes in the first of its steps instead of the last.
        grouped: whether they come in two groups, where the steps are those of two.
    """
    if grouped and steps == grouped_steps(items):
        at = {step: item for item, step in enumerate(_grouped(items))}
        return tuple((at[step],) if step in at else () for step in range(steps))
    early = early and items <= steps

    def before(step: int) -> int:
        return -(-items * step // steps) if early else items * step // steps

    return tuple(tuple(range(before(step), before(step + 1))) for step in range(steps))


def steps_of(
    items: int, steps: int, *, early: bool = False, grouped: bool = False
) -> tuple[int, ...]:
    """The step of each of `items`, as `share` has them."""
    shares = share(items, steps, early=early, grouped=grouped)
    return tuple(step for step, members in enumerate(shares) for _ in members)
