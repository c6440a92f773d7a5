"""What the fuzzer tries: where models come from, for which target, and one item of work."""

from __future__ import annotations

import itertools
import os
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import onnx

from tests.fuzzing.float_networks import float_network
from tests.fuzzing.judge import Verdict, judge
from tests.fuzzing.quantised_networks import quantised_network
from tests.fuzzing.reduce import Budget, reduced
from tests.fuzzing.workers import Limits, Lost, each
from tests.hostile import Case as Hostile
from tests.hostile import attempt, bombs, mutations, samples, warm

#: What a hostile file may take: seconds, bytes.
SECONDS, MEMORY = 30.0, 4 << 30
#: Memory of a worker: what the compiler has loaded, and the file's share.
LIMITS = Limits(seconds=150.0, memory=6 << 30)


@dataclass(frozen=True)
class Case:
    """A kind of models for one target.

    Attributes:
        name: of the row.
        target: name of an installed target.
        count: how many without options.
        make: the model of a seed; None for files that are hostile.
        own_flags: one model of so many is built with the project's own flags, the others with -O1:
            the time goes into the C compiler, and most that goes wrong does so with any flags.
    """

    name: str
    target: str
    count: int
    make: Callable[[int], onnx.ModelProto] | None
    own_flags: int = 8


CASES = (
    Case("cpu_float", "CPU", 1000, float_network),
    Case("cpu_quantised", "CPU", 1000, quantised_network),
    Case("gap9", "GAP9", 200, quantised_network, own_flags=50),
    Case("diana", "Diana", 100, quantised_network),
    Case("versal", "VersalAIEML", 100, quantised_network),
    Case("mutations", "CPU", 5000, None),
    Case("bombs", "CPU", 200, None),
)


@dataclass(frozen=True)
class Item:
    """One model: of a case and a seed, or (with `data`) as it lies there.

    Attributes:
        case: name of the case.
        target: name of the target.
        seed: of the model and of its inputs.
        quick: the command of a C compiler that optimises little; empty for the project's own.
        data: bytes of the model.
    """

    case: str
    target: str
    seed: int
    quick: tuple[str, ...] = ()
    data: bytes = b""


def quick_compiler(folder: Path) -> tuple[str, ...]:
    """A command that calls the default C compiler with -O1 behind all other options."""
    from match_aie.toolchain import find_compiler

    script = folder / "cc_quick"
    script.write_text(f'#!/bin/sh\nexec {" ".join(find_compiler())} "$@" -O1\n')
    script.chmod(0o755)
    return (str(script),)


def items(case: Case, first: int, count: int, quick: tuple[str, ...]) -> Iterator[Item]:
    """The items of a case, a seed each."""
    for seed in range(first, first + count):
        own = seed % case.own_flags == 0
        yield Item(case.name, case.target, seed, () if own else quick)


def load() -> None:
    """Import what workers need, so that forked ones have it."""
    import onnxruntime  # noqa: F401

    import match_aie.compilation
    import match_aie.toolchain  # noqa: F401

    warm()


def work(item: Item) -> Verdict:
    """The verdict on one item; runs in a worker."""
    if item.case.startswith("arch_"):
        from tests.fuzzing.archs import judge_arch

        return judge_arch(item.case.removeprefix("arch_"), item.seed)
    found = {c.name: c for c in CASES}.get(item.case)
    if found is not None and found.make is None and not item.data:
        return hostile(item)
    model = onnx.load_from_string(item.data) if item.data else found.make(item.seed)
    return judge(model, item.target, item.seed, compiler=item.quick or None)


def hostile(item: Item) -> Verdict:
    """Compile a hostile file in a process of its own."""
    tried = attempt(file_of(item), item.target, seconds=SECONDS, memory=MEMORY)
    lines = tried.text.strip().splitlines() or [""]
    detail = f"{tried.name}: {lines[0]} ... {lines[-1]} ({tried.seconds:.1f} s)"[:300]
    status = "hung" if tried.verdict == "heavy" else tried.verdict
    return Verdict(status, f"{tried.verdict} {detail}", f"{tried.verdict} {lines[0]}"[:80])


def file_of(item: Item) -> Hostile:
    """The hostile file of a seed."""
    if item.case == "bombs":
        every = all_bombs()
        return every[item.seed % len(every)]
    names = sorted(all_samples())
    data = all_samples()[names[item.seed % len(names)]]
    # Every seed is a sequence; a few steps into it changes lie on top of each other nowhere.
    return next(itertools.islice(mutations(data, item.seed), item.seed % 3, None))


@cache
def all_samples() -> dict[str, bytes]:
    """The models that are mutated."""
    return samples()


@cache
def all_bombs() -> tuple[Hostile, ...]:
    """In an order in which any first ones are of all kinds."""
    every = list(bombs(0))
    random.Random(0).shuffle(every)
    return tuple(every)


def model_of(item: Item) -> onnx.ModelProto | None:
    """The item's model; None where it is a hostile file."""
    if item.data:
        return onnx.load_from_string(item.data)
    made = {c.name: c.make for c in CASES}.get(item.case)
    return made(item.seed) if made else None


def verdict_of(answer: Verdict | Lost) -> Verdict:
    """The verdict on what a worker said, or on its end."""
    if isinstance(answer, Lost):
        status = "hung" if answer.hung else "crashed"
        return Verdict(status, answer.detail, f"lost {status}")
    return answer


def cut_down(item: Item, kind: str, budget: Budget | None = None, limits: Limits = LIMITS):
    """The smallest model found that fails as `item` does; None for hostile files.

    Every candidate is judged in a process of its own: it may crash or hang.
    """
    model = model_of(item)
    if model is None:
        return None

    def fails(candidate: onnx.ModelProto) -> bool:
        data = candidate.SerializeToString()
        again = Item(item.case, item.target, item.seed, item.quick, data)
        [(_, answer)] = each(work, [again], 1, limits)
        return verdict_of(answer).kind == kind

    return reduced(model, fails, budget)


def save(folder: Path, item: Item, verdict: Verdict, smallest: onnx.ModelProto | None) -> Path:
    """Write a failure to a folder of its own: model, original, and how to see it again."""
    place = folder / f"{item.case}-{item.seed}"
    place.mkdir(parents=True, exist_ok=True)
    lines = [f"{verdict.status}: {verdict.detail}", ""]
    again = f"python benchmarks/fuzz.py --case {item.case} --seed {item.seed} --count 1"
    model = model_of(item)
    if model is not None:
        onnx.save(model, place / "original.onnx")
        path = place / "model.onnx"
        onnx.save(smallest if smallest is not None else model, path)
        flags = " --quick" if item.quick else ""
        near = os.path.relpath(path)
        again = (
            f"python benchmarks/fuzz.py --replay {near} --target {item.target} "
            f"--seed {item.seed}{flags}"
        )
    else:
        file_of(item).build(place)
    (place / "command.txt").write_text("\n".join([*lines, again, ""]))
    return place
