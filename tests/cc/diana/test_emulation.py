"""The emulated array refuses what the chip cannot do; built by every compiler there is."""

import ctypes
import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
TARGETS = HERE.parents[2] / "targets"
FOLDERS = [TARGETS / name / "runtime" for name in ("common", "diana")]
COMPILERS = [name for name in ("gcc", "clang") if shutil.which(name)]
FLAGS = ("-std=c11", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off", "-O2", "-shared", "-fPIC")
ACTIVATIONS, WEIGHTS = 262_144, 65_536
SOUND = {
    "places": (0, 1024, ACTIVATIONS, ACTIVATIONS + 256),
    "filter": 1,
    "stride": 1,
    "shift": 4,
    "rows": 4,
    "load": 0,
}
FAULTS = {
    "no filter of 2": {"filter": 2},
    "no stride of 3": {"stride": 3},
    "no shift of 32": {"shift": 32},
    "no input rows of 0": {"rows": 0},
    "input, 256 bytes at byte 261889, leaves the activation memory": {
        "places": (ACTIVATIONS - 255, 1024, ACTIVATIONS, ACTIVATIONS + 256)
    },
    "output, 256 bytes at byte 262144, leaves the activation memory": {
        "places": (0, ACTIVATIONS, ACTIVATIONS, ACTIVATIONS + 256)
    },
    "weights, 256 bytes at byte -1, leaves the weight memory": {
        "places": (0, 1024, ACTIVATIONS - 1, ACTIVATIONS + 256)
    },
    "offsets, 64 bytes at byte 65473, leaves the weight memory": {
        "places": (0, 1024, ACTIVATIONS, ACTIVATIONS + WEIGHTS - 63)
    },
    "the array uses byte 0 of L1 before the wait": {"load": 1},
}


@pytest.fixture(scope="module", params=COMPILERS)
def emulation(request, tmp_path_factory):
    out = tmp_path_factory.mktemp("diana") / "faults.so"
    sources = [
        *(FOLDERS[0] / "emulation" / "ma_host.c", FOLDERS[1] / "emulation" / "ma_diana_host.c"),
        HERE / "faults.c",
    ]
    includes = [f"-I{folder / name}" for folder in FOLDERS for name in ("include", "emulation")]
    command = [request.param, *FLAGS, *includes, *map(str, sources), "-o", out]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    library = ctypes.CDLL(str(out))
    library.test_job.restype = ctypes.c_char_p

    def job(places, filter, stride, shift, rows, load):
        array = (ctypes.c_uint32 * 4)(*places)
        return library.test_job(array, filter, stride, shift, rows, load).decode()

    return job


def test_a_sound_job(emulation):
    assert emulation(**SOUND) == ""


@pytest.mark.parametrize("sentence", FAULTS)
def test_faults(emulation, sentence):
    assert sentence in emulation(**SOUND | FAULTS[sentence])
