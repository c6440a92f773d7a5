"""Builds and runs a project that AIE4ML emitted, as it is, with the emulation's headers.

The vendor's compiler reads which kernels a graph makes, and compiles each with its source. Here
the graph's program is compiled first; the members that it lacks name the classes of kernels, and
each source is compiled with these.
"""

import re
import subprocess
from pathlib import Path

from match_aie.targets.aie_ml.emulation import include_folder

FLAGS = ("-std=c++20", "-O0", "-w", "-ffp-contract=off", "-D__X86SIM__", "-D__AIENGINE__", "-c")
#: `kind<types>::member(...)`, as a linker names it.
MEMBER = re.compile(r"U (?P<class>(?P<kind>\w+)<.*>)::\w+\(")


def sources(project):
    return sorted((project / "src" / "kernels").rglob("*.cpp"))


def include_flags(project):
    src = project / "src"
    folders = sorted({file.parent for file in (src / "kernels").rglob("*.h")})
    return [f"-I{folder}" for folder in (include_folder(), src, src / "weights", *folders)]


def run(command, cwd):
    done = subprocess.run(
        [str(word) for word in command], cwd=cwd, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stderr[:6000]}"
    return done.stdout


def wanted_kernels(program):
    """Class templates that the graph's program lacks, with their instances."""
    found = {}
    for line in run(("nm", "-uC", program), program.parent).splitlines():
        if match := MEMBER.search(line):
            found.setdefault(match["kind"], set()).add(match["class"])
    return found


def instances(source, kernels):
    """What a source has to define of `kernels`, as C++."""
    text = source.read_text()
    kinds = [kind for kind in sorted(kernels) if re.search(rf"\b{kind}<[^;{{]*>::", text)]
    return [f"template class {name};" for kind in kinds for name in sorted(kernels[kind])]


def build(project, compiler="g++"):
    """Compiles and links a project; the names of the kernel sources that it takes."""
    project = Path(project)
    flags = (*FLAGS, *include_flags(project))
    objects, taken = [project / "app.o"], []
    run((compiler, *flags, "app.cpp", "-o", objects[0]), project)
    kernels = wanted_kernels(objects[0])
    for source in sources(project):
        if lines := instances(source, kernels):
            taken.append(source.name)
            unit = project / f"{source.stem}_instances.cpp"
            unit.write_text(
                "\n".join(['#include "parameters.h"', f'#include "{source.name}"', *lines, ""])
            )
            objects.append(unit.with_suffix(".o"))
            run((compiler, *flags, f"-I{source.parent}", unit, "-o", objects[-1]), project)
    run((compiler, *objects, "-o", "app"), project)
    return taken


def execute(project):
    """Runs a built project; its outputs lie where the vendor's simulator leaves them."""
    project = Path(project)
    run((project / "app",), project)
    results = project / "x86simulator_output" / "data"
    results.mkdir(parents=True, exist_ok=True)
    for file in (project / "data").glob("y_p*.txt"):
        file.rename(results / file.name)
