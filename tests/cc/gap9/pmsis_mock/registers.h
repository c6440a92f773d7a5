/* Included before everything: the bindings' registers are the mock's. */
#ifndef __ASSEMBLER__
#include <stdint.h>

uint32_t mock_read32(uint32_t address);
void mock_write32(uint32_t address, uint32_t value);
#define MA_READ32(address) mock_read32(address)
#define MA_WRITE32(address, value) mock_write32(address, value)
/* Cores are threads, of which there may be more than processors. */
#include <sched.h>
#define MA_PAUSE 1
#define MA_YIELD() sched_yield()

#endif
