/* GAP9 as the emulation needs to know it. Sources: targets/gap9/facts.json; 16 transfers at a time
 * are an assumption (MCHAN's counters). L1 is what stacks and the SDK leave of its 128 KiB. */
#ifndef MA_CHIP_H
#define MA_CHIP_H

#include "ma_ne16_host.h"

#ifndef MA_L1_BYTES
#define MA_L1_BYTES 73728
#endif
#define MA_CORES 8
#define MA_DMA_TRANSFERS 20
#define MA_DMA_ALIGNMENT 4

#define MA_CHIP_RESET() ma_ne16_reset()
#define MA_CHIP_TOUCH(begin, bytes, writes, what) ma_ne16_check_settled(begin, bytes, writes, what)
#define MA_CHIP_IDLE(what) ma_ne16_check_idle(what)

#endif
