/* See pmsis.h; of pmsis_bsp/include/bsp/ram/hyperram.h. */
#ifndef BSP_HYPERRAM_H
#define BSP_HYPERRAM_H

#include "bsp/ram.h"

struct pi_hyperram_conf {
    struct pi_ram_conf ram;
};

void pi_hyperram_conf_init(struct pi_hyperram_conf *conf);

#endif
