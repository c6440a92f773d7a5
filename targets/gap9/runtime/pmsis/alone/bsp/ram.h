/* See pmsis.h; of pmsis_bsp/include/bsp/ram.h. */
#ifndef BSP_RAM_H
#define BSP_RAM_H

#include "pmsis.h"

struct pi_ram_conf {
    int size;
};

int32_t pi_ram_open(struct pi_device *device);
void pi_ram_close(struct pi_device *device);
int pi_ram_alloc(struct pi_device *device, uint32_t *addr, uint32_t size);
int pi_ram_free(struct pi_device *device, uint32_t addr, uint32_t size);
void pi_ram_write(struct pi_device *device, uint32_t pi_ram_addr, void *data, uint32_t size);
void pi_ram_read_async(
    struct pi_device *device, uint32_t pi_ram_addr, void *data, uint32_t size, pi_task_t *task);

#endif
