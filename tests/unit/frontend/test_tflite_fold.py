"""What is computed while a TFLite file is imported, against numpy."""

from types import SimpleNamespace

import numpy as np
import pytest

from match_aie.frontend.tflite_fold import Known, fold, reachable

DATA = np.arange(24, dtype=np.int32).reshape(2, 3, 4)


def known(kind, *operands, **options):
    values = tuple(np.asarray(a, np.int32) for a in operands)
    given = SimpleNamespace(**{k: (lambda value=v: value) for k, v in options.items()})
    return Known(kind, values, given, "int32")


CASES = {
    "slice": (
        known(
            *("STRIDED_SLICE", DATA, [1, 0, 3], [2, 2, 0], [1, 1, -2]),
            **{"BeginMask": 0, "EndMask": 4, "ShrinkAxisMask": 1},
            **{"NewAxisMask": 0, "EllipsisMask": 0, "Offset": 0},
        ),
        [DATA[1, 0:2, 3::-2]],
    ),
    "gather": (known("GATHER", DATA, [2, 0], Axis=-2, BatchDims=0), [DATA[:, [2, 0]]]),
    "pack": (known("PACK", [1, 2], [3, 4], Axis=-1), [[[1, 3], [2, 4]]]),
    "split": (known("SPLIT", 2, DATA, NumSplits=2), [DATA[..., :2], DATA[..., 2:]]),
    "split_v": (known("SPLIT_V", DATA, [1, -1], 1), [DATA[:, :1], DATA[:, 1:]]),
    "range": (known("RANGE", 2, 9, 3), [[2, 5, 8]]),
    "product": (known("REDUCE_PROD", [[2, 3], [4, 5]], [-1], KeepDims=True), [[[6], [20]]]),
    "squeeze": (known("SQUEEZE", DATA[None], SqueezeDimsLength=1), [DATA]),
    "floor": (known("FLOOR_DIV", [-7, 7], [2, 2]), [[-4, 3]]),
    "sum": (known("ADD", [[1], [2]], [10, 20], FusedActivationFunction=0), [[[11, 21], [12, 22]]]),
}
CASES["squeeze"][0].options.SqueezeDims = lambda i: 0


@pytest.mark.parametrize("name", CASES)
def test_equals_numpy(name):
    op, wanted = CASES[name]
    results = fold(op, 1000)
    assert len(results) == len(wanted)
    for result, value in zip(results, wanted, strict=True):
        assert result.dtype == np.int32
        np.testing.assert_array_equal(result, value)


@pytest.mark.parametrize(
    "op",
    [
        known("RANGE", 0, 2**31 - 1, 1),
        known("FLOOR_DIV", [1], [0]),
        known("MUL", [1], [2], [3], FusedActivationFunction=0),
        known("RESHAPE", DATA, [5, 5]),
        known("GATHER", DATA, [-1], Axis=0, BatchDims=0),
        known("ADD", [1], [2], FusedActivationFunction=1),
        known("SPLIT_V", DATA, [2, 2], 1),
        known("TRANSPOSE", DATA, [0, 0, 1]),
        known("RANGE", 0, 5, 0),
    ],
    ids=lambda op: op.kind,
)
def test_what_makes_no_sense_or_is_too_large_is_left(op):
    assert fold(op, 1000) == ()


def test_only_what_hangs_on_known_tensors_is_reachable():
    steps = [
        ("SHAPE", [0], [1]),
        ("PACK", [1, 2], [3]),
        ("RESHAPE", [0, 3], [4]),
        ("CONV_2D", [2, 2], [5]),
        ("DEQUANTIZE", [2], [6]),
        ("ADD", [5, 6], [7]),
    ]
    assert reachable(steps, {2}) == {0, 1, 4}
