/* What emitted layers call, on every chip with a scratchpad (L1) and a DMA: four families.
 *
 * Emitted code is compiled unchanged against a chip's own implementation or against the emulation,
 * which runs on any host and checks what the chip would not. A layer runs on a controller core: it
 * moves tiles between L2 and L1 by DMA, and starts kernels on accelerators or worker cores.
 */
#ifndef MA_PLATFORM_H
#define MA_PLATFORM_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- platform ------------------------------------------------------------------------------ */

/* Runs a network's steps, which return 0 where all were done. Returns 0, or another status where
 * something failed: ma_fault() then says what, in a sentence; it is NULL as long as nothing did. */
typedef int ma_steps(uint8_t *arena, const void *const in[], void *const out[]);
int ma_network(ma_steps *steps, uint8_t *arena, const void *const in[], void *const out[]);
const char *ma_fault(void);

/* Says that something failed, on any core: the layer that runs is the last one. Of several
 * sentences the first is kept; it must outlive the network. */
void ma_fail(const char *sentence);

/* Called on the control core: runs `entry(argument)` on the controller, and waits for its end.
 * Returns 0, or 1 where it did not run or something failed meanwhile. */
int ma_offload(void (*entry)(void *argument), void *argument);

/* Called on the controller: runs `kernel(argument)` on every worker core, and waits for all. */
void ma_fork(void (*kernel)(const void *argument), const void *argument);

/* Called on the controller: runs `entry(argument)` there, while the workers stand by for what it
 * starts with ma_fork_start. Ends when they are done, too: after a fault it waits for them itself. */
void ma_beside(void (*entry)(void *argument), void *argument);

/* What a kernel's argument takes at most that ma_fork_start copies. */
#define MA_ARGUMENT_BYTES 192

/* In ma_beside: starts `kernel` on every worker, with a copy of its argument, and does not wait for
 * it; first waits for the one before. Until ma_fork_wait of the ticket nobody may change what the
 * kernel reads, nor touch what it writes. */
uint32_t ma_fork_start(void (*kernel)(const void *argument), const void *argument, uint32_t bytes);

/* In a kernel: which worker this is (0 .. ma_cores() - 1), and how many there are. */
int32_t ma_core(void);
int32_t ma_cores(void);

/* ---- memory -------------------------------------------------------------------------------- */

/* The first `bytes` of L1, for one layer at a time, or two side by side; 16-byte aligned. Given back by ma_l1_close. A
 * layer in the same offload finds what the one before left there. NULL, which ma_fault() explains,
 * where there are not so many. */
uint8_t *ma_l1_open(uint32_t bytes);
void ma_l1_close(uint8_t *l1);

/* Byte `offset` of L1, between layers. */
const void *ma_l1_at(uint32_t offset);

/* Called on the control core: whether L1 has lost the lists that a program placed there, which is
 * so once after it was opened. `known` is the program's own, 0 in the beginning. */
int ma_l1_lost(uint32_t *known);

/* Called on the controller: places a list, of whole words, in L1 beside what layers open. */
void ma_l1_place(void *list, const void *from, uint32_t bytes);

/* Around every step of a network, or several side by side, on the core that runs it; `step` is its
 * number, or that of the first of them. Only a chip's build that counts, with MA_COUNTERS, has them. */
#ifdef MA_COUNTERS
void ma_step_begin(uint32_t step);
void ma_step_end(uint32_t step);
#else
static inline void ma_step_begin(uint32_t step)
{
    (void)step;
}
static inline void ma_step_end(uint32_t step)
{
    (void)step;
}
#endif

/* Says that [base, base + bytes) of L2 is an operand of the open layer, where transfers stay
 * inside; and that a kernel is about to use [l1, l1 + bytes), where no transfer may be under way.
 * Before a layer starts: that [offset, offset + bytes) of L1 outlives it; and in it, that
 * [l1, l1 + bytes) is what a layer before it kept, or what others that run in turns with it made or
 * load. All else in L1 is forgotten between layers. And what happens to one of layers side by side.
 * The emulation checks all of that; on a chip, whose builds define MA_CHIP, it is nothing. */
#ifdef MA_CHIP
static inline void ma_l2_operand(const void *base, uint32_t bytes)
{
    (void)base;
    (void)bytes;
}
static inline void ma_l1_settled(const void *l1, uint32_t bytes)
{
    (void)l1;
    (void)bytes;
}
static inline void ma_l1_keep(uint32_t offset, uint32_t bytes)
{
    (void)offset;
    (void)bytes;
}
static inline void ma_l1_found(const void *l1, uint32_t bytes)
{
    (void)l1;
    (void)bytes;
}
static inline void ma_l1_made(const void *l1, uint32_t bytes)
{
    (void)l1;
    (void)bytes;
}
static inline void ma_happened(uint32_t lane, const char *what)
{
    (void)lane;
    (void)what;
}
#else
void ma_l2_operand(const void *base, uint32_t bytes);
void ma_l1_settled(const void *l1, uint32_t bytes);
void ma_l1_keep(uint32_t offset, uint32_t bytes);
void ma_l1_found(const void *l1, uint32_t bytes);
void ma_l1_made(const void *l1, uint32_t bytes);
void ma_happened(uint32_t lane, const char *what);
#endif

/* A block of lines: `bytes` contiguous bytes, repeated along up to three levels, innermost first.
 * Lines of level i start stride[i] bytes apart in L2, and l1_stride[i] in L1. */
struct ma_block {
    uint32_t bytes;
    uint32_t count[3], stride[3], l1_stride[3];
};

/* A transfer under way; 0 for none. */
typedef uint32_t ma_dma;

/* Starts to copy `block` between L2 and L1. Until the wait nobody may touch the destination, nor
 * change the source. */
ma_dma ma_dma_load(void *l1, const void *l2, const struct ma_block *block);
ma_dma ma_dma_store(void *l2, const void *l1, const struct ma_block *block);

/* Constants in the backing memory: the file that a chip has them in; where they lie in the
 * emulation, NULL on a chip; how many bytes. */
struct ma_backing {
    const char *file;
    const void *image;
    uint32_t bytes;
};

/* Makes a network's constants reachable, before anything is fetched. Returns 0, or 1 where the
 * backing memory is not there, too small, or has other contents. */
int ma_backing_open(const struct ma_backing *backing);

/* Starts to copy `bytes` of constants, from byte `offset` of them, into L2; called on the control
 * core, which does other things meanwhile. Nobody may touch the destination before the wait, which
 * comes after a fault, too. 0 for a copy that could not be started, for which a wait does nothing. */
ma_dma ma_backing_load(void *l2, uint32_t offset, uint32_t bytes);
void ma_backing_wait(ma_dma transfer);

/* ---- synchronisation ----------------------------------------------------------------------- */

/* Waits until the kernel of a ticket, and with it every earlier one, has ended. */
void ma_fork_wait(uint32_t ticket);

/* Waits until a transfer is over, and forgets it; does nothing for 0. */
void ma_dma_wait(ma_dma transfer);

#ifdef __cplusplus
}
#endif

#endif
