"""Image networks on the array, images following each other: cases of `aie_network.py`.

The processor prepares the next image while the array works on those before it: what it does (copies
into the array's buffers, its calls, layers of its own) is a part of what is simulated. Pixels come
as a camera gives them, uint8 and channels last; the cases called `_float` have the models' own
inputs, which the processor quantises.
"""

from __future__ import annotations

import json
from pathlib import Path

import generated
import numpy as np
import onnx
from onnx import TensorProto, helper
from rows import duration, figure, processor

import match_aie as match
from match_aie.compilation import Compilation
from match_aie.errors import Infeasible
from match_aie.simulating import steps
from match_aie.targets.aie_ml import device
from match_aie.targets.aie_ml.array import ArrayProgram, Assumed
from match_aie.targets.aie_ml.execute import execute
from match_aie.targets.aie_ml.graph.capacity import runs_ahead
from match_aie.targets.aie_ml.simulate import Beyond, host_work, simulate_streamed
from match_aie.targets.versal import VersalAIEML
from match_aie.targets.versal.executing import stretches
from match_aie.toolchain.record import parse

Row = dict[str, object]

RESNET, MOBILENET = "resnet8_u8.onnx", "mobilenetv1_025_u8.onnx"

#: By case: the network, and whether pixels come as a camera gives them.
IMAGES = {
    "resnet8_stream": (RESNET, True),
    "mobilenet_stream": (MOBILENET, True),
    "resnet8_stream_float": (RESNET, False),
    "mobilenet_stream_float": (MOBILENET, False),
}

VEK280 = device("vek280")


def of_pixels(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with an input of uint8, channels last, instead of one that it quantises."""
    made = onnx.ModelProto()
    made.CopyFrom(model)
    graph, name = made.graph, made.graph.input[0].name
    (first,) = (n for n in graph.node if name in n.input)
    assert first.op_type == "QuantizeLinear"
    batch, deep, high, wide = (d.dim_value for d in graph.input[0].type.tensor_type.shape.dim)
    graph.node.remove(first)
    graph.node.insert(0, helper.make_node("Transpose", ["pixels"], first.output, perm=(0, 3, 1, 2)))
    shape = batch, high, wide, deep
    graph.input[0].CopyFrom(helper.make_tensor_value_info("pixels", TensorProto.UINT8, shape))
    return made


def _executed(net: Compilation) -> tuple[ArrayProgram, int]:
    """The network's program on the array, and images for which it gave what references give.

    Raises:
        AssertionError: it is not one program, or a result is not the reference's.
    """
    layers = [layer for layer in net.program.schedule.chosen if layer.module == "array"]
    runs = []
    for seed in (1, 2):
        (stretch,) = stretches(layers, VEK280.name, np.random.default_rng(seed))
        runs.append(stretch)
    done = execute(runs[0].program, VEK280, [run.tensors for run in runs])
    for number, run in enumerate(runs):
        wanted = run.results[0][1]
        np.testing.assert_array_equal(done.tensor(wanted, run=number), wanted)
    first, second = (run.results[0][1] for run in runs)
    assert not np.array_equal(first, second), "results do not depend on the image"
    return runs[0].program, len(runs)


def image_rows(name: str) -> list[Row]:
    """All figures of a network."""
    file, camera = IMAGES[name]
    model = onnx.load(generated.network(file))
    target = VersalAIEML(optimize_for="throughput")
    begun = processor()
    net = match.compile(of_pixels(model) if camera else model, target=target, cache=False)
    compiling = processor() - begun
    program, executed = _executed(net)
    record = parse(json.loads(net.sources()["match_aie.json"]), Path(net.symbol))
    calls = steps(record, target)
    found = target.stretches(calls)
    clocks = target.frequency / 1e9, VEK280.clock_ghz
    ahead = runs_ahead(found[0].graph)
    alone = net.simulate(record=False).microseconds
    begun = processor()
    rows = [
        figure(name, "executed", executed, "images", "measured", "equal to the reference"),
        figure(name, "tiles", len(program.cores), "", "modelled", f"of {VEK280.core_tiles}"),
        figure(name, "one_at_a_time_us", alone, "us", "simulated", "the processor's part modelled"),
    ]
    for factor, which in ((1.0, ""), (0.5, "_half"), (2.0, "_double")):
        base = Beyond()
        beyond = Beyond(
            base.memory_gbps / factor,
            round(base.memory_cycles * factor),
            base.call_ns * factor,
            base.copied_per_ns / factor,
        )
        work = host_work(calls, found, clocks, ahead, beyond)
        assert not isinstance(work, Infeasible), str(work)
        assumed = Assumed().scaled(factor)
        run = simulate_streamed(program, VEK280, work, assumed=assumed, beyond=beyond)
        each, host = (cycles / VEK280.clock_ghz / 1000 for cycles in (run.interval, work.cycles))
        note = f"{ahead} images ahead; the processor {host:.2f} us of it"
        note += "" if run.steady else "; the mean of the later half"
        rows.append(figure(name, f"simulated_us{which}", each, "us", "simulated", note))
        if not which:
            paced = (
                ("images_per_second", 1e6 / each, "1/s"),
                ("times_one_at_a_time", alone / each, ""),
            )
            rows += [figure(name, *three, "simulated", note) for three in paced]
            rows.append(figure(name, "host_us", host, "us", "modelled", "of an image"))
    rows.append(duration(name, "seconds", compiling, "compile, after other cases"))
    simulating = processor() - begun
    rows.append(duration(name, "seconds_simulation", simulating, "three times"))
    return rows
