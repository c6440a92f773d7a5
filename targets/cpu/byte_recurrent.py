"""LSTMs of one sequence whose x, states and weights are stored in 8 bits: products of bytes.

x is stored with one scale for all steps, a state with one of its own (`match_aie.workload.codes`),
both as they come. Sums of products are exact, less the zero point times a column's sum of weights;
then a scale and the bias, in float32. What is multiplied is `Form`: bytes where the processor
multiplies such, else int16 less the zero point. Everything else is as in `float_recurrent`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from match_aie.hardware import Constants
from match_aie.targets.cpu.cores import Split
from match_aie.targets.cpu.float_kernel import Product
from match_aie.targets.cpu.float_recurrent import RecurrentKernel, places_of, recurrent_kernel
from match_aie.targets.cpu.float_tile import padded
from match_aie.targets.cpu.form import Form
from match_aie.targets.cpu.machine import Dot, Machine
from match_aie.workload import ITEMSIZE, Workload, integer_rows

#: Products that an element of a sum has at least: scales, weights and elements are rounded seven
#: times in all, which the bound allows for as many products.
FEWEST = 8

#: Products of an element of a sum at most: 255 * 128 times so many fit 31 bits.
MOST = 1 << 15

#: What processors multiply. Others would widen weights in every step, and multiply floats instead.
_FORMS: Mapping[Dot, Form] = {
    "dpbusd": Form("dpbusd", 4, "uint8", 0),
    "sdot": Form("sdot", 4, "int8", 0),
    "madd": Form("madd", 2, "int16", 0),
}

#: What is added to a zero point where elements are kept as they are; int16 ones are less it.
_SHIFT = {"uint8": 0, "int8": -128}


@dataclass(frozen=True)
class ByteKernel:
    """An LSTM.

    Attributes:
        floats: the same layer of floats, with its panels; `product` and places are of this one.
        form: what is multiplied.
        seen: elements of a prepared row of x, in whole groups.
        held: of a prepared state.
        scales: elements of the packed bias before the scales of inputs, biases of the state's
            product, and its scales.
        places: as in `RecurrentKernel`; "seen" and "held" are the prepared rows.
        scratch: elements of it.
    """

    floats: RecurrentKernel
    form: Form
    seen: int
    held: int
    scales: tuple[int, int, int]
    places: Mapping[str, int]
    scratch: int

    @property
    def product(self) -> Product:
        """Of the inputs: bytes for a column are its weights, and before them their sum."""
        bytes_for_column = self.column(self.seen)
        return replace(self.floats.product, inner=bytes_for_column, a_row=self.seen)

    @property
    def split(self) -> Split | None:
        """As `RecurrentKernel`."""
        return self.floats.split

    @property
    def shift(self) -> int | None:
        """What is added to a zero point; None where elements are less it."""
        return _SHIFT.get(self.form.element)

    def column(self, run: int) -> int:
        """Bytes of a packed column of so many weights."""
        return ITEMSIZE["int32"] + run


def in_bytes(workload: Workload, machine: Machine) -> bool:
    """Whether an LSTM multiplies bytes."""
    if workload.kind != "lstm" or not workload.integer_rows or machine.dot not in _FORMS:
        return False
    d = workload.sizes
    both = workload.input_codes == workload.state_codes == "uint8"
    return both and d["B"] == 1 and FEWEST <= min(d["C"], d["K"]) and max(d["C"], d["K"]) <= MOST


def byte_kernel(workload: Workload, machine: Machine, split: Split | None = None) -> ByteKernel:
    """The layer's panels, and where rows in 8 bits lie."""
    floats, form, d = (
        recurrent_kernel(workload, machine, split, floats=False),
        _FORMS[machine.dot],
        workload.sizes,
    )
    seen, held = (-(-d[dim] // form.group) * form.group for dim in ("C", "K"))
    columns = padded(floats.product.tile, floats.product.columns)
    units = floats.gates * floats.padded
    places, scratch = places_of(workload, floats.chunk, floats=False)
    each = ITEMSIZE[form.element]
    for name, elements in (("seen", floats.chunk * seen), ("held", held)):
        places[name] = scratch
        scratch += -(-elements * each // ITEMSIZE["float32"])
    scales = (columns, 2 * columns, 2 * columns + units)
    return ByteKernel(floats, form, seen, held, scales, places, scratch)


def pack_bytes(
    kernel: ByteKernel, workload: Workload, constants: Constants
) -> dict[str, np.ndarray]:
    """Weights in panels of bytes, each behind its columns' sums; biases and scales side by side."""
    floats, hidden = kernel.floats, workload.sizes["K"]
    product, gates = floats.product, floats.gates
    seen, held = (integer_rows(constants[name]) for name in ("weight", "recurrent"))
    assert seen is not None
    assert held is not None
    panels = [
        np.arange(start, start + panel.width)
        for panel in product.panels
        for start in range(panel.start, panel.stop, panel.width)
    ]
    inputs = [np.where(columns < product.columns, columns, -1) for columns in panels]
    states = []
    for units in floats.units:
        for start in units.panels:
            own = np.arange(start, start + units.width)
            each = np.where(own < hidden, own, -1)
            states.append(
                np.concatenate([np.where(each < 0, -1, g * hidden + each) for g in range(gates)])
            )
    bias = np.asarray(constants["bias"], np.float32)
    pairs = ((seen, inputs, bias[0]), (held, states, bias[1]))
    taken = [(_taken(b, which), _taken(rows.scales, which)) for rows, which, b in pairs]
    return {
        **constants,
        "weight": _packed(seen.codes, inputs, kernel.form.group),
        "recurrent": _packed(held.codes, states, kernel.form.group),
        "bias": np.concatenate([taken[0][0], taken[0][1], taken[1][0], taken[1][1]]),
    }


def _taken(values: np.ndarray, panels: list[np.ndarray]) -> np.ndarray:
    """Values by panels' columns, 0 for -1."""
    which = np.concatenate(panels)
    return np.where(which < 0, np.float32(0), values[which]).astype(np.float32)


def _packed(codes: np.ndarray, panels: list[np.ndarray], group: int) -> np.ndarray:
    """[panel](sums of columns as int32, [n / group][column][group]), int8; zeros for -1."""
    n = codes.shape[1]
    full = np.pad(codes, ((0, 1), (0, -n % group)))  # -1 is the row of zeros
    found = []
    for columns in panels:
        own = full[columns]
        sums = own.sum(axis=1, dtype=np.int32).astype("<i4")
        found.append(sums.view(np.int8))
        found.append(own.reshape(len(columns), -1, group).transpose(1, 0, 2).reshape(-1))
    return np.concatenate(found)
