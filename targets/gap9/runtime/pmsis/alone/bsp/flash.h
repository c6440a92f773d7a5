/* See pmsis.h; of pmsis_bsp/include/bsp/flash.h. */
#ifndef BSP_FLASH_H
#define BSP_FLASH_H

#include "pmsis.h"

struct pi_flash_conf {
    int size;
};

int pi_flash_open(struct pi_device *device);
void pi_flash_close(struct pi_device *device);

#endif
