/* See pmsis.h; of pmsis_bsp/include/bsp/flash/hyperflash.h. */
#ifndef BSP_HYPERFLASH_H
#define BSP_HYPERFLASH_H

#include "bsp/flash.h"

struct pi_hyperflash_conf {
    struct pi_flash_conf flash;
};

void pi_hyperflash_conf_init(struct pi_hyperflash_conf *conf);

#endif
