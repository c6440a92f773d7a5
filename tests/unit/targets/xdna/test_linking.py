"""Room for the stack, and for what a core's ELF file holds."""

import re

import numpy as np

from match_aie.targets.aie_ml.known import device
from match_aie.targets.xdna.mlir import DIALECTS, text
from match_aie.targets.xdna.mlir.linking import crowded
from match_aie.targets.xdna.mlir.places import STACK, addresses, stack_bytes
from tests.xdna_programs import chain

NPU1 = device("npu1")


def said(program):
    return [crowded(program, NPU1, dialect) for dialect in DIALECTS.values()]


def test_weights_have_room_twice_in_old_versions():
    small = chain(8, (16, 16), np.int8, columns=1).program
    assert said(small) == ["", "", ""]
    before, march, august = said(chain(64, (256, 256), np.int8).program)
    assert before == march
    assert re.match(r"4 of 16 cores .* \(tile \(\d, \d\): 512 bytes\)", march)
    assert not august


def test_a_stack_is_as_large_as_its_bank_allows():
    program = chain(8, (16, 16), np.int8, columns=1).program
    at = addresses(program, NPU1)
    assert {stack_bytes(program, at, core.tile, 0) for core in program.cores} == {STACK}
    assert {stack_bytes(program, at, core.tile, 64) for core in program.cores} == {STACK - 64}
    sizes = re.findall(r"stack_size = (\d+)", text(program, NPU1))
    assert set(map(int, sizes)) == {STACK}
