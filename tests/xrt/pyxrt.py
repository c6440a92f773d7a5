"""A stand-in for `pyxrt` (XRT 2.18): what hosts use of it; a run does what the C++ one's does."""

from enum import Enum
from pathlib import Path


class xclBOSyncDirection(Enum):
    XCL_BO_SYNC_BO_TO_DEVICE = 0
    XCL_BO_SYNC_BO_FROM_DEVICE = 1


class ert_cmd_state(Enum):
    ERT_CMD_STATE_COMPLETED = 4


class _Kernel:
    def __init__(self, name):
        self.name = name

    def get_name(self):
        return self.name


class xclbin:
    def __init__(self, path):
        self.path = path

    def get_kernels(self):
        return [_Kernel("other"), _Kernel("MLIR_AIE_0")]

    def get_uuid(self):
        return 0


class device:
    def __init__(self, index):
        self.index = index

    def register_xclbin(self, found):
        return found.get_uuid()


class hw_context:
    def __init__(self, found, uuid):
        self.device, self.uuid = found, uuid


class bo:
    cacheable, host_only = 1 << 24, 1 << 29

    def __init__(self, found, size, flags, group):
        self.host, self.seen, self.group = bytearray(b"\xa5" * size), b"\x5a" * size, group

    def write(self, data, offset):
        self.host[offset : offset + len(data)] = data

    def read(self, size, offset):
        return bytes(self.host[offset : offset + size])

    def sync(self, way):
        if way is xclBOSyncDirection.XCL_BO_SYNC_BO_TO_DEVICE:
            self.seen = bytes(self.host)
        else:
            self.host = bytearray(self.seen)


class kernel:
    def __init__(self, context, name):
        assert name == "MLIR_AIE_0"

    def group_id(self, argument):
        return 100 + argument

    def __call__(self, opcode, code, count, *buffers):
        assert opcode == 3
        assert 4 * count == len(code.seen)
        assert code.group == 101
        for at, buffer in enumerate(buffers):
            assert buffer.group == 103 + at
            Path(f"arg{at}.bin").write_bytes(buffer.seen)
        result = Path("result.bin").read_bytes()
        assert len(result) == len(buffers[-1].seen)
        buffers[-1].seen = result
        return self

    def wait(self):
        return ert_cmd_state.ERT_CMD_STATE_COMPLETED
