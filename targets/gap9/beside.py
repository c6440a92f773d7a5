"""What a layer takes more beside another one, of NE16 and of the cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product

import numpy as np

from match_aie.cost_models.pulp_nn import PulpNN
from match_aie.cost_models.pulp_plain import InstructionSet
from match_aie.hardware import Company
from match_aie.targets.gap9.cluster.arguments import argument_words, starts
from match_aie.targets.gap9.facts import facts
from match_aie.targets.gap9.timing.banks import PUBLIC, Banks, Rule, Slowed, mode_of, slowed
from match_aie.workload import Workload

#: Cores of a cluster, its controller included: of GVSoC's pulp_open as its SDK uses it, and GAP9's.
CORES = (8, 9)


@dataclass(frozen=True)
class Started:
    """What the controller takes more around a call of the cluster's kernel.

    Attributes:
        walk: cycles of each call, to walk.
        start: of each start of workers that stand by, and the wait for them.
        word: of each word of the kernel's argument, which is copied for each start.
    """

    walk: float
    start: float
    word: float

    def __call__(self, workload: Workload) -> float:
        """Of a call in a layer, which starts as many kernels as one call for all of it would."""
        each = self.start + self.word * argument_words(workload)
        return self.walk + each * starts(workload, workload.sizes)


#: What the controller takes more to enter a layer beside another one, and around each kernel, than
#: in a layer by itself: `lane` less `few` or `one_tile`, `fork`, `word`, and lines of code.
#: Counted, see `timing/controller.py`. What they wait for each other at the banks of L1 is
#: `timing/banks.py`'s.
NE16_BESIDE = Company(enter=610.0, call=68.3, enter_one=560.5, after_own=-425.0, after_other=493.0)
CLUSTER_BESIDE = Company(
    enter=457.0,
    call=Started(walk=68.3, start=317.8, word=7.0),
    enter_one=407.5,
    after_own=-221.0,
    after_other=340.0,
)


@lru_cache(maxsize=1024)
def _access_rate(workload: Workload, instructions: InstructionSet) -> float:
    return PulpNN(instruction_set=instructions).access_rate(workload)


@lru_cache(maxsize=1024)
def _longer(workload: Workload, workers: int, instructions: InstructionSet) -> float:
    tile = {dim: np.asarray(size) for dim, size in workload.dims}
    few, everyone = (
        PulpNN(cores=cores, instruction_set=instructions).unit_cycles(workload, tile)
        for cores in (workers, facts().cores.workers)
    )
    return few / everyone


@dataclass(frozen=True)
class Fewer:
    """How many times as long a layer of the cluster takes on `workers` of its cores.

    Where the cluster has eight cores, of which the controller is one, seven share the work of
    eight: as evenly as `ma_divide` shares all of the layer in one call.
    """

    workers: int
    instructions: InstructionSet

    def __call__(self, workload: Workload) -> float:
        """Of all of a layer."""
        return _longer(workload, self.workers, self.instructions)


@dataclass(frozen=True)
class Waits:
    """What a unit waits for the other at the banks of L1.

    Attributes:
        module: of this layer.
        banks: who goes first.
        workers: of the cluster, that compute beside NE16.
        instructions: that its cores have.
    """

    module: str
    banks: Banks
    workers: int
    instructions: InstructionSet

    def __call__(self, own: Workload, other: Workload) -> float:
        """Part by which `own` takes longer beside `other`."""
        if self.module == "ne16":
            return self._slowed(own, other).ne16
        return self._slowed(other, own).cluster

    def _slowed(self, ne16: Workload, cluster: Workload) -> Slowed:
        rate = _access_rate(cluster, self.instructions)
        return slowed(self.banks, self.workers, mode_of(ne16), rate)


def priced_as(banks: Rule) -> Banks:
    """By which rule a plan is priced and simulated."""
    return PUBLIC[0] if banks == "any" else banks


def beside_of(cores: int, banks: Rule, instructions: InstructionSet) -> Mapping[str, Company]:
    """What a layer of each module is beside another one, by module.

    Planned for any banks, it has the cases in which pairs have to gain, too: each public rule, with
    as many workers as the `cores` leave, and with one fewer, as a cluster without a controller of
    its own has.

    Args:
        cores: of the cluster, its controller included.
        banks: of L1, who goes first.
        instructions: that the cores have.
    """
    workers = min(facts().cores.workers, cores - 1)
    priced = _company(workers, priced_as(banks), instructions)
    if banks != "any":
        return priced
    cases = product(sorted({workers, min(CORES) - 1}, reverse=True), PUBLIC)
    others = [_company(*case, instructions) for case in cases if case != (workers, PUBLIC[0])]
    return {
        name: replace(company, cases=tuple(other[name] for other in others))
        for name, company in priced.items()
    }


def _company(workers: int, banks: Banks, instructions: InstructionSet) -> dict[str, Company]:
    waits = {name: Waits(name, banks, workers, instructions) for name in ("ne16", "cluster")}
    return {
        "ne16": replace(NE16_BESIDE, slowed=waits["ne16"]),
        "cluster": replace(
            CLUSTER_BESIDE, slowed=waits["cluster"], fewer=Fewer(workers, instructions)
        ),
    }
