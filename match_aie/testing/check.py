"""`check_target`: the zoo on a target, and what is to be said of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from match_aie.errors import shorten
from match_aie.hardware import MatchTarget
from match_aie.pipeline import resolve
from match_aie.testing import declared
from match_aie.testing.examine import Examined, examine
from match_aie.testing.result import CheckRow, TargetCheck
from match_aie.testing.zoo import ZOO, Case

#: A simulator and a cost model that are further apart than this are worth a remark.
FAR = 2.0


def check_target(
    target: MatchTarget | str,
    *,
    cases: Sequence[Case] = ZOO,
    compiler: str | None = None,
    progress: Callable[[str], None] | None = None,
) -> TargetCheck:
    """Compile a zoo of small layers for a target, build and run them, compare with numpy.

    Every layer that a module runs is compared with its numpy reference, bit for bit where it is of
    integers, and the output of every case with onnx's evaluation in numpy. What the target's
    code raises becomes a sentence, and so does C that no compiler takes, an access outside of a
    buffer, an impossible cost. Needs a C compiler on this machine; takes half a minute.

    Args:
        target: an instance, or the name of an installed target.
        cases: of the zoo.
        compiler: command of the C compiler; the system's own by default.
        progress: called with what is being done.

    Raises:
        TargetError: `target` is neither a target nor the name of one.
    """
    chip = resolve(target)
    problems = declared.problems(chip)
    if problems:
        return TargetCheck(chip.name, (), tuple(problems))
    found = _divided(list(cases), chip, compiler, progress or (lambda stage: None))
    rows = tuple(row for part in found for row in part.rows)
    remarks = [remark for part in found for remark in part.remarks]
    remarks += [*declared.remarks(chip), *_far(rows), *_untried(rows, chip)]
    return TargetCheck(
        chip.name, rows, tuple(_idle(rows, chip)), tuple(map(shorten, dict.fromkeys(remarks)))
    )


def _divided(
    cases: Sequence[Case],
    target: MatchTarget,
    compiler: str | None,
    progress: Callable[[str], None],
) -> list[Examined]:
    """`cases` in one network; where that fails in two halves, down to the case that fails."""
    progress(cases[0].name if len(cases) == 1 else f"{len(cases)} layers, {cases[0].name} first")
    whole = examine(cases, target, compiler)
    if not whole.problem:
        return [whole]
    if len(cases) == 1:
        return [Examined((CheckRow(cases[0].name, whole.problem),), remarks=whole.remarks)]
    half = len(cases) // 2
    parts = [
        part
        for group in (cases[:half], cases[half:])
        for part in _divided(group, target, compiler, progress)
    ]
    if any(row.problem for part in parts for row in part.rows):
        return parts
    rows = tuple(row for part in parts for row in part.rows)
    names = f"{cases[0].name} to {cases[-1].name}"
    together = CheckRow(f"{names} in one network", whole.problem)
    return [Examined((*rows, together), remarks=whole.remarks)]


def _idle(rows: Sequence[CheckRow], target: MatchTarget) -> Iterator[str]:
    """Modules that refuse everything which their patterns match."""
    for module in target.modules():
        refused = [r for row in rows for r in row.refused if r.module == module.name]
        if refused and module.name not in _busy(rows):
            number = f"{len(refused)} match{'es' if len(refused) > 1 else ''}"
            yield shorten(
                f"module {module.name!r} runs no layer of the zoo; it refuses {number}, "
                f"such as {refused[0].layer}: {refused[0].reason}"
            )


def _busy(rows: Sequence[CheckRow]) -> set[str]:
    return {ran.module for row in rows for ran in row.ran}


def _untried(rows: Sequence[CheckRow], target: MatchTarget) -> Iterator[str]:
    """Patterns that no layer of the zoo ran as."""
    ran = {(r.module, r.pattern) for row in rows for r in row.ran}
    for module in target.modules():
        names = [p.name for p in module.patterns() if (module.name, p.name) not in ran]
        if names:
            yield f"not tried of module {module.name!r}: {', '.join(names)}"


def _far(rows: Sequence[CheckRow]) -> Iterator[str]:
    """The layer whose simulated cycles are furthest from the modelled ones."""
    ratios = [
        (max(r.simulated / r.predicted, r.predicted / r.simulated), r)
        for row in rows
        for r in row.ran
        if r.simulated and r.predicted > 0
    ]
    ratio, ran = max(ratios, key=lambda pair: pair[0], default=(1.0, None))
    if ran is not None and ratio > FAR:
        number = sum(r > FAR for r, _ in ratios)
        yield (
            f"{number} of {len(ratios)} layers: cost model and simulator are more than a factor of "
            f"{FAR:g} apart, most of all {ran.layer} on {ran.module}: {ran.predicted:,.0f} cycles "
            f"modelled, {ran.simulated:,.0f} simulated"
        )
