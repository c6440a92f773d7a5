/* See pmsis.h; of pmsis_bsp/include/bsp/fs.h. */
#ifndef BSP_FS_H
#define BSP_FS_H

#include "pmsis.h"

typedef enum { PI_FS_FLAGS_READ = 0, PI_FS_FLAGS_WRITE = 1, PI_FS_FLAGS_APPEND = 2 } pi_fs_flags_e;

struct pi_fs_conf {
    struct pi_device *flash;
};

typedef struct pi_fs_file_s {
    struct pi_device *fs;
    void *data;
    unsigned int size;
} pi_fs_file_t;

int32_t pi_fs_mount(struct pi_device *device);
void pi_fs_unmount(struct pi_device *device);
pi_fs_file_t *pi_fs_open(struct pi_device *device, const char *file, int flags);
void pi_fs_close(pi_fs_file_t *file);
int32_t pi_fs_read(pi_fs_file_t *file, void *buffer, uint32_t size);

#endif
