/* For the emulation: the scratchpads lie one after the other, 65536 bytes and 32768. */
#define MA_L1_BYTES 98304
#define MA_CORES 1
#define MA_DMA_TRANSFERS 16
#define MA_DMA_ALIGNMENT 1
