"""GAP9: the NE16 accelerator, an eight-core RISC-V cluster, and a control core."""

from match_aie.targets.gap9.target import GAP9

__all__ = ["GAP9"]
