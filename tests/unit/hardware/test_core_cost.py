"""Operations are counted right, and priced in one unit."""

import pytest

from match_aie.hardware import CoreCost, Operation, TensorType

#: One cycle of each kind is told apart from the others.
COST = CoreCost(per_mac=1000.0, per_step=10.0, per_element=1.0, overhead=0.5)


def operation(name, *shapes, out, **attributes):
    inputs = tuple(TensorType("float32", shape) for shape in shapes)
    return Operation(name, inputs, TensorType("float32", out), attributes)


@pytest.mark.parametrize(
    ("work", "macs"),
    [
        (
            operation(
                "nn.conv2d", (1, 8, 8, 3), (3, 3, 3, 16), out=(1, 8, 8, 16), kernel_layout="HWIO"
            ),
            8 * 8 * 16 * 27,
        ),
        (
            operation(
                "nn.conv2d", (1, 8, 8, 6), (3, 3, 1, 6), out=(1, 8, 8, 6), kernel_layout="HWIO"
            ),
            8 * 8 * 6 * 9,
        ),
        (
            operation(
                "nn.conv2d", (1, 3, 8, 8), (16, 3, 3, 3), out=(1, 16, 4, 4), kernel_layout="OIHW"
            ),
            4 * 4 * 16 * 27,
        ),
        (
            operation(
                "nn.conv2d_transpose",
                (1, 3, 4, 4),
                (3, 5, 2, 2),
                out=(1, 5, 8, 8),
                kernel_layout="IOHW",
            ),
            3 * 4 * 4 * 5 * 4,
        ),
        (operation("nn.conv1d", (1, 3, 9), (4, 3, 5), out=(1, 4, 5), kernel_layout="OIW"), 300),
        (operation("matmul", (2, 5, 7), (2, 7, 3), out=(2, 5, 3)), 210),
        (operation("add", (4,), (4,), out=(4,)), 0),
    ],
)
def test_multiply_accumulates(work, macs):
    assert work.macs == macs
    assert COST.cycles(work) == 0.5 + (1000.0 * macs or 4.0)


@pytest.mark.parametrize(
    ("work", "cycles"),
    [
        (operation("reshape", (4, 4), out=(16,)), 0.0),
        (operation("concat", (1, 4, 3), (1, 2, 3), out=(1, 6, 3), axis=1), 0.0),
        (operation("concat", (1, 4, 3), (1, 4, 2), out=(1, 4, 5), axis=-1), 20.5),
        (operation("concat", (4, 3), (2, 3), out=(6, 3), axis=None), 0.0),
        (operation("nn.max_pool2d", (1, 8, 8, 2), out=(1, 4, 4, 2), pool_size=(2, 3)), 1920.5),
        (operation("nn.adaptive_avg_pool2d", (1, 8, 8, 2), out=(1, 1, 1, 2)), 1280.5),
        (operation("mean", (1, 8, 8, 2), out=(1, 2)), 1280.5),
        (operation("quantize", (10,), out=(10,)), 40.5),
        (operation("tanh", (10,), out=(10,)), 250.5),
        (operation("an operator of the future", (10,), out=(10,)), 10.5),
    ],
)
def test_elements(work, cycles):
    assert COST.cycles(work) == cycles


def test_a_concatenation_of_constants_is_copied():
    known, made = (TensorType("int8", (n,), constant=n == 9) for n in (9, 8))
    work = Operation("concat", (known, made), TensorType("int8", (17,)), {"axis": 0})
    assert COST.cycles(work) == 17.5


def test_negative_costs_are_refused():
    with pytest.raises(ValueError, match="negative"):
        CoreCost(per_mac=-1.0)
