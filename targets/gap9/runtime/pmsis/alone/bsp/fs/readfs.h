/* See pmsis.h; of pmsis_bsp/include/bsp/fs/readfs.h. */
#ifndef BSP_READFS_H
#define BSP_READFS_H

#include "bsp/fs.h"

struct pi_readfs_conf {
    struct pi_fs_conf fs;
};

void pi_readfs_conf_init(struct pi_readfs_conf *conf);

#endif
