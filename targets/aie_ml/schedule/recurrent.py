"""Schedules of recurrent kernels: the inputs' products of a group of steps, and a step.

Both are straight lines of code, placed operation by operation at the first bundle in which what it
reads is there and slots, banks and ports have room. Steps follow each other without overlap: each
reads the state that the one before it stores last. The tile's memory has two sides
(`array.recurrent`): weights lie in both, and whatever is in one side counts as one bank.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import product

from match_aie.errors import TargetError
from match_aie.targets.aie_ml.devices import Architecture
from match_aie.targets.aie_ml.kernels.recurrent import GROUP, Part, RecurrentCall
from match_aie.targets.aie_ml.kernels.recurrent_exchange import IntegerExchangeCall
from match_aie.targets.aie_ml.kernels.recurrent_hybrid import (
    AnyHybrid,
    HybridCall,
    IntegerHybridCall,
)
from match_aie.targets.aie_ml.kernels.recurrent_int8 import IntegerCall
from match_aie.targets.aie_ml.kernels.recurrent_neighbours import NeighbourCall
from match_aie.targets.aie_ml.kernels.recurrent_quarters import PairedSpec
from match_aie.targets.aie_ml.schedule.call import BUNDLE_BYTES, FRAME_BUNDLES, ArchitectureKey
from match_aie.targets.aie_ml.schedule.line import Line
from match_aie.targets.aie_ml.schedule.machine import Machine
from match_aie.targets.aie_ml.schedule.recurrent_code import GateTimes, Inputs, Step
from match_aie.targets.aie_ml.schedule.recurrent_hybrid import (
    IntegerSentStep,
    SentQuarters,
    SentStep,
)
from match_aie.targets.aie_ml.schedule.recurrent_int8_code import IntegerInputs, IntegerStep
from match_aie.targets.aie_ml.schedule.recurrent_quarters import (
    HeldStep,
    PairedStep,
    Preparing,
    QuarteredStep,
)

#: Pairs of weights' registers that are filled ahead of their products, and whether the inputs'
#: turns wait for each other: the fastest whose values registers hold is taken.
AHEAD = tuple((ahead, serial) for serial in (False, True) for ahead in (7, 6, 5, 4))

#: Functions that are looked up at a time: likewise.
FLIGHT = (6, 5, 4, 3, 2, 1)

#: Pairs of weights' registers that are filled ahead where quarters have accumulators: likewise.
QUARTERS_AHEAD = (7, 6, 5)

#: Pairs of weights' registers that are filled ahead of products that others wait for last.
LATER = (7, 5, 4, 3)


@dataclass(frozen=True)
class GroupSchedule:
    """A group's call; cycles are modelled.

    Attributes:
        inputs: cycles of the products of the inputs of `GROUP` steps.
        step: of a step.
        turn: more of each, and of every such group where a call has several.
        steps: that the call walks.
        quads: groups of `GROUP` steps, whose inputs' products are computed together.
        bundles: of both pieces of code.
        kinds: operations of the inputs' part, and of a step, by kind.
        reads: cycles in which words of a cascade are read.
        writes: likewise, written.
        begin: cycles before the first step.
    """

    inputs: int
    step: int
    turn: int
    steps: int
    quads: int
    bundles: int
    kinds: tuple[Counter[str], Counter[str]]
    reads: tuple[int, ...] = ()
    writes: tuple[int, ...] = ()
    begin: int = 0

    @property
    def body(self) -> int:
        """Cycles from the first load to the last store."""
        around = self.turn if self.quads > 1 else 0
        begin = self.begin if self.steps else 0
        inputs = self.quads * (self.inputs + around)
        return inputs + begin + self.steps * (self.step + self.turn)

    @property
    def program_bytes(self) -> int:
        """Estimate of the program memory taken."""
        return self.bundles * BUNDLE_BYTES

    @property
    def counts(self) -> Counter[str]:
        """Operations of a call by their kind."""
        inputs, step = self.kinds
        kinds = dict.fromkeys((*inputs, *step))
        return Counter(
            {kind: self.quads * inputs[kind] + self.steps * step[kind] for kind in kinds}
        )


def group_schedule(
    call: RecurrentCall, arch: Architecture, steps: int, times: GateTimes = GateTimes()
) -> GroupSchedule:
    """Modelled cycles of a group of so many steps.

    Raises:
        TargetError: facts are missing, or registers do not suffice.
    """
    stored = "twice" if isinstance(call, IntegerExchangeCall) else "once"
    stored = "sums" if isinstance(call, AnyHybrid) else stored
    stored = f"beside {call.tile}" if isinstance(call, NeighbourCall) else stored
    shape = call.spec.family, stored, call.chunks, call.x_octets, call.h_octets
    found = _scheduled(_Problem(shape, call.parts, times, ArchitectureKey(arch), call))
    quads = call.group // GROUP if "inputs" in call.parts else 0
    return replace(found, steps=steps if "steps" in call.parts else 0, quads=quads)


@dataclass(frozen=True)
class _Problem:
    """What is scheduled once: a shape of code on a generation of cores, for any call of it."""

    shape: tuple[str, str, int, int, int]
    parts: tuple[Part, ...]
    times: GateTimes
    arch: ArchitectureKey
    call: RecurrentCall = field(compare=False)


@lru_cache(maxsize=1024)
def _scheduled(problem: _Problem) -> GroupSchedule:
    """Of a group: the fastest lines of code whose values registers hold."""
    call, core, times = problem.call, problem.arch.core, problem.times
    inputs, step = Line(), [Line()]
    if "inputs" in call.parts:
        inputs = best(core, input_lines(call, core, times))
    if "steps" in call.parts:
        step = [best(core, lines) for lines in _step_lines(call, core, times)]
    held = "steps" in call.parts and call.spec.held
    begin = Preparing(call, core, times).line.cycles if held else 0
    bundles = inputs.cycles + sum(line.cycles for line in step) + begin + FRAME_BUNDLES
    many, seen = of_parts(call, inputs, times)
    kinds = seen, sum((line.kinds for line in step), Counter())
    cycles = sum(line.cycles for line in step)
    if isinstance(call, IntegerCall) and call.wides > 1:  # loops over chunks
        cycles = call.wides * sum(line.cycles + times.turn for line in step)
        kinds = kinds[0], _times(kinds[1], call.wides)
    reads, writes = tuple(sorted(step[0].reads)), tuple(sorted(step[0].writes))
    turn = times.turn
    return GroupSchedule(many, cycles, turn, GROUP, 1, bundles, kinds, reads, writes, begin)


def of_parts(call: RecurrentCall, inputs: Line, times: GateTimes) -> tuple[int, Counter[str]]:
    """Cycles and operations of the inputs' code for all parts of the units, one after the other."""
    parts = call.input_parts
    if parts == 1:
        return inputs.cycles, inputs.kinds
    return parts * (inputs.cycles + times.turn), _times(inputs.kinds, parts)


def _times(kinds: Counter[str], many: int) -> Counter[str]:
    return Counter({kind: many * count for kind, count in kinds.items()})


def input_lines(call: RecurrentCall, core: Machine, times: GateTimes) -> Iterator[Line]:
    """What may be the code of the inputs."""
    for ahead, serial in AHEAD:
        if isinstance(call, IntegerCall):
            yield IntegerInputs(call, core, times, ahead, serial=serial).line
        else:
            yield Inputs(call, core, times, ahead, serial=serial).line


def _step_lines(call: RecurrentCall, core: Machine, times: GateTimes) -> Iterator[Iterator[Line]]:
    """What may be the code of each piece of a step."""
    if isinstance(call, IntegerHybridCall):
        yield (IntegerSentStep(call, core, times, later).line for later in LATER)
        return
    if isinstance(call, HybridCall):
        if call.spec.quartered:
            yield (SentQuarters(call, core, times, ahead).line for ahead in (7, 5))
        else:
            yield iter((SentStep(call, core, times).line,))
        return
    if call.spec.quartered:
        kind = HeldStep if call.spec.held else QuarteredStep
        if isinstance(call.spec, PairedSpec):
            kind = PairedStep
        orders = (False, True) if call.spec.cell == "lstm" else (False,)
        yield (
            kind(call, core, times, flight, ahead, together=together).line
            for flight, ahead, together in product(FLIGHT, QUARTERS_AHEAD, orders)
        )
        return
    if not isinstance(call, IntegerCall):
        yield (Step(call, core, times, flight).line for flight in FLIGHT)
        return
    for piece in range(2 if call.spec.cell == "gru_before" else 1):
        yield (
            IntegerStep(call, core, times, flight, later, piece).line
            for flight in FLIGHT
            for later in LATER
        )


def best(core: Machine, lines: Iterator[Line]) -> Line:
    """The shortest line that fits.

    Raises:
        TargetError: none does.
    """
    found = [line for line in lines if line.fits(core)]
    if not found:
        raise TargetError(
            f"registers of {core.name} hold no step of this many units", hint="fewer hidden units"
        )
    return min(found, key=lambda line: line.cycles)


def group_works(
    call: RecurrentCall, arch: Architecture, times: GateTimes = GateTimes()
) -> Iterator[GroupSchedule]:
    """The schedule of every group of a run."""
    whole = group_schedule(call, arch, call.group, times)
    for group in range(call.passes):
        yield whole if group + 1 < call.passes else replace(whole, steps=call.last)
