"""The emulated arrays refuse what the chip cannot do; built by every compiler there is."""

import ctypes
import shutil
import subprocess
from pathlib import Path

import pytest

from match_aie.targets.diana.facts import FACTS

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


#: Inputs, outputs, gain, shift, the first input, the first addend, where weights are.
ANALOG = {
    "": (1152, 512, 9, 15, -63, 32767, 0),
    "no sum of so many products of 1153": (1153, 512, 9, 15, 0, 0, 0),
    "no columns of 513": (16, 513, 9, 15, 0, 0, 0),
    "no gain of 0": (16, 16, 0, 15, 0, 0, 0),
    "no shift behind its converter of 16": (16, 16, 9, 16, 0, 0, 0),
    "reads 7 bits, not 64": (16, 16, 9, 3, 64, 0, 0),
    "reads 7 bits, not -64": (16, 16, 9, 3, -64, 0, 0),
    "channel 0 leaves 16 bits": (16, 16, 9, 3, 0, 32768, 0),
    "weights, 147456 bytes at byte 4097, leaves the cell memory": (1152, 512, 9, 3, 0, 0, 4097),
}


@pytest.fixture(scope="module", params=COMPILERS)
def emulation(request, tmp_path_factory):
    out = tmp_path_factory.mktemp("diana") / "faults.so"
    sources = [
        FOLDERS[0] / "emulation" / "ma_host.c",
        *(
            FOLDERS[1] / "emulation" / name
            for name in ("ma_diana_host.c", "ma_diana_analog_host.c")
        ),
        HERE / "faults.c",
    ]
    includes = [f"-I{folder / name}" for folder in FOLDERS for name in ("include", "emulation")]
    cells = f"-DMA_CELL_BYTES={FACTS.cell_bytes}"
    command = [request.param, *FLAGS, cells, *includes, *map(str, sources), "-o", out]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    library = ctypes.CDLL(str(out))
    library.test_job.restype = ctypes.c_char_p

    library.test_analog.restype = ctypes.c_char_p

    def job(places=None, filter=1, stride=1, shift=0, rows=1, load=0, analog=None):
        if analog is not None:
            return library.test_analog(*analog).decode()
        array = (ctypes.c_uint32 * 4)(*places)
        return library.test_job(array, filter, stride, shift, rows, load).decode()

    return job


def test_a_sound_job(emulation):
    assert emulation(**SOUND) == ""


@pytest.mark.parametrize("sentence", ANALOG)
def test_jobs_of_the_analog_array(emulation, sentence):
    found = emulation(analog=ANALOG[sentence])
    assert sentence in found
    assert bool(sentence) == bool(found)


@pytest.mark.parametrize("sentence", FAULTS)
def test_faults(emulation, sentence):
    assert sentence in emulation(**SOUND | FAULTS[sentence])
