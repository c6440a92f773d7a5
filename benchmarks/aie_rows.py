"""Rows and functions of single elements on the AI Engine array: cycles, and how exact they are.

    python benchmarks/aie_rows.py [--cases NAME ...] [--json FILE]

Each layer alone, in 8 bits and in bfloat16, on one column of a VEK280. Its program is executed for
two runs with different data, and counts only where both results equal the reference bit for bit;
then it is simulated until runs follow each other at a steady pace, everything included. Nothing
here ran on hardware.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from machine import machine_row
from rows import figure, report

from match_aie.errors import Infeasible
from match_aie.targets.aie_ml import device
from match_aie.targets.aie_ml.array import ArrayProgram, Assumed
from match_aie.targets.aie_ml.array.layout import lay_out
from match_aie.targets.aie_ml.execute import execute
from match_aie.targets.aie_ml.graph.cut_plan import cut_plans
from match_aie.targets.aie_ml.simulate import simulate_program
from match_aie.targets.versal.module import AieArray
from match_aie.workload import (
    Converted,
    Quantized,
    Workload,
    full_range,
    function,
    layer_norm,
    quantised_norm,
    real_expected,
    real_pair,
    real_softmax,
    reference,
    rms_norm,
    rowwise,
)
from match_aie.workload.bfloat16 import to_bfloat16
from match_aie.workload.real_reference import MEANING

VEK280 = device("vek280")

#: Rows and their elements, but where a case says others.
ROWS, COLUMNS = 128, 256

#: Steps of 8-bit inputs, and of a norm's results.
STEP, NORMED = 0.05, 0.03

Constants = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Case:
    """A layer before its kernel's arithmetic.

    Attributes:
        workload: float32 where it becomes bfloat16, else quantised.
        positive: whether inputs are.
    """

    workload: Workload
    positive: bool = False


def _quantised(kind: str) -> Workload:
    """A softmax or norm of int8 rows."""
    x = Quantized("int8", STEP, 3)
    if kind == "softmax":
        y, tail = Quantized("int8", 1 / 256, -128), full_range("int8", -128)
        return rowwise("softmax", x, y, rows=ROWS, columns=COLUMNS, tail=tail)
    y, tail = Quantized("int8", NORMED, 5), full_range("int8", 5)
    which = "layer_norm" if kind == "layer_norm" else "rms_norm"
    return quantised_norm(x, y, rows=ROWS, columns=COLUMNS, epsilon=1e-5, tail=tail, kind=which)


def _cases() -> dict[str, Case]:
    sizes, elements = {"rows": ROWS, "columns": COLUMNS}, ROWS * COLUMNS
    found = {
        f"{kind}_int8": Case(_quantised(kind)) for kind in ("softmax", "layer_norm", "rms_norm")
    }
    found["softmax_bf16"] = Case(real_softmax(**sizes))
    found["layer_norm_bf16"] = Case(layer_norm(**sizes, epsilon=1e-5))
    found["rms_norm_bf16"] = Case(rms_norm(**sizes, epsilon=1e-5))
    found |= {f"{kind}_bf16": Case(real_pair(kind, elements=elements)) for kind in ("add", "mul")}
    for name in ("gelu", "silu", "sigmoid", "tanh", "exp", "reciprocal"):
        found[f"{name}_bf16"] = Case(function(name, elements=elements))
    found["rsqrt_bf16"] = Case(function("rsqrt", elements=elements), positive=True)
    return found


CASES = _cases()


def inputs_of(case: Case, seed: int) -> list[np.ndarray]:
    """Random tensors of a run; floats are normally distributed, of bfloat16."""
    rng = np.random.default_rng(seed)
    found = []
    for operand in case.workload.inputs:
        if operand.dtype == "int8":
            found.append(rng.integers(-128, 128, operand.shape).astype(np.int8))
            continue
        x = rng.standard_normal(operand.shape).astype(np.float32)
        found.append(to_bfloat16(np.abs(x) if case.positive else x))
    return found


def error_of(
    case: Case, made: Converted, inputs: list[np.ndarray], constants: Constants, got: np.ndarray
) -> float:
    """Of integers steps from float64; else the share of a unit in the last place, or of 2^-16.

    Args:
        case: the layer.
        made: in the arithmetic of its kernel.
        inputs: of a run.
        constants: of the case's workload.
        got: what the array stores.
    """
    workload = case.workload
    if workload.real is not None:
        near = real_expected(made.workload, inputs, made.constants, got)
        return float((np.abs(got - near.value) / near.error).max())
    x, y, tail = workload.operand("x"), workload.output, workload.tail
    assert x.scale is not None
    assert y.scale is not None
    assert tail is not None
    real = (inputs[0].astype(np.float64) - x.zero_point) * np.float32(x.scale)
    plain = replace(workload, tail=None)
    steps = MEANING[workload.kind](plain, {**constants, "x": real}) / np.float32(y.scale)
    wanted = np.clip(steps + tail.zero_point, tail.lo, tail.hi)
    return float(np.abs(got - wanted).max())


def converted(case: Case) -> tuple[Converted, Constants]:
    """The layer in its kernel's arithmetic, and the constants of what it was.

    Raises:
        AssertionError: the array has no kernel.
    """
    rng = np.random.default_rng(0)
    constants = {
        o.name: to_bfloat16(rng.normal(o.name == "weight", 0.3, o.shape).astype(np.float32))
        for o in case.workload.constants
    }
    made = AieArray(VEK280.name, 1, floats="bf16").convert(case.workload, constants)
    assert isinstance(made, Converted), made
    return made, constants


def executed(case: Case) -> tuple[ArrayProgram, float]:
    """The layer's program on one column, and its largest error in two runs.

    Raises:
        AssertionError: a result is not the reference's, or shows nothing.
    """
    made, constants = converted(case)
    plans = cut_plans(made.workload, VEK280.name, 1)
    assert not isinstance(plans, Infeasible), plans
    graph = plans[-1].graph("layer", made.workload, made.constants)
    program = lay_out(graph, VEK280, 4)
    assert not isinstance(program, Infeasible), program
    names = [operand.name for operand in made.workload.inputs]
    runs = [inputs_of(case, seed) for seed in (1, 2)]
    done = execute(program, VEK280, [dict(zip(names, run, strict=True)) for run in runs])
    error = 0.0
    for number, run in enumerate(runs):
        wanted = reference(made.workload, run, made.constants)
        np.testing.assert_array_equal(done.tensor(wanted, run=number), wanted)
        assert np.unique(wanted).size > 5, "results too much alike to show anything"
        error = max(error, error_of(case, made, run, constants, wanted))
    return program, error


def rows_of(name: str) -> list[dict[str, object]]:
    """All figures of a case.

    Raises:
        AssertionError: a result is not the reference's.
    """
    case = CASES[name]
    program, error = executed(case)

    def us(cycles: float) -> float:
        return cycles / VEK280.clock_ghz / 1000

    simulated = simulate_program(program, VEK280).interval
    elements = case.workload.output.size
    of = "steps of the result"
    if case.workload.real is not None:
        of = "share of one unit in the last place, or of 2^-16 of the row's largest result"
    rows = [
        figure(name, "executed", 1, "", "measured", "two runs equal to the reference"),
        figure(name, "simulated_us", us(simulated), "us", "simulated", "repeated runs"),
        figure(name, "elements_per_ns", elements / us(simulated) / 1000, "1/ns", "simulated"),
        figure(name, "tiles", len(program.cores), "", "modelled", f"of {VEK280.core_tiles}"),
        figure(name, "max_error", error, "", "measured", of),
    ]
    for factor, which in ((0.5, "half"), (2.0, "double")):
        cycles = simulate_program(program, VEK280, assumed=Assumed().scaled(factor)).interval
        note = f"assumed times of the array at {which}"
        rows.append(figure(name, f"simulated_us_{which}", us(cycles), "us", "simulated", note))
    return rows


def main() -> None:
    """Print the table, and write the rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", nargs="+", choices=sorted(CASES), default=list(CASES))
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows: list[dict[str, object]] = [machine_row()]
    for name in options.cases:
        rows += rows_of(name)
    report(rows, options.json)


if __name__ == "__main__":
    main()
