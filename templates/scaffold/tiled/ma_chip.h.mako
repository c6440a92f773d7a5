/* ${name} as the emulation on the host needs to know it. */
#ifndef MA_CHIP_H
#define MA_CHIP_H

#ifndef MA_L1_BYTES
#define MA_L1_BYTES 65536 /* of the scratchpad; build_profile() gives what the target has */
#endif
#define MA_CORES 1
#define MA_DMA_TRANSFERS 16
#define MA_DMA_ALIGNMENT 1

#endif
