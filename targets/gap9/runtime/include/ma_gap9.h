/* What emitted code for GAP9 calls: platform, memory, synchronisation and compute.
 *
 * Emitted layers are compiled unchanged against two implementations: `pmsis/`, a thin binding to
 * the vendor's SDK, and `emulation/`, which runs on any host and checks what the chip would not.
 * A layer runs on the cluster's controller core. It moves tiles between L2 and L1 by DMA, starts
 * jobs of NE16, and forks kernels over the eight worker cores.
 */
#ifndef MA_GAP9_H
#define MA_GAP9_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- platform ------------------------------------------------------------------------------ */

/* Called on the control core: runs `entry(argument)` on the cluster's controller, and waits. */
void ma_offload(void (*entry)(void *argument), void *argument);

/* Called on the controller: runs `kernel(argument)` on every worker core, and waits for all. */
void ma_fork(void (*kernel)(const void *argument), const void *argument);

/* In a kernel: which worker this is (0 .. ma_cores() - 1), and how many there are. */
int32_t ma_core(void);
int32_t ma_cores(void);

/* ---- memory -------------------------------------------------------------------------------- */

/* The first `bytes` of L1, for one layer at a time; 16-byte aligned. Freed by ma_l1_close. */
uint8_t *ma_l1_open(uint32_t bytes);
void ma_l1_close(uint8_t *l1);

/* A transfer under way; 0 for none, which ma_dma_wait ignores. */
typedef uint32_t ma_dma;

/* Starts copying a block of `planes` x `lines` lines of `bytes` each between L2 and L1. In L2,
 * lines start `line_stride` bytes apart and planes `plane_stride`; in L1 the block is dense (lines
 * `l1_line_stride`, planes `l1_plane_stride` apart where these are not 0). Nobody may touch the
 * destination, nor change the source, before the wait. */
struct ma_block {
    uint32_t bytes, lines, planes;
    uint32_t line_stride, plane_stride;
    uint32_t l1_line_stride, l1_plane_stride;
};
ma_dma ma_dma_load(void *l1, const void *l2, const struct ma_block *block);
ma_dma ma_dma_store(void *l2, const void *l1, const struct ma_block *block);

/* ---- synchronisation ----------------------------------------------------------------------- */

/* Waits for a transfer; it is over for good then. */
void ma_dma_wait(ma_dma transfer);

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
