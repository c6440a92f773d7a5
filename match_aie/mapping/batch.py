"""All searches of a network: each once, from the cache where it is there, in parallel if wanted."""

from __future__ import annotations

import logging
import pickle
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace

from match_aie.errors import Infeasible, OptionError
from match_aie.hardware import ExecModule
from match_aie.mapping.cache import SearchCache
from match_aie.mapping.facts import search_keys
from match_aie.mapping.hidden import ScaleRead, bare, hidden, unscaled
from match_aie.mapping.options import SearchOptions
from match_aie.mapping.revalidate import Found
from match_aie.mapping.search import MappedCost, refuse_without_energy, search
from match_aie.workload import Workload

_LOG = logging.getLogger(__name__)

#: Seconds of searches after which what is left is estimated from them.
_ENOUGH = 2.0


@dataclass(frozen=True)
class SearchCounts:
    """Where the mappings of one compilation came from; layers that are alike count once.

    Attributes:
        hits: found in the cache.
        misses: looked up there and not found.
        searches: searched: misses, and what cannot be or was not to be cached.
    """

    hits: int = 0
    misses: int = 0
    searches: int = 0


@dataclass(frozen=True, eq=False)
class Task:
    """One search: plain data, which any process can be sent.

    Attributes:
        workload: what to search.
        module: for which.
        label: of the layer, for people only.
    """

    workload: Workload
    module: ExecModule
    label: str = ""


def search_all(
    tasks: Sequence[Task],
    options: SearchOptions,
    executor: Executor | None = None,
    cache: SearchCache | None = None,
    tell: Callable[[str], None] | None = None,
) -> tuple[list[Found], SearchCounts]:
    """What `search` answers to each of `tasks`, in their order, and where that came from.

    Layers that differ in their tensors' scales only are searched once, unless a module reads one.

    Args:
        tasks: what to search.
        options: of all searches.
        executor: runs the searches; here and one after the other where None. Executors that use
            other processes need modules whose classes can be imported there.
        cache: of results; None for none.
        tell: called with a line before each search: which layer, how many, seconds left.

    Raises:
        OptionError: the executor cannot be sent a module, or the objective needs energy and a
            module states none.
        TargetError: a module cannot be searched.
    """
    try:
        return _search_all(_alike(tasks), options, executor, cache, tell)
    except ScaleRead:
        return _search_all(tasks, options, executor, cache, tell)


def _alike(tasks: Sequence[Task]) -> list[Task]:
    """`tasks`, with scales hidden in those that differ from another one in nothing else."""
    groups = [(unscaled(task.workload), id(task.module)) for task in tasks]
    found: dict[tuple[Workload, int], set[Workload]] = {}
    for group, task in zip(groups, tasks, strict=True):
        found.setdefault(group, set()).add(task.workload)
    return [
        replace(task, workload=hidden(task.workload)) if len(found[group]) > 1 else task
        for group, task in zip(groups, tasks, strict=True)
    ]


def _search_all(
    tasks: Sequence[Task],
    options: SearchOptions,
    executor: Executor | None,
    cache: SearchCache | None,
    tell: Callable[[str], None] | None,
) -> tuple[list[Found], SearchCounts]:
    keys = search_keys(((task.workload, task.module) for task in tasks), options)
    names = [key or f"task {number}" for number, key in enumerate(keys)]
    cacheable = {key for key in keys if key is not None}
    unique = dict(zip(reversed(names), reversed(tasks), strict=True))
    answers: dict[str, Found] = {}
    if cache is not None:
        known = {
            name: cache.get(name, task.workload, task.module, options)
            for name, task in unique.items()
            if name in cacheable
        }
        answers = {name: answer for name, answer in known.items() if answer is not None}
    hits = len(answers)
    missing = [name for name in dict.fromkeys(names) if name not in answers]
    wanted = [unique[name] for name in missing]
    found = list(_told(_run(wanted, options, executor), wanted, tell))
    for name, answer in zip(missing, found, strict=True):
        answers[name] = answer
        if cache is not None and name in cacheable:
            cache.put(name, answer)
    for name, task in unique.items():
        # What came from a cache or an executor was not looked at by `search` here.
        refuse_without_energy(answers[name], task.module, options.objective)
    misses = len(cacheable) - hits if cache is not None else 0
    return [answers[name] for name in names], SearchCounts(hits, misses, len(missing))


def _run(
    tasks: Sequence[Task], options: SearchOptions, executor: Executor | None
) -> Iterator[Found]:
    """What is found for each task, in order, as it is asked for."""
    if executor is None:
        for task in tasks:
            yield search(task.workload, task.module, options)
        return
    futures = []
    try:
        futures += [executor.submit(_search_sent, *_sent(task), options) for task in tasks]
        for future, task in zip(futures, tasks, strict=True):
            yield _checked(future.result(), task)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        if not isinstance(error, pickle.PicklingError) and "pickle" not in str(error).lower():
            raise
        raise OptionError(
            f"a search cannot be sent to another process: {error}",
            hint="define modules and cost models at the top of a module that can be imported, "
            "or compile without an executor",
        ) from error
    finally:
        for future in futures:
            future.cancel()


def _sent(task: Task) -> tuple[Workload, bool, ExecModule]:
    """A task for an executor, which may read all fields of what it sends (Dask does, for a key)."""
    plain = bare(task.workload)
    return plain, plain != task.workload, task.module


def _search_sent(
    workload: Workload, hide: bool, module: ExecModule, options: SearchOptions
) -> Found:
    """`search` where a task arrives: with the scales of `workload` hidden again if they were.

    Args:
        workload: what to search.
        hide: whether its scales are hidden.
        module: for which.
        options: of the search.
    """
    return search(hidden(workload) if hide else workload, module, options)


def _told(
    found: Iterator[Found], tasks: Sequence[Task], tell: Callable[[str], None] | None
) -> Iterator[Found]:
    """What is found, with a line before each search.

    How long the others take is guessed from the mean of those before.
    """
    start = time.perf_counter()
    for number, task in enumerate(tasks):
        begun = time.perf_counter()
        taken = begun - start
        left = taken / number * (len(tasks) - number) if number and taken > _ENOUGH else None
        where = f"{task.label or task.workload.kind} on {task.module.name}"
        if tell is not None:
            about = "" if left is None else f", about {left:.0f} s left"
            tell(f"{where} ({number + 1} of {len(tasks)}{about})")
        yield next(found)
        _LOG.debug("searched %s: %.3f s", where, time.perf_counter() - begun)


def _checked(found: object, task: Task) -> Found:
    """What came back from an executor, which may be anyone's."""
    if isinstance(found, Infeasible):
        return found
    if isinstance(found, list) and found and all(isinstance(row, MappedCost) for row in found):
        return found
    raise OptionError(
        f"the executor gave a {type(found).__name__} for a search on {task.module.name}",
        hint="executor= takes a concurrent.futures.Executor",
    )
