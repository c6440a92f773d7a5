"""What every host program does with XRT: opens the device, hands a sequence its buffers, runs it.

Uses `pyxrt` of XRT 2.18 and later, and numpy.
"""

from pathlib import Path

import numpy as np
import pyxrt


def instructions(path):
    """Words of a sequence: binary, or text (".txt") of older versions of aiecc."""
    return words(path) if str(path).endswith(".txt") else np.fromfile(path, np.uint32)


def words(path):
    """Hexadecimal words, one a line."""
    return np.array([int(line, 16) for line in Path(path).read_text().split()], np.uint32)


def held(path, data, size):
    """What a file holds, which must be so many bytes."""
    if data.nbytes != size:
        raise ValueError(f"{path} holds {data.nbytes} bytes, not {size}")
    return data


def tensor(path, dtype, elements):
    """A raw tensor of a file."""
    data = np.fromfile(path, np.uint8)
    return held(path, data, elements * np.dtype(dtype).itemsize).view(dtype)


def narrowed(tensor):
    """Bits of bfloat16, halves to even; NaN stays NaN."""
    bits = np.ascontiguousarray(tensor, np.float32).reshape(-1).view(np.uint32)
    kept = np.where(np.isnan(tensor.reshape(-1)), bits | 0x400000, bits + 0x7FFF + (bits >> 16 & 1))
    return (kept >> 16).astype(np.uint16)


def widened(bits):
    """The way back, exact."""
    return (bits.astype(np.uint32) << 16).view(np.float32)


def part_places(p):
    """Of a part of a tensor: elements of what is moved, and of the tensor from its beginning."""
    row, column, channel = np.ogrid[: p["real_rows"], : p["real_columns"], : p["real_channels"]]
    own = (row * p["real_columns"] + column) * p["real_channels"] + channel
    wide = (p["first"] + row) * p["columns"] + p["left"] + column
    return (wide * p["channels"] + channel).reshape(-1), own.reshape(-1)


def matrix_places(p):
    """Likewise of blocks of a matrix."""
    sizes = p["passes"], p["blocks"], p["rows"], p["width"]
    a, b, r, c = np.ogrid[tuple(slice(size) for size in sizes)]
    turn = a // p["turn"] if p["turn"] else a * 0
    row = p["row"] + (a - turn * p["turn"]) * p["row_step"] + r
    column = p["column"] + b * p["column_step"] + turn * p["turn_step"] + c
    moved = np.arange(np.prod(sizes)).reshape(sizes)
    row, column = np.broadcast_arrays(row, column)
    inside = (row < p["matrix_rows"]) & (column < p["matrix_columns"])
    return moved[inside], (row * p["matrix_columns"] + column)[inside]


def cut(way, tensor):
    """Bytes of a tensor's part, as the array moves it."""
    flat = np.ascontiguousarray(tensor).reshape(-1)
    flat = narrowed(flat) if way["narrow"] else flat
    begin, p = way["begin"] // flat.itemsize, way["part"]
    if p is None:
        return flat[begin : begin + way["bytes"] // flat.itemsize].view(np.uint8)
    found = np.full(way["bytes"] // flat.itemsize, p.get("fill", 0), flat.dtype)
    moved, own = PLACES[way["struct"]](p)
    found[moved] = flat[begin + own]
    return found.view(np.uint8)


def paste(way, data, tensor):
    """The way back, into `tensor` as it lies in memory."""
    flat = tensor.reshape(-1)
    carried = data.view(np.uint16 if way["narrow"] else flat.dtype)
    begin, p = way["begin"] // carried.itemsize, way["part"]
    carried = widened(carried) if way["narrow"] else carried
    if p is None:
        flat[begin : begin + carried.size] = carried
    else:
        moved, own = PLACES[way["struct"]](p)
        flat[begin + own] = carried[moved]


PLACES = {"ma_array": part_places, "ma_array_matrix": matrix_places}


class Array:
    """A configured array, and the buffers of its sequence."""

    def __init__(self, xclbin_path, instructions_path, sizes):
        """Open the first device.

        Args:
            xclbin_path: what aiecc made.
            instructions_path: likewise.
            sizes: bytes of each argument of the sequence.
        """
        self.device = pyxrt.device(0)
        xclbin = pyxrt.xclbin(str(xclbin_path))
        self.device.register_xclbin(xclbin)
        self.context = pyxrt.hw_context(self.device, xclbin.get_uuid())
        names = [kernel.get_name() for kernel in xclbin.get_kernels()]
        self.kernel = pyxrt.kernel(self.context, next(n for n in names if n.startswith("MLIR_AIE")))
        code = instructions(instructions_path)
        self.count = code.size
        self.code = pyxrt.bo(self.device, code.nbytes, pyxrt.bo.cacheable, self.kernel.group_id(1))
        self.code.write(code.tobytes(), 0)
        self.code.sync(pyxrt.xclBOSyncDirection.XCL_BO_SYNC_BO_TO_DEVICE)
        self.buffers = [
            pyxrt.bo(self.device, size, pyxrt.bo.host_only, self.kernel.group_id(3 + at))
            for at, size in enumerate(sizes)
        ]

    def send(self, at, data):
        """Bytes into argument `at`."""
        self.buffers[at].write(np.ascontiguousarray(data).tobytes(), 0)
        self.buffers[at].sync(pyxrt.xclBOSyncDirection.XCL_BO_SYNC_BO_TO_DEVICE)

    def fetch(self, at, size):
        """Bytes of argument `at`."""
        self.buffers[at].sync(pyxrt.xclBOSyncDirection.XCL_BO_SYNC_BO_FROM_DEVICE)
        return np.frombuffer(bytes(self.buffers[at].read(size, 0)), np.uint8)

    def run(self):
        """One execution of the sequence."""
        opcode = 3
        state = self.kernel(opcode, self.code, self.count, *self.buffers).wait()
        if state != pyxrt.ert_cmd_state.ERT_CMD_STATE_COMPLETED:
            raise RuntimeError(f"the array did not complete: {state}")
