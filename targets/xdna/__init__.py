"""AMD Ryzen AI processors: an AI Engine array beside the x86 cores of a laptop."""

from match_aie.targets.xdna.target import XDNA

__all__ = ["XDNA"]
