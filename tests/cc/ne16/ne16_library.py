"""The emulation and the tile function of NE16, compiled, through ctypes; and numpy's answer."""

import ctypes
import shutil
import subprocess
from dataclasses import astuple
from pathlib import Path

import numpy as np

from match_aie.targets.gap9.ne16.job import Mode, Ne16Addresses
from match_aie.targets.gap9.ne16.packing import pack_weights

HERE = Path(__file__).parent
COMMON = Path(__file__).resolve().parents[3] / "targets" / "common" / "runtime"
RUNTIME = Path(__file__).resolve().parents[3] / "targets" / "gap9" / "runtime"
COMPILERS = [name for name in ("gcc", "clang") if shutil.which(name)]
FLAGS = ("-std=c11", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off", "-O3", "-shared", "-fPIC")
BASE = 0x10000000
WORDS = ctypes.c_uint32 * 24


def build(folder, compiler, *sources, flags=()):
    """A shared library of `sources`."""
    out = folder / f"{sources[-1].stem}.{compiler}.so"
    command = [
        *(compiler, *FLAGS, *flags),
        *("-I", str(RUNTIME / "include"), "-I", str(RUNTIME / "emulation")),
        *("-I", str(COMMON / "include"), "-I", str(COMMON / "emulation")),
        *(str(source) for source in sources),
        *("-o", str(out)),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return ctypes.CDLL(str(out))


def emulation(folder, compiler):
    library = build(
        folder, compiler, RUNTIME / "emulation" / "ma_ne16_host.c", HERE / "ne16_harness.c"
    )
    library.ma_emulated_l1.restype = ctypes.c_void_p
    library.test_message.restype = ctypes.c_char_p
    return Emulation(library)


class Emulation:
    """L1 as an array, jobs as registers; `message` says why the emulation stopped."""

    def __init__(self, library):
        self.library = library
        size = library.ma_emulated_l1_bytes()
        pointer = ctypes.cast(library.ma_emulated_l1(), ctypes.POINTER(ctypes.c_uint8))
        self.l1 = np.ctypeslib.as_array(pointer, (size,))

    @property
    def message(self):
        return self.library.test_message().decode()

    def job(self, registers):
        return self.library.test_job(WORDS(*registers))

    def wait(self, number):
        self.library.test_wait(number)

    def put(self, offset, array):
        data = np.frombuffer(np.ascontiguousarray(array).tobytes(), np.uint8)
        self.l1[offset : offset + data.size] = data

    def get(self, offset, dtype, shape):
        nbytes = int(np.prod(shape)) * np.dtype(dtype).itemsize
        return np.frombuffer(self.l1[offset : offset + nbytes].tobytes(), dtype).reshape(shape)

    def tile(self, layer, tile, offsets):
        """Run a tile with the C function; offsets of x, weight, scale, bias, y in L1."""
        self.library.test_tile(c_layer(layer), c_tile(layer, tile), (ctypes.c_uint32 * 5)(*offsets))


def c_layer(layer):
    return (ctypes.c_uint32 * 7)(
        layer.mode,
        layer.stride,
        layer.weight_bits,
        layer.out_bytes,
        layer.scale_bits,
        layer.shift,
        layer.relu | layer.zero << 16,
    )


def c_tile(layer, tile):
    """Strides of 0 mean dense in Python, and are written out in C."""
    out_bytes = layer.out_bytes
    in_pixel = tile.in_pixel or tile.inputs
    out_pixel = tile.out_pixel or tile.outputs * out_bytes
    strides = (
        tile.in_line or tile.in_columns * in_pixel,
        in_pixel,
        tile.out_line or tile.columns * out_pixel,
        out_pixel,
    )
    return (ctypes.c_uint32 * 12)(*astuple(tile)[:8], *strides)


def place(parts, start=8192):
    """Offsets in L1 of arrays one after another, 16-byte aligned; room for zeros in front."""
    offsets = []
    for part in parts:
        offsets.append(start)
        start += -(-part.nbytes // 16) * 16 + 16
    assert start <= 131072
    return offsets


def addresses(offsets):
    x, weight, scale, bias, y = (BASE + offset for offset in offsets)
    return Ne16Addresses(x, weight, scale, bias, y)


def dtype_of(layer):
    if layer.out_bytes == 4:
        return np.int32
    return np.uint8 if layer.relu else np.int8


def answer(layer, tile, x, weight, scale, bias):
    """What a job stores, from the definition: y[rows, columns, outputs]."""
    size = layer.filter
    rows = (tile.rows - 1) * layer.stride + size
    columns = (tile.columns - 1) * layer.stride + size
    image = np.zeros((max(rows, tile.top + tile.in_rows), 512, tile.inputs), np.int64)
    image[tile.top : tile.top + tile.in_rows, tile.left : tile.left + tile.in_columns] = x
    total = np.zeros((tile.rows, tile.columns, tile.outputs), np.int64)
    for fy in range(size):
        for fx in range(size):
            seen = image[fy : fy + rows - size + 1 : layer.stride]
            seen = seen[:, fx : fx + columns - size + 1 : layer.stride]
            taps = weight[:, fy, fx].astype(np.int64)
            total += seen * taps[:, 0] if layer.mode is Mode.DEPTHWISE else seen @ taps.T
    total = total.astype(np.int32).astype(np.int64)
    if layer.scale_bits:
        total = (total * scale.astype(np.int64)).astype(np.int32).astype(np.int64)
        total = (total + bias).astype(np.int32).astype(np.int64) >> layer.shift
    if layer.out_bytes == 4:
        return (np.maximum(total, 0) if layer.relu and layer.scale_bits else total).astype(np.int32)
    return np.clip(total, *((0, 255) if layer.relu else (-128, 127))).astype(dtype_of(layer))


def random_case(layer, tile, seed):
    """Operands of a tile: x, weight, scale, bias; and weights packed."""
    rng = np.random.default_rng(seed)
    channels = 1 if layer.mode is Mode.DEPTHWISE else tile.inputs
    x = rng.integers(0, 256, (tile.in_rows, tile.in_columns, tile.inputs), dtype=np.uint8)
    half = 1 << layer.weight_bits - 1
    shape = (tile.outputs, layer.filter, layer.filter, channels)
    weight = rng.integers(-half, half, shape).astype(np.int8)
    unsigned = (weight.astype(np.int16) + half).astype(np.uint8)
    kind = {0: np.uint8, 8: np.uint8, 16: np.uint16, 32: np.uint32}[layer.scale_bits]
    most = rng.choice([200, np.iinfo(kind).max])
    scale = rng.integers(1, most, tile.outputs).astype(kind)
    bias = rng.integers(-(1 << 20), 1 << 20, tile.outputs).astype(np.int32)
    stored = weight if layer.weight_zero is None else unsigned
    packed = pack_weights(stored, layer.weight_bits, layer.mode is Mode.DEPTHWISE)
    return x, unsigned.astype(np.int16) - layer.zero, scale, bias, packed
