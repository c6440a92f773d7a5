"""What chips with a scratchpad and a DMA share: headers of emitted code, and their emulation."""
