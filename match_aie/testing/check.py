"""`check_target`: the zoo on a target, and what is to be said of it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from time import monotonic

from match_aie.errors import shorten
from match_aie.hardware import ExecModule, MatchTarget
from match_aie.options import Selection
from match_aie.pipeline import resolve
from match_aie.report.table import some
from match_aie.testing import declared
from match_aie.testing.case import Case
from match_aie.testing.examine import Examined, belongs, examine
from match_aie.testing.result import CheckRow, TargetCheck, in_a_line
from match_aie.testing.zoo import ZOO
from match_aie.toolchain import find_compiler

#: Seconds that each run of a part of the zoo may take by default; an idle machine needs few.
TIMEOUT = 300.0
#: Seconds for what each module is tried on without those that were preferred, by default.
BUDGET = 600.0


def check_target(
    target: MatchTarget | str,
    *,
    cases: Sequence[Case] = ZOO,
    compiler: str | None = None,
    timeout: float | None = TIMEOUT,
    budget: float | None = BUDGET,
    progress: Callable[[str], None] | None = None,
    part: bool = False,
) -> TargetCheck:
    """Compile a zoo of small layers for a target, build and run them, compare with numpy.

    Every layer that a module runs is compared with its numpy reference, bit for bit where it is of
    integers, and the output of every case with onnx's evaluation in numpy. What the target's
    code raises becomes a sentence, and so does C that no compiler takes, an access outside of a
    buffer, a crash, a kernel that does not end, an impossible cost. Needs a C compiler on this
    machine; takes about a minute.

    Args:
        target: an instance, or the name of an installed target.
        cases: of the zoo.
        compiler: command of the C compiler; the system's own by default.
        timeout: seconds that each run may take; None for no limit.
        budget: seconds after which no more layers are tried on a module without those that were
            preferred; a remark counts the layers that are left. None for no limit.
        progress: called with what is being done.
        part: `cases` are a part of the zoo on purpose, in which modules and patterns need not find
            a layer.

    Raises:
        TargetError: `target` is neither a target nor the name of one.
        ToolchainError: there is no C compiler.
    """
    chip = resolve(target)
    find_compiler(compiler)
    problems = declared.problems(chip)
    if problems:
        return TargetCheck(chip.name, (), tuple(problems))
    trial = Trial(chip, compiler, timeout, progress or (lambda stage: None))
    found = trial.divided(list(cases))
    found += trial.overlooked(list(cases), [row for part in found for row in part.rows], budget)
    rows = tuple(row for part in found for row in part.rows)
    remarks = [remark for part in found for remark in part.remarks]
    brought = _brought(chip)
    remarks += [*declared.remarks(chip), *(() if part else _untried(rows, chip, brought))]
    wrong = () if part else tuple(_idle(rows, chip))
    said = tuple(map(shorten, dict.fromkeys(remarks)))
    return TargetCheck(chip.name, rows, wrong, said, brought)


@dataclass(frozen=True)
class Trial:
    """A target under examination.

    Attributes:
        target: whose layers are tried.
        compiler: command of the C compiler.
        timeout: seconds that each run may take.
        progress: called with what is being done.
        selection: the rule by which it is decided who runs what.
    """

    target: MatchTarget
    compiler: str | None
    timeout: float | None
    progress: Callable[[str], None]
    selection: Selection = "cheapest"

    def divided(self, cases: Sequence[Case], until: float | None = None) -> list[Examined]:
        """`cases` in one network; where that fails in two halves, down to the case that fails.

        A case whose code crashed or did not end is known already, and is left out of the rest.
        Cases that only do not fit the chip together are divided, too, and nothing is wrong then.

        Args:
            cases: of the zoo.
            until: when no more are tried, by `time.monotonic`.
        """
        if until is not None and monotonic() > until:
            return [Examined(left=tuple(case.name for case in cases))]
        self.progress(cases[0].name + (f" and {len(cases) - 1} more" if len(cases) > 1 else ""))
        whole = examine(cases, self.target, self.compiler, self.selection, self.timeout)
        if not whole.problem:
            return [whole]
        if len(cases) == 1:
            return [Examined((CheckRow(cases[0].name, whole.problem),))]
        stuck = [case for case in cases if whole.step and belongs(whole.step, case)]
        if stuck:
            rest = [case for case in cases if case not in stuck]
            failed = tuple(CheckRow(case.name, whole.problem) for case in stuck)
            return [Examined(failed), *(self.divided(rest, until) if rest else [])]
        half = len(cases) // 2
        halves = (cases[:half], cases[half:])
        parts = [part for group in halves for part in self.divided(group, until)]
        if whole.crowded or any(row.problem for part in parts for row in part.rows):
            return parts
        name = f"{cases[0].name} to {cases[-1].name} in one network"
        return [*parts, Examined((CheckRow(name, whole.problem),))]

    def overlooked(
        self, cases: Sequence[Case], rows: Sequence[CheckRow], budget: float | None
    ) -> list[Examined]:
        """Patterns to which others were preferred everywhere, by module, without those others.

        Of a module that ran nothing all that it can run, of other patterns the first layer. First
        of all each pattern's first: there may be no time for the rest.

        Args:
            cases: of the zoo.
            rows: what is known of them.
            budget: seconds after which no more are tried on a module.
        """
        ran, found = _busy(rows), []
        for module in self.target.modules():
            idle = module.name not in {name for name, _ in ran}
            able: dict[str, list[str]] = {}
            for row in rows:
                for name, pattern in row.able:
                    if name == module.name and (name, pattern) not in ran:
                        able.setdefault(pattern, []).append(row.case)
            if able:
                first = {names[0] for names in able.values()}
                wanted = {name for names in able.values() for name in names} if idle else first
                chosen = [case for case in cases if case.name in wanted]
                chosen.sort(key=lambda case: case.name not in first)
                fewer = module if idle else _with_patterns(module, able)
                alone = replace(self, target=only(self.target, fewer), selection="match")
                until = None if budget is None else monotonic() + budget
                parts = alone.divided(chosen, until)
                left = [name for part in parts for name in part.left]
                found += [_renamed(part, f"{module.name} alone: ") for part in parts]
                if left:
                    found.append(Examined(remarks=(_no_time(module.name, left, len(chosen)),)))
        return found


def only(target: MatchTarget, module: ExecModule) -> MatchTarget:
    """The same chip with `module` as its only one."""
    kind = type(target)
    fewer = type(kind.__name__, (kind,), {"modules": lambda self: [module]})
    one = copy.copy(target)
    object.__setattr__(one, "__class__", fewer)  # targets may be frozen
    return one


def _with_patterns(module: ExecModule, names: Collection[str]) -> ExecModule:
    """The same module with those of its patterns that are called so."""
    kind, kept = type(module), [p for p in module.patterns() if p.name in names]
    fewer = type(kind.__name__, (kind,), {"patterns": lambda self: kept})
    one = copy.copy(module)
    object.__setattr__(one, "__class__", fewer)
    return one


def _no_time(module: str, left: Sequence[str], tried: int) -> str:
    """That there was no time for the cases `left` of those to be `tried` on a module alone."""
    return (
        f"{module} alone: the time was over before {len(left)} of {tried} layers ({some(left)}); "
        "a longer budget tries them, or some of them at a time by name"
    )


def _renamed(part: Examined, prefix: str) -> Examined:
    return replace(part, rows=tuple(replace(row, case=prefix + row.case) for row in part.rows))


def _idle(rows: Sequence[CheckRow], target: MatchTarget) -> Iterator[str]:
    """Modules that refuse everything which their patterns match."""
    busy = {module for module, _ in _busy(rows)}
    for module in target.modules():
        refused = [r for row in rows for r in row.refused if r.module == module.name]
        if refused and module.name not in busy:
            number = f"{len(refused)} match{'es' if len(refused) > 1 else ''}"
            yield shorten(
                f"module {module.name!r} runs no layer of the zoo; it refuses {number}, "
                f"such as {refused[0].layer}: {in_a_line(refused[0].reason)}"
            )


def _busy(rows: Sequence[CheckRow]) -> set[tuple[str, str]]:
    """Modules and patterns that ran something."""
    return {(ran.module, ran.pattern) for row in rows for ran in row.ran}


def _brought(target: MatchTarget) -> tuple[str, ...]:
    """Modules that are match_aie's own, of a target that is not: nothing its author could mend."""

    def ours(thing: object) -> bool:
        return type(thing).__module__.split(".")[0] == "match_aie"

    return () if ours(target) else tuple(m.name for m in target.modules() if ours(m))


def _untried(
    rows: Sequence[CheckRow], target: MatchTarget, brought: Collection[str]
) -> Iterator[str]:
    """Patterns as which no layer of the zoo ran, and why; of modules `brought` only how many."""
    ran = _busy(rows)
    hint = 'a case of your own tries it: "Testing" in docs/targets.md'
    for module in target.modules():
        names = [pattern.name for pattern in module.patterns()]
        left = [name for name in names if (module.name, name) not in ran]
        if left and module.name in brought:
            yield (
                f"{module.name} is a module of match_aie: {len(left)} of its {len(names)} patterns "
                "were not tried, which is nothing to mend here"
            )
            continue
        refused = {
            r.pattern: r for row in reversed(rows) for r in row.refused if r.module == module.name
        }
        able = {name for row in rows for owner, name in row.able if owner == module.name}
        passed = [name for name in left if name in able and name not in refused]
        if passed:
            yield f"{module.name}: {some(passed)}: others were preferred, or there was no time"
        unseen = [name for name in left if name not in refused and name not in able]
        if unseen:
            yield f"{module.name}: no layer of the zoo is {some(unseen)}; {hint}"
        reasons: dict[str, list[str]] = {}
        for name in left:
            if name in refused:
                reasons.setdefault(refused[name].reason, []).append(name)
        for reason, alike in reasons.items():
            why = f"all of the zoo refused ({refused[alike[0]].layer}: {reason})"
            yield f"{module.name}: {some(alike)}: {why}; {hint}"
