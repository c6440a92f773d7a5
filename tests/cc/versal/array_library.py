"""Graphs of layers side by side in one library, called one by one."""

import ctypes
import shutil
import subprocess

from match_aie.codegen import render_template
from match_aie.hardware import runtime_files
from match_aie.targets.aie_ml.emulation import include_folder
from match_aie.targets.aie_ml.graph.write import Placed, network_units
from tests.emulation_object import emulation_object

END = 'extern "C" void end_all(void);\nvoid end_all(void) {{\n{calls}\n}}\n'

#: Unoptimised, clang compiles the emulation in half of gcc's time.
FASTEST = "clang++" if shutil.which("clang++") else "g++"


def build(layers, folder, compiler=FASTEST):
    """One library of all graphs, side by side on an array as wide as they need.

    Args:
        layers: (workload, constants, graph) of each.
        folder: for the sources.
        compiler: of C++20.
    """
    placed, column = [], 0
    for workload, _, graph in layers:
        placed.append(Placed(graph, column, workload))
        column += graph.columns
    for unit in network_units("net", placed, 1024):
        path = folder / unit.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(render_template(unit.template, **unit.values))
    calls = "\n".join(f"    {graph.name}.end();" for _, _, graph in layers)
    with (folder / "aie" / "net_host.cpp").open("a") as file:
        file.write(END.format(calls=calls))
    for path, text in runtime_files("match_aie.targets.aie_ml", ("include/ma_array.h",)).items():
        (folder / "aie" / path.rpartition("/")[2]).write_bytes(text)
    flags = ["-std=c++20", "-O0", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off"]
    # Libraries of one process keep their designs apart.
    flags += ["-fno-gnu-unique"] if compiler == "g++" else []
    paths = ("-I", str(include_folder()), "-I", "aie", "-I", "emulation")
    flags += ["-fPIC"]
    made = emulation_object(compiler, *flags)
    sources = ("-shared", "emulation/net_array.cpp", made, "-o", "net.so")
    command = (compiler, *flags, *paths, *sources)
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:4000]
    return ctypes.CDLL(str(folder / "net.so"))
