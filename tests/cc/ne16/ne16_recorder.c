/* Records what ma_ne16_tile writes: every job as the 24 registers its slot holds at the commit. */
#include "ma_ne16.h"

#include <stddef.h>
#include <string.h>

static uint32_t slots[2][MA_NE16_REGISTERS];
static uint32_t jobs[4096][MA_NE16_REGISTERS];
static uint32_t count, writes;

uint32_t ma_l1_address(const void *l1)
{
    return (uint32_t)(uintptr_t)l1;
}

uint32_t ma_ne16_acquire(void)
{
    return count + 1;
}

void ma_ne16_write(uint32_t index, uint32_t value)
{
    slots[count % 2][index] = value;
    writes++;
}

void ma_ne16_commit(void)
{
    memcpy(jobs[count], slots[count % 2], sizeof jobs[0]);
    count++;
}

const uint32_t *test_record(const struct ma_ne16_layer *layer, const struct ma_ne16_shape *tile,
                            const uint32_t *at, uint32_t *found)
{
    count = writes = 0;
    memset(slots, 0xEE, sizeof slots);
    ma_ne16_tile(layer, (const uint8_t *)(uintptr_t)at[0], (const uint8_t *)(uintptr_t)at[1],
                 (const void *)(uintptr_t)at[2], (const int32_t *)(uintptr_t)at[3],
                 (void *)(uintptr_t)at[4], tile, NULL);
    found[0] = count;
    found[1] = writes;
    return jobs[0];
}
