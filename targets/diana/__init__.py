"""DIANA: a digital 16x16 array and a control core."""

from match_aie.targets.diana.target import Diana

__all__ = ["Diana"]
