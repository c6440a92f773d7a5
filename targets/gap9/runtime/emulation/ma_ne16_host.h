/* What the emulation of NE16 tells the rest of the emulated chip. */
#ifndef MA_NE16_HOST_H
#define MA_NE16_HOST_H

#include <stdint.h>

/* Stops when a job that nobody has waited for touches [begin, begin + bytes): it writes there, or
 * it reads there and `what` is about to write. `what` is a DMA transfer or a core. */
void ma_ne16_check_settled(const void *begin, uint32_t bytes, int writes, const char *what);

/* Stops when there are jobs that nobody has waited for: at the end of a layer. */
void ma_ne16_check_idle(const char *what);

/* Forgets every job: before a network runs. */
void ma_ne16_reset(void);

#endif
