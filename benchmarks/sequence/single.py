"""Steps of GRU and LSTM in float32 on a VCK190, assumed times at half and double."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from rows import figure
from sequence.recurrent import Case, Operator, Row, error, executed, model

import match_aie as match
from match_aie.errors import TargetError
from match_aie.hardware import ChosenLayer, Loop
from match_aie.targets.aie_ml import device
from match_aie.targets.aie_ml.array import ArrayProgram, Assumed
from match_aie.targets.aie_ml.array.recurrent_single import single_works
from match_aie.targets.aie_ml.graph.cut_plan import cut_plan
from match_aie.targets.aie_ml.graph.recurrent_single import single_splits
from match_aie.targets.aie_ml.graph.recurrent_splits import along_cascade, with_logic
from match_aie.targets.aie_ml.kernels.recurrent_single import SingleCall
from match_aie.targets.aie_ml.schedule.recurrent_single_code import SingleTimes
from match_aie.targets.aie_ml.simulate import simulate_program
from match_aie.targets.versal import VersalAIEML
from match_aie.targets.versal.choices import Floats

VCK190 = device("vck190")

Way = Literal["one_tile", "apart", "rows", "cascade", "hybrid"]

#: Hidden units that ways are measured for.
WAY_SIZES: dict[Way, tuple[int, ...]] = {
    "one_tile": (8, 16, 32),
    "apart": (8, 16, 32),
    "rows": (16, 32, 64, 128),
    "cascade": (8, 16, 32, 64, 128),
    "hybrid": (8, 16, 32, 64, 128),
}

#: Those of them that are published.
PUBLISHED: tuple[Way, ...] = ("rows", "cascade", "hybrid")

#: Columns that layers of more than 64 units may take.
WIDE = 8

#: Hidden units of GRUs whose reset gate comes before the product, and likewise by ways.
BEFORE_SIZES = (16, 32, 64)
BEFORE_WAY_SIZES: dict[Way, tuple[int, ...]] = {
    "apart": (16, 32),
    "rows": BEFORE_SIZES,
    "hybrid": BEFORE_SIZES,
}

#: Hidden units that layers are measured for.
SIZES = (4, 8, 16, 32, 48, 64, 96, 128)


@dataclass(frozen=True)
class SingleCase:
    """A layer, and how it is spread: as the search takes it where None."""

    case: Case
    way: Way | None = None


def _cases() -> Iterator[tuple[str, SingleCase]]:
    operators: tuple[Operator, ...] = ("GRU", "LSTM")
    for operator in operators:
        for size in SIZES:
            yield f"{operator.lower()}_h{size}_f32", SingleCase(Case(operator, size, 32))
    for size in BEFORE_SIZES:
        yield f"gru_before_h{size}_f32", SingleCase(Case("GRU", size, 32, after=False))
    yield "gru_h32_one_step_f32", SingleCase(Case("GRU", 32, 32, steps=1))
    for size in (4, 16, 64, 128):
        yield f"gru_h32_i{size}_f32", SingleCase(Case("GRU", 32, size))
    for way, sizes in WAY_SIZES.items():
        for size in sizes:
            yield f"gru_{way}_h{size}_f32", SingleCase(Case("GRU", size, 32), way)
    for size in (16, 32, 64):
        for way in PUBLISHED:
            yield f"lstm_{way}_h{size}_f32", SingleCase(Case("LSTM", size, 32), way)
    for way, sizes in BEFORE_WAY_SIZES.items():
        for size in sizes:
            case = Case("GRU", size, 32, after=False)
            yield f"gru_before_{way}_h{size}_f32", SingleCase(case, way)


CASES = dict(_cases())


def way_of(spatial: Sequence[Loop]) -> Way:
    """Which way such loops are of."""
    if with_logic(spatial):
        return "hybrid"
    if along_cascade(spatial) is not None:
        return "cascade"
    if len(spatial) == 3:
        return "rows" if spatial[0].size == 1 else "apart"
    return "one_tile"


def _spread(layer: ChosenLayer, way: Way | None) -> Iterator[ChosenLayer]:
    """The layer as it is asked for, on every number of tiles that has room."""
    if way is None:
        yield layer
        return
    for nest in single_splits():
        if way_of(nest.spatial) != way:
            continue
        try:
            cut_plan(layer.workload, VCK190.name, nest)
        except TargetError:
            continue
        yield replace(layer, mapping=nest)


def varied(program: ArrayProgram, factor: float) -> ArrayProgram:
    """The program with assumed cycles of its kernels, and of logic, multiplied."""
    cores, times = [], SingleTimes().scaled(factor)
    logics = tuple(replace(one, times=one.times.scaled(factor)) for one in program.logics)
    for core in program.cores:
        assert isinstance(core.function, SingleCall)
        works = single_works(core.function, VCK190.architecture, times)
        cores.append(replace(core, work=works))
    return replace(program, cores=tuple(cores), logics=logics)


def step_us(program: ArrayProgram, assumed: Assumed, steps: int) -> float:
    """Microseconds of a step of repeated runs."""
    result = simulate_program(program, VCK190, assumed=assumed)
    assert result.steady, "no steady pace"
    return result.interval / steps / VCK190.clock_ghz / 1000


def rows_of(name: str) -> list[Row]:
    """All figures of a case."""
    asked = CASES[name]
    case = asked.case
    columns = WIDE if case.hidden > 64 else None
    floats: Floats = "float32_logic" if asked.way == "hybrid" else "float32"
    target = VersalAIEML("vck190", modules=("array",), columns_per_layer=columns, floats=floats)
    net = match.compile(model(case), target, cache=False)
    mine = [layer for layer in net.program.schedule.chosen if layer.module == "array"]
    macs = sum(layer.workload.macs for layer in mine)
    share = figure(name, "macs_on_array_percent", 100 * macs / case.macs, "%", "modelled")
    if not mine:
        reasons = {str(option.reason) for option in net.assignment.considered if option.reason}
        return [share | {"note": "; ".join(sorted(reasons))}]
    (layer,) = mine
    programs = [executed(each, VCK190) for each in _spread(layer, asked.way)]
    if not programs:
        return [share | {"note": "no such plan has room in a tile"}]
    program = min(programs, key=lambda made: step_us(made, Assumed(), case.steps))
    us = step_us(program, Assumed(), case.steps)
    what = f"{case.inputs} inputs, {case.steps} steps a run; a step of repeated runs"
    rows = [
        figure(name, "executed", 1, "", "measured", "two runs equal to the reference"),
        figure(name, "simulated_us", us, "us", "simulated", what),
        figure(name, "tiles", len(program.cores), "", "modelled", "of 400"),
        share,
        figure(name, "max_error", 1e6 * error(layer), "1e-6", "measured", "against float64"),
    ]
    for which, factor in (("half", 0.5), ("double", 2.0)):
        made = varied(program, factor)
        value = step_us(made, Assumed().scaled(factor), case.steps)
        note = f"assumed times at {which}"
        rows.append(figure(name, f"simulated_us_{which}", value, "us", "simulated", note))
    return rows
