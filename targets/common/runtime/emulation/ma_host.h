/* Inside the emulation: what its parts share. Emitted code does not see this. */
#ifndef MA_HOST_H
#define MA_HOST_H

#include <stdint.h>

/* L1 as the emulation holds it, and its size. */
uint8_t *ma_emulated_l1(void);
uint32_t ma_emulated_l1_bytes(void);

/* The chip would have gone wrong: ends the network, which gives status 70 and this sentence. */
#if defined(__GNUC__)
__attribute__((format(printf, 1, 2)))
#endif
_Noreturn void ma_stop(const char *format, ...);

/* Stops if a transfer that is under way touches [begin, begin + bytes); `what` names the user. */
void ma_check_settled(const void *begin, uint32_t bytes, const char *what);

#endif
