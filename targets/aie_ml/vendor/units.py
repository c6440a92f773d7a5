"""The files beside the graphs that the vendor's tools take."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from match_aie.hardware import Unit, runtime_files
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.emulation import ARCH_MACRO
from match_aie.targets.aie_ml.graph.write import FOLDER
from match_aie.targets.aie_ml.vendor.golden import Golden
from match_aie.targets.aie_ml.vendor.job import Frames, Job

#: Where data lies, as the simulators see it: they run in the folder above.
DATA = "data"

#: What the tools call a device whole (`--part`), of its evaluation board, and that board's platform
#: (`--platform`), by the device's name. None where no public document that we found says it.
PARTS: Mapping[str, tuple[str | None, str | None]] = {
    "vek280": ("xcve2802-vsvh1760-2MP-e-S", "xilinx_vek280_base"),
    "vek385": (None, "vek385_base"),
    "vck190": ("xcvc1902-vsva2197-2MP-e-S", "xilinx_vck190_base"),
}


def vendor_files() -> dict[str, bytes]:
    """What every project has: how files of numbers are read and compared."""
    return runtime_files("match_aie.targets.aie_ml", ("aie/ma_golden.h", "aie/check.cpp"))


def vendor_units(
    network: str, jobs: Sequence[Job], golden: Golden, kernels: Sequence[str], device: Device
) -> list[Unit]:
    """The program, its data, and the commands; nothing of graphs with programmable logic.

    Args:
        network: C identifier.
        jobs: in the order in which they run.
        golden: tensors of the network's layers on the array; asked for when files are written.
        kernels: paths of their sources.
        device: the array.
    """
    jobs = [job for job in jobs if job.graph.logic is None]  # simulators have no such logic
    if not jobs:
        return []
    part, platform = PARTS.get(device.name, (None, None))
    values: dict[str, object] = {
        "network": network,
        "jobs": jobs,
        "frames": golden.count,
        "arch": _architecture(device),
        "graphs": list(dict.fromkeys(job.graph.name for job in jobs)),
        "device": device,
        "part": part,
        "platform": platform,
        "streams": any(job.streams for job in jobs),
        "memory": any(not job.streams for job in jobs),
        "fed": next((f"{j.graph.name}_{j.inputs[0].name}" for j in jobs if j.streams), ""),
        "pairs": [
            f"{DATA}/{job.graph.name}_{way.name}"
            for job in jobs
            if job.streams
            for way in job.outputs
        ],
    }
    made = [
        Unit(f"{FOLDER}/app.cpp", "aie/app.cpp.mako", values),
        Unit(f"{FOLDER}/Makefile", "aie/vendor_makefile.mako", values, verbatim=True),
        Unit(f"{FOLDER}/README.md", "aie/vendor_readme.md.mako", values, verbatim=True),
    ]
    whole = {"kernels": tuple(kernels), "graphs": (f"{FOLDER}/app.cpp",), "logics": ()}
    made.append(Unit(f"emulation/{network}_app.cpp", "aie/emulation.cpp.mako", whole))
    return made + _data(jobs, golden.of)


def _architecture(device: Device) -> str:
    """The flag by which the emulation knows a generation that is not its own."""
    name = device.architecture.name
    return "" if name == "AIE-ML" else f"-D__AIE_ARCH__={ARCH_MACRO[name]} "


def _data(jobs: Sequence[Job], frames: Frames) -> list[Unit]:
    made = []
    for job in jobs:
        if job.parametric:
            made.append(_text(f"{job.name}_parameters", job.parameters))
        for way in job.inputs:
            made.append(_text(f"{job.name}_{way.name}", partial(way.text, frames)))
        for way in job.outputs:
            made.append(_text(f"{job.name}_{way.name}_golden", partial(way.text, frames)))
    return made


def _text(name: str, write: Callable[[], str]) -> Unit:
    """A file of numbers, computed when it is written."""
    path = f"{FOLDER}/{DATA}/{name}.txt"
    return Unit(path, "aie/text.mako", {"write": write}, verbatim=True)
