"""For authors of targets: does a target compile, run, and compute what numpy computes?

>>> from match_aie.testing import check_target
>>> check_target("CPU").passed            # doctest: +SKIP
True
"""

from match_aie.testing.case import Case, network
from match_aie.testing.check import check_target
from match_aie.testing.result import CheckRow, Ran, Refusal, TargetCheck
from match_aie.testing.zoo import ZOO

__all__ = [
    "ZOO",
    "Case",
    "CheckRow",
    "Ran",
    "Refusal",
    "TargetCheck",
    "check_target",
    "network",
]
