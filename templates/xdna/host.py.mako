<%
    names = [one.name for one in h.arguments]

    def ways(moved):
        for way in moved:
            v = way.view
            part = dict(v.part) if v.part else None
            yield {'way': v.name, 'tensor': way.tensor, 'at': way.begin, 'begin': v.begin, 'bytes': v.nbytes, 'part': part, 'struct': v.struct, 'narrow': v.narrow}
%>\
"""Runs ${h.name}.mlir by XRT (pyxrt): raw tensors from files, results into files.

    python ${h.name}_host.py XCLBIN INSTRUCTIONS ${'CONSTANTS ' if h.constants else ''}${' '.join(f'{t.name}.bin' for t in (*h.inputs, *h.outputs))} [REPEATS]
"""

import sys
import time
from pathlib import Path

import ma_npu
import numpy as np

#: (name, type, elements) of every tensor.
INPUTS = ${repr([(t.name, t.dtype, t.elements) for t in h.inputs])}
OUTPUTS = ${repr([(t.name, t.dtype, t.elements) for t in h.outputs])}

#: Bytes of each argument of the sequence: ${', '.join(names)}.
SIZES = ${repr([4 * one.words for one in h.arguments])}

#: Which part of which tensor lies where in the arguments.
PACKED = [
% for way in ways(h.packed):
    ${repr(way)},
% endfor
]
UNPACKED = [
% for way in ways(h.unpacked):
    ${repr(way)},
% endfor
]


def packed(tensors):
    """The argument `inputs` of input tensors, in the order of INPUTS."""
    found = np.zeros(SIZES[${names.index('inputs')}], np.uint8)
    for way in PACKED:
        found[way["at"] : way["at"] + way["bytes"]] = ma_npu.cut(way, tensors[way["tensor"]])
    return found


def unpacked(data):
    """Output tensors, in the order of OUTPUTS, of the argument `outputs`."""
    tensors = [np.zeros(elements, dtype) for _, dtype, elements in OUTPUTS]
    for way in UNPACKED:
        ma_npu.paste(way, data[way["at"] : way["at"] + way["bytes"]], tensors[way["tensor"]])
    return tensors


def main(*given):
    """So many runs, timed; one where no number stands behind the files."""
    many = ${2 + (1 if h.constants else 0) + len(h.inputs) + len(h.outputs)}
    repeats = int(given[many]) if len(given) > many else 1
    if len(given) < many or repeats < 1:
        sys.exit(__doc__)
    xclbin, instructions, *files = given[:many]
    array = ma_npu.Array(xclbin, instructions, SIZES)
% if h.constants:
    constants, *files = files
    array.send(${names.index('constants')}, ma_npu.held(constants, ma_npu.words(constants), SIZES[${names.index('constants')}]))
% endif
    tensors = [ma_npu.tensor(path, *one[1:]) for path, one in zip(files, INPUTS)]
    array.send(${names.index('inputs')}, packed(tensors))
    begin = time.perf_counter()
    for _ in range(repeats):
        array.run()
    taken = time.perf_counter() - begin
    results = unpacked(array.fetch(${names.index('outputs')}, SIZES[${names.index('outputs')}]))
    for path, tensor in zip(files[len(INPUTS) :], results):
        Path(path).write_bytes(tensor.tobytes())
    print(f"{repeats} runs, {1e6 * taken / repeats:.1f} us each")


if __name__ == "__main__":
    main(*sys.argv[1:])
