"""GAP9: the NE16 accelerator, an eight-core RISC-V cluster, and a control core."""
