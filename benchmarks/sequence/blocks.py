"""Blocks as one pipeline of the array: norms, attention, dense layers, GELU, sums."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnxruntime
from generated import ROOT  # noqa: F401  (makes the tests importable)
from rows import figure

import match_aie as match
from match_aie.compilation import Compilation
from match_aie.targets.aie_ml import device
from match_aie.targets.aie_ml.array import ArrayProgram, Assumed
from match_aie.targets.aie_ml.execute import execute
from match_aie.targets.aie_ml.simulate import run_layer, simulate_program
from match_aie.targets.versal import VersalAIEML
from match_aie.targets.versal.executing import stretches
from tests.networks.blocks import Block, block_network

VEK280 = device("vek280")

CASES = {
    "bert_small_layer": Block(128, 512, 2048, "after", heads=8),
    "bert_base_layer": Block(128, 768, 3072, "after", heads=12),
    "vit_tiny_block": Block(197, 192, 768, "before", heads=3),
    "bert_base_mlp": Block(128, 768, 3072, "after"),
    "vit_tiny_mlp": Block(197, 192, 768, "before"),
    "mixer_s16_block": Block(196, 512, 2048, "before", tokens=256),
    "mixer_s16_channels": Block(196, 512, 2048, "before"),
    "mixer_s16_channels_any_scale": Block(196, 512, 2048, "before", odd=True),
}


def executed(net: Compilation) -> ArrayProgram:
    """The program of a compiled block.

    Raises:
        AssertionError: it is not one program, or one of two results is not the reference's.
    """
    layers = net.program.schedule.chosen
    runs = []
    for seed in (1, 2):
        (stretch,) = stretches(layers, VEK280.name, np.random.default_rng(seed))
        runs.append(stretch)
    program = runs[0].program
    done = execute(program, VEK280, [run.tensors for run in runs])
    for number, run in enumerate(runs):
        wanted = run.results[0][1]
        np.testing.assert_array_equal(done.tensor(wanted, run=number), wanted)
        assert np.unique(wanted).size > 20, "results too much alike to show anything"
    return program


def emulated(block: Block, net: Compilation) -> np.ndarray:
    """Steps by which two runs of the emitted project differ from the float model's results.

    Raises:
        AssertionError: a layer's result is not its reference's.
    """
    model = block_network(replace(block, real=True)).SerializeToString()
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    apart = []
    with tempfile.TemporaryDirectory(prefix="aie_sequence_") as folder:
        project = net.write(Path(folder, "project"))
        for seed in (1, 2):
            spread = np.random.default_rng(seed).normal(0, 32, (block.rows, block.width))
            x = np.clip(np.rint(spread), -128, 127).astype(np.int8)
            result = project.run(x, timeout=None)
            assert result.matches_reference, f"not the reference's: {result.mismatches}"
            assert result.layers_checked == len(net.program.schedule.chosen), "one not compared"
            (found,), (real,) = result.outputs.values(), session.run(None, {"x": x})
            steps = np.clip(real / block.step + block.point, -128, 127)
            apart.append(np.abs(found.reshape(steps.shape) - steps))
    return np.stack(apart)


def rows_of(name: str) -> list[dict[str, object]]:
    """All figures of a case.

    Raises:
        AssertionError: it is not one program, or a result is not the reference's.
    """
    block = CASES[name]
    target = VersalAIEML(memory="plio", optimize_for="throughput", modules=("array",))
    net = match.compile(block_network(block), target, cache=False)
    layers = net.program.schedule.layers
    products = sum(layer.workload.macs for layer in layers)
    on = sum(layer.workload.macs for layer in layers if layer.module == "array")
    program, apart = executed(net), emulated(block, net)
    result = simulate_program(program, VEK280)
    assert result.steady, "no steady pace"
    alone = run_layer(program, VEK280).cycles
    tiles, stages = len(program.cores), len(net.program.schedule.chosen)
    beside = "beside the model in float32 by onnxruntime"

    def tops(cycles: float) -> float:
        return 2 * block.macs / cycles * VEK280.clock_ghz / 1000

    def us(cycles: float) -> float:
        return cycles / VEK280.clock_ghz / 1000

    note = f"{stages} stages, {block.rows} rows of {block.width}, {block.inner} between"
    note += f"; rows mixed before by {block.tokens}" if block.tokens else ""
    note += f"; {block.heads} heads of attention before" if block.heads else ""
    rows = [
        figure(name, "executed", 1, "", "measured", "two runs equal to the reference"),
        figure(name, "emulated", 1, "", "measured", "two runs, every layer equal to its reference"),
        figure(name, "simulated_tops", tops(result.interval), "TOPS", "simulated", note),
        figure(name, "simulated_us", us(result.interval), "us", "simulated", "repeated runs"),
        figure(name, "first_result_us", us(alone), "us", "simulated", "a single run"),
        figure(name, "tiles", tiles, "", "modelled", f"of {VEK280.core_tiles}"),
        figure(name, "macs_on_array_percent", 100 * on / products, "%", "modelled"),
        figure(name, "max_error", float(apart.max()), "LSB", "measured", beside),
        figure(name, "mean_error", float(apart.mean()), "LSB", "measured", beside),
    ]
    for factor, which in ((0.5, "half"), (2.0, "double")):
        cycles = simulate_program(program, VEK280, assumed=Assumed().scaled(factor)).interval
        note = f"assumed times of the array at {which}"
        figures = ("tops", tops(cycles), "TOPS"), ("us", us(cycles), "us")
        rows += [
            figure(name, f"simulated_{metric}_{which}", value, unit, "simulated", note)
            for metric, value, unit in figures
        ]
    return rows
