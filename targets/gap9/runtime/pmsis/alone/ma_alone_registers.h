/* Included before everything that is built with the stand-in: NE16's registers are its own, and who
 * waits for another core lets that one go on. */
#ifndef MA_ALONE_REGISTERS_H
#define MA_ALONE_REGISTERS_H
#ifndef __ASSEMBLER__
#include <stdint.h>

uint32_t alone_read32(uint32_t address);
void alone_write32(uint32_t address, uint32_t value);
void alone_yield(void);
#define MA_READ32(address) alone_read32(address)
#define MA_WRITE32(address, value) alone_write32(address, value)
#define MA_PAUSE 1
#define MA_YIELD() alone_yield()

#endif
#endif
