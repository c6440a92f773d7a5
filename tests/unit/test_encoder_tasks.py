"""When layers of an encoder start on two groups of an array's columns, in one context or two."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]

ROWS = {"GELU 1": 1.0, "GELU 2": 2.0, "sum": 3.0, "norm": 4.0, "GELU": 5.0}
DENSE = {
    "convolution_1": 10.0,
    "convolution_2": 20.0,
    "into_heads": 30.0,
    "of_heads": 40.0,
    "wide": 50.0,
    "back": 60.0,
}


@pytest.fixture
def context(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import xdna_context  # a script, not the package's

    return xdna_context


@pytest.fixture
def pieces(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import xdna_context
    import xdna_pieces

    def made(chunks=1, share=1.0, **options):
        dense = {
            name: value if "conv" in name else share * value / chunks
            for name, value in DENSE.items()
        }
        both = {name: xdna_context.Takes(value, value) for name, value in dense.items()}
        took = 70.0 / chunks / options.get("pieces", 1)
        scores = xdna_context.Takes(took, took)
        copies = 0.5, 0.25, 0.125
        return xdna_pieces.Pieces(chunks, both, scores, ROWS, copies, **options)

    return made


@pytest.mark.parametrize("apart", [False, True])
def test_who_does_one_thing_does_no_other(context, apart):
    plan = context.Plan()
    first = plan.add(context.DENSE, 2.0)
    plan.add(context.DENSE, 3.0)
    plan.add(context.ATTENTION, 4.0, first)
    plan.add(context.PROCESSOR, 1.0)
    # In one context the second dense layer and attention are one dispatch.
    assert plan.run(apart=apart).ends == (2.0, 5.0 if apart else 6.0, 6.0, 1.0)
    assert plan.run(apart=apart).both == (0 if apart else 1)
    assert plan.run(apart=apart).dispatches == (3 if apart else 2)


@pytest.mark.parametrize("apart", [False, True])
def test_the_earliest_possible_task_goes_first(context, apart):
    plan = context.Plan()
    slow = plan.add(context.PROCESSOR, 10.0)
    plan.add(context.DENSE, 1.0, slow)
    plan.add(context.DENSE, 4.0)
    assert plan.run(apart=apart).ends == (10.0, 11.0, 4.0)


def test_a_context_has_one_dispatch_at_a_time(context):
    """What is ready while one runs waits for its end; both groups take their longer times."""
    plan = context.Plan()
    soon = plan.add(context.PROCESSOR, 1.0)
    plan.add(context.DENSE, context.Takes(5.0, 8.0))
    plan.add(context.ATTENTION, context.Takes(3.0, 4.0), soon)
    plan.add(context.DENSE, context.Takes(1.0, 2.0))
    assert plan.run().ends == (1.0, 5.0, 9.0, 9.0)
    assert plan.run(patience=0.5).ends == (1.0, 5.0, 9.0, 9.0)
    # It waits until both can start.
    assert plan.run(patience=1.0).ends == (1.0, 9.0, 9.0, 10.0)
    # Contexts of their own do not wait, and each has its share of the memory only.
    assert plan.run(apart=True).ends == (1.0, 8.0, 5.0, 10.0)


def test_a_dispatch_has_the_tasks_that_keep_both_groups_busiest(context):
    plan = context.Plan()
    for program in ("a", "b", "a", "a", "a"):
        plan.add(context.DENSE, context.Takes(2.0, 3.0, 1.0, program, "dense"))
    plan.add(context.ATTENTION, context.Takes(4.0, 5.0, 4.0, "c", "attention"))
    none = plan.run()
    assert none.ends == (5.0, 7.0, 9.0, 11.0, 13.0, 5.0)
    # Three of a are as long as attention, four longer than the longest; b is another program.
    found = plan.run(longest=5.0)
    assert found.ends == (5.0, 7.0, 5.0, 5.0, 9.0, 5.0)
    assert (found.dispatches, found.both) == (3, 1)
    assert found.taken == (("dense",) * 3 + ("attention",), ("dense",), ("dense",))
    # A fourth one keeps less of the time busy than it takes: 8 of 6 milliseconds, 7 of 5.
    assert plan.run(longest=9.0) == found


def test_tasks_beside_each_other_are_preferred_by_rank(context):
    """Two windows of two tasks each: one after the other, or side by side."""

    def ends(abreast):
        plan = context.Plan()
        for number in range(2):
            first = len(plan.tasks)
            plan.add(context.DENSE, 1.0)
            plan.add(context.DENSE, 1.0)
            plan.ranked(first, number, abreast)
        return plan.run().ends

    assert ends(0.0) == (1.0, 2.0, 3.0, 4.0)
    assert ends(10.0) == (1.0, 3.0, 2.0, 4.0)


def random_plan(context, seed):
    """Thirty tasks."""
    rng = np.random.default_rng(seed)
    plan = context.Plan()
    for at in range(30):
        after = rng.choice(at, min(at, int(rng.integers(0, 3))), replace=False) if at else []
        alone = float(rng.integers(1, 9))
        behind = alone / 2 if rng.integers(2) else float("inf")
        program = "ab"[rng.integers(2)] if behind < alone else ""
        takes = context.Takes(alone, alone + float(rng.integers(3)), behind, program)
        plan.add(int(rng.integers(3)), takes, *map(int, after))
    return plan


@pytest.mark.parametrize("seed", range(20))
def test_an_order_that_was_found_is_never_slower_where_tasks_are_faster(context, seed):
    plan = random_plan(context, seed)
    fullest = plan.run(longest=12.0)
    found = plan.run(longest=12.0, looks=4)
    assert max(found.ends) <= max(fullest.ends)
    for done in (plan.run(), fullest, found):
        assert sorted(one for each in done.order for one in each) == list(range(30))
        again = plan.again(done.order)
        assert (again.ends, again.taken) == (done.ends, done.taken)
        faster = context.Plan()
        for at, task in enumerate(plan.tasks):
            share = 0.5 if at % 3 else 0.9
            takes = context.Takes(
                *(share * value for value in (task.takes.alone, task.takes.beside)),
                share * task.takes.behind,
                task.takes.program,
            )
            faster.add(task.who, takes, *task.after)
        ends = faster.again(done.order).ends
        assert all(new <= old for new, old in zip(ends, done.ends, strict=True))


@pytest.mark.parametrize("seed", range(20))
def test_random_tasks_keep_their_order_and_never_overlap(context, seed):
    plan = random_plan(context, seed)
    ways = {}, {"patience": 2.0}, {"apart": True}, {"longest": 12.0}, {"longest": 12.0, "looks": 3}
    for options in ways:
        done = plan.run(**options)
        more = bool(options.get("longest"))
        took = [min(task.takes.alone, task.takes.behind if more else 99) for task in plan.tasks]
        for task, end, least in zip(plan.tasks, done.ends, took, strict=True):
            assert end >= least + max((done.ends[one] for one in task.after), default=0.0)
        queues = [(0,), (1,), (2,)] if options.get("apart") else [(0, 1), (2,)]
        for queue in queues:
            ends: dict[float, float] = {}
            for task, end, least in zip(plan.tasks, done.ends, took, strict=True):
                if task.who in queue:
                    ends[end] = max(ends.get(end, 0.0), least)
            for (first, _), (second, least) in pairwise(sorted(ends.items())):
                assert second - first >= least
    apart = plan.run(apart=True)
    assert apart.both == 0
    assert apart.dispatches == sum(task.who != context.PROCESSOR for task in plan.tasks)


@pytest.mark.parametrize("apart", [False, True])
def test_a_window_without_chunks_is_one_task_after_the_other(pieces, apart):
    layer = 4 + 30 + 0.125 + 0.75 + 70 + 40 + 3 + 4 + 50 + 5 + 60 + 3
    before = 0.5 + 10 + 1 + 0.25 + 20 + 2 + 3
    found = pieces(gathered=0.75, apart=apart)
    assert found.each() == pytest.approx(before + 6 * layer + 4)


@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize("chunks", [2, 3])
def test_chunks_hide_and_never_more_than_the_slowest_group_takes(pieces, chunks, apart):
    found = pieces(chunks, apart=apart)
    busy = sum(DENSE[name] for name in ("convolution_1", "convolution_2"))
    busy += 6 * sum(DENSE[name] for name in ("into_heads", "of_heads", "wide", "back"))
    assert busy < found.each() < pieces().each()
    assert busy < found.each(16) < found.each()
