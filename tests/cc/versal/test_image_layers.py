"""Random image layers and sums as emitted C++: many graphs in one library, called one by one."""

import ctypes
import shutil
import subprocess

import numpy as np
import pytest

from match_aie.codegen import render_template
from match_aie.errors import Infeasible
from match_aie.hardware import runtime_files
from match_aie.targets.aie_ml.emulation import include_folder
from match_aie.targets.aie_ml.graph.image_plan import plan_image
from match_aie.targets.aie_ml.graph.write import Placed, network_units, pack
from match_aie.targets.aie_ml.kernels.arithmetic import in_fixed_point
from match_aie.workload import reference
from tests.aie_layers import constants_of, random_inputs, random_layer

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler"),
]


def layers_of(kind, count):
    """So many random layers with plans: workload, constants, graph."""
    found = []
    for seed in range(5000, 5100):
        rng = np.random.default_rng(seed)
        workload = random_layer(rng, kind)
        if workload is None:
            continue
        converted = in_fixed_point(workload, constants_of(workload, rng))
        if isinstance(converted, str):
            continue
        fixed, constants = converted.workload, converted.constants
        plan = plan_image(fixed, "vek280", 1 + seed % 2)
        assert not isinstance(plan, Infeasible)
        found.append((fixed, constants, plan.graph(f"layer{len(found)}", fixed, constants)))
        if len(found) == count:
            return found
    raise AssertionError(f"too few layers of kind {kind}")


def build(layers, folder):
    """One library of all graphs, side by side on an array as wide as they need."""
    placed, column = [], 0
    for workload, _, graph in layers:
        placed.append(Placed(graph, column, workload))
        column += graph.columns
    for unit in network_units("net", placed):
        path = folder / unit.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(render_template(unit.template, **unit.values))
    for path, text in runtime_files("match_aie.targets.aie_ml", ("include/ma_array.h",)).items():
        (folder / "aie" / path.rpartition("/")[2]).write_bytes(text)
    flags = ("-std=c++20", "-O0", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off")
    paths = ("-I", str(include_folder()), "-I", "aie", "-I", "emulation")
    # Libraries of one process keep their designs apart.
    flags = (*flags, "-fno-gnu-unique")
    command = ("g++", *flags, *paths, "-shared", "-fPIC", "emulation/net_array.cpp", "-o", "net.so")
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:4000]
    return ctypes.CDLL(str(folder / "net.so"))


@pytest.mark.parametrize("kind", ["conv", "depthwise", "average", "max", "add"])
def test_random_layers_as_emitted(tmp_path, kind) -> None:
    layers = layers_of(kind, 8)
    library = build(layers, tmp_path)
    for number, (workload, constants, graph) in enumerate(layers):
        packed = pack(graph, workload).constants
        for turn in range(2):
            inputs = random_inputs(workload, np.random.default_rng(number + 100 * turn))
            arrays = [inputs.get(o.name, packed.get(o.name)) for o in workload.operands[:-1]]
            y = np.zeros(workload.output.shape, workload.output.dtype)
            call = getattr(library, f"layer{number}_array")
            call(*(array.ctypes.data_as(ctypes.c_void_p) for array in (*arrays, y)))
            wanted = reference(workload, [inputs[o.name] for o in workload.inputs], constants)
            np.testing.assert_array_equal(y, wanted)
