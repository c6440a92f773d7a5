/* Where lists of tiles lie: in L1 on the chip, as data that the SDK copies there when it opens the
 * cluster (pulp-sdk, pulp-rt and GreenWaves' SDK do: _l1_preload_start_inL2); constants elsewhere. */
#ifndef MA_NEAR_H
#define MA_NEAR_H

#ifdef MA_CHIP
#include "pmsis.h"
#ifdef PI_L1
#define MA_NEAR PI_L1
#endif
#endif

#endif
