/* What emitted code for GAP9 calls beside the families of every chip: the NE16 accelerator. */
#ifndef MA_GAP9_H
#define MA_GAP9_H

#include "ma_platform.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- compute: NE16 ------------------------------------------------------------------------- */

#define MA_NE16_REGISTERS 24

/* On the chip a job's registers lie in memory (see pmsis/ma_ne16_pmsis.c), and are written without a
 * call for each. The emulation may be a part of a program for the chip: a test on a host, whose
 * accelerators are its own. */
#if defined(MA_CHIP) && !defined(MA_NE16_EMULATED)
#define MA_NE16_REGISTERS_AT 0x10201020u
#ifndef MA_WRITE32
#define MA_WRITE32(address, value) (*(volatile uint32_t *)(uintptr_t)(address) = (value))
#endif
#endif

/* Waits until one of the two job slots is free, and takes it. Returns the job's number. */
uint32_t ma_ne16_acquire(void);

/* Writes register `index` (0 .. 23) of the job that was acquired last. */
#ifdef MA_NE16_REGISTERS_AT
static inline void ma_ne16_write(uint32_t index, uint32_t value)
{
    MA_WRITE32(MA_NE16_REGISTERS_AT + 4 * index, value);
}
#else
void ma_ne16_write(uint32_t index, uint32_t value);
#endif

/* Queues the acquired job; it starts when the one before it has ended. */
void ma_ne16_commit(void);

/* Waits until job `number`, and with it every earlier one, has ended. */
void ma_ne16_wait(uint32_t number);

/* The address of L1 memory as NE16's registers hold it. */
#ifdef MA_NE16_REGISTERS_AT
static inline uint32_t ma_l1_address(const void *l1)
{
    return (uint32_t)(uintptr_t)l1;
}
#else
uint32_t ma_l1_address(const void *l1);
#endif

#ifdef __cplusplus
}
#endif

#endif
