/* Between the network's tensors and the array's buffers, where each row or pixel is whole words. */
#ifndef MA_ARRAY_H
#define MA_ARRAY_H

#include <string.h>

/* `runs` pieces of `run` bytes to every `pitch`-th byte of `to`, with zeros between them. */
static inline void ma_array_spread(void *to, const void *from, size_t runs, size_t run, size_t pitch) {
    if (run == pitch) {
        memcpy(to, from, runs * run);
        return;
    }
    for (size_t i = 0; i < runs; ++i) {
        char *const at = (char *)to + i * pitch;
        memcpy(at, (const char *)from + i * run, run);
        memset(at + run, 0, pitch - run);
    }
}

/* The way back: `run` bytes of every `pitch`, one after the other. */
static inline void ma_array_collect(void *to, const void *from, size_t runs, size_t run, size_t pitch) {
    if (run == pitch) {
        memcpy(to, from, runs * run);
        return;
    }
    for (size_t i = 0; i < runs; ++i) {
        memcpy((char *)to + i * run, (const char *)from + i * pitch, run);
    }
}

#endif
