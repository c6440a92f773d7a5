/* Where lists of tiles lie: in L1 on the chip. Nobody has to initialise them there: ma_l1_place does,
 * before the first layer that runs after the cluster was opened. */
#ifndef MA_NEAR_H
#define MA_NEAR_H

#ifdef MA_CHIP
#include "pmsis.h"
#ifdef PI_L1
#define MA_NEAR PI_L1
#endif
#endif

#endif
