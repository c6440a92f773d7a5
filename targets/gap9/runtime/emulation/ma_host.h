/* What the parts of the host emulation share: L1, and how a run that the chip would not survive
 * (or would survive with wrong numbers) ends.
 */
#ifndef MA_HOST_H
#define MA_HOST_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Ends the program with a sentence, printf-style, that says what went wrong and where. */
_Noreturn void ma_stop(const char *format, ...);

/* All of L1, of which layers open a part. */
uint8_t *ma_emulated_l1(void);
uint32_t ma_emulated_l1_bytes(void);

/* Stops when a DMA transfer that nobody has waited for touches [begin, begin + bytes): `what` is
 * about to read or write there. */
void ma_check_settled(const void *begin, uint32_t bytes, const char *what);

/* Stops when a job of NE16 that nobody has waited for touches [begin, begin + bytes): it writes
 * there, or it reads there and `what` is about to write. `what` is a DMA transfer or a core. */
void ma_ne16_check_settled(const void *begin, uint32_t bytes, int writes, const char *what);

/* Stops when there are jobs that nobody has waited for: at the end of a layer. */
void ma_ne16_check_idle(const char *what);

#ifdef __cplusplus
}
#endif

#endif
