/* DIANA as the emulation needs to know it. Sources: targets/diana/facts.py; 16 transfers under way
 * stand for a DMA that blocks: waiting later gives the same bytes. */
#ifndef MA_CHIP_H
#define MA_CHIP_H

#ifndef MA_ACTIVATION_BYTES
#define MA_ACTIVATION_BYTES 262144
#endif
#ifndef MA_WEIGHT_BYTES
#define MA_WEIGHT_BYTES 65536
#endif

/* Of the analog array; 0 where the target was not asked for it. */
#ifndef MA_CELL_BYTES
#define MA_CELL_BYTES 0
#endif

/* Two memories, one after the other. The analog array's cells are the second one of its own layers:
 * only one of the two arrays works at a time, and neither keeps anything. */
#define MA_BEHIND_BYTES (MA_CELL_BYTES > MA_WEIGHT_BYTES ? MA_CELL_BYTES : MA_WEIGHT_BYTES)
#define MA_L1_BYTES (MA_ACTIVATION_BYTES + MA_BEHIND_BYTES)
#define MA_CORES 1
#define MA_DMA_TRANSFERS 16
#define MA_DMA_ALIGNMENT 4

#endif
