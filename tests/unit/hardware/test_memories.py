"""What memories may name: the operands of every kind of layer."""

import pytest

from match_aie.errors import TargetError
from match_aie.hardware import Memory
from match_aie.hardware.memory import check_memories
from match_aie.targets.aie_ml.kernels.arithmetic import in_fixed_point
from match_aie.workload import attention
from tests.aie_attention import random_attention


def fused():
    """Attention in the model's arithmetic, and in that of the array."""
    workload, constants = random_attention(1)
    found = in_fixed_point(workload, constants)
    return workload, found.workload


def masked():
    sizes = {"batch": 1, "heads": 2, "queries": 3, "keys": 5, "size": 4, "value_size": 4}
    return (attention(**sizes, factor=0.5, mask=("OY", "OX"), known=True),)


@pytest.mark.parametrize("layers", [fused, masked])
def test_memories_may_name_all_operands_of_attention(layers):
    for workload in layers():
        names = tuple(operand.name for operand in workload.operands)
        outer = Memory("L2", None, 8.0)
        check_memories((Memory("L1", 65536, 8.0, operands=names), outer))
        check_memories((Memory("L1", 65536, 8.0, double_buffered=names), outer))


def test_memories_may_name_nothing_else():
    with pytest.raises(TargetError, match="'marsk', an operand that no layer has; did you mean"):
        check_memories((Memory("L1", 1, 1.0, operands=("marsk",)), Memory("L2", None, 1.0)))
