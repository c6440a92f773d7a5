"""GAP9's cluster of eight RISC-V cores."""
