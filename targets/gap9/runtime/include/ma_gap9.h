/* What emitted code for GAP9 calls beside the families of every chip: the NE16 accelerator. */
#ifndef MA_GAP9_H
#define MA_GAP9_H

#include "ma_platform.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- compute: NE16 ------------------------------------------------------------------------- */

#define MA_NE16_REGISTERS 24

/* Waits until one of the two job slots is free, and takes it. Returns the job's number. */
uint32_t ma_ne16_acquire(void);

/* Writes register `index` (0 .. 23) of the job that was acquired last. */
void ma_ne16_write(uint32_t index, uint32_t value);

/* Queues the acquired job; it starts when the one before it has ended. */
void ma_ne16_commit(void);

/* Waits until job `number`, and with it every earlier one, has ended. */
void ma_ne16_wait(uint32_t number);

/* The address of L1 memory as NE16's registers hold it. */
uint32_t ma_l1_address(const void *l1);

#ifdef __cplusplus
}
#endif

#endif
