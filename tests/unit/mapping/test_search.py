from match_aie.errors import Infeasible
from match_aie.hardware import Loop, Memory
from match_aie.mapping import search
from match_aie.targets.cpu import CPUModule
from match_aie.workload import Quantized, dense

WORK = dense(Quantized("int8", 1.0), Quantized("int32"), rows=2, inputs=10, outputs=6)
NEEDED = 2 * 10 + 6 * 10 + 6 * 4 + 2 * 6 * 4


class Small(CPUModule):
    """A module with little memory that unrolls four outputs."""

    def __init__(self, size):
        self.memories = (Memory("L1", 1, 8.0), Memory("L2", size, 8.0))

    def spatial(self, workload):
        return (Loop("K", 4),)


def test_one_untiled_mapping():
    (best,) = search(WORK, CPUModule())
    assert best.mapping.spatial == ()
    assert best.mapping.temporal == (Loop("B", 2), Loop("K", 6), Loop("C", 10))
    assert best.cost == CPUModule().cost_model(WORK).cost(WORK, best.mapping)


def test_what_hardware_unrolls_is_not_iterated():
    (best,) = search(WORK, Small(NEEDED))
    assert best.mapping.temporal == (Loop("B", 2), Loop("K", 2), Loop("C", 10))


def test_operands_beyond_the_outermost_memory_are_infeasible():
    found = search(WORK, Small(NEEDED - 1))
    assert isinstance(found, Infeasible)
    assert (found.resource, found.demand, found.bound) == ("L2", NEEDED, NEEDED - 1)
    assert found.breakdown[0] == ("weight", 60)
    assert found.levers
