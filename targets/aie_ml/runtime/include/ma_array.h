/* Between the network's tensors and what the array moves: whole words, and margins around images. */
#ifndef MA_ARRAY_H
#define MA_ARRAY_H

#include <stddef.h>
#include <string.h>

/* What the array moves, [rows][columns][channels] of elements of `size` bytes, and where in it the
   tensor's part [real_rows][real_columns][real_channels] lies: from row `first` and column `left`
   on. `fill` is the value of everything else on the way in. */
struct ma_array_part {
    size_t size, rows, columns, channels;
    size_t first, left;
    size_t real_rows, real_columns, real_channels;
    int fill;
};

/* Elements of 1 or 2 bytes are filled with a number, longer ones with 0. */
static inline void ma_array_fill(void *to, size_t count, size_t size, int fill) {
    if (size == 2) {
        for (size_t i = 0; i < count; ++i) {
            const unsigned char low = (unsigned char)(fill & 255), high = (unsigned char)(fill >> 8 & 255);
            memcpy((char *)to + 2 * i, &low, 1);
            memcpy((char *)to + 2 * i + 1, &high, 1);
        }
    } else {
        memset(to, size == 1 ? fill : 0, count * size);
    }
}

/* Where the pixel (row, column) of the tensor's part lies in what the array moves. */
static inline size_t ma_array_pixel(const struct ma_array_part *p, size_t row, size_t column) {
    return ((p->first + row) * p->columns + p->left + column) * p->channels * p->size;
}

/* The tensor's part into what the array moves. */
static inline void ma_array_cut(void *to, const void *from, struct ma_array_part p) {
    const size_t run = p.real_channels * p.size;
    ma_array_fill(to, p.rows * p.columns * p.channels, p.size, p.fill);
    for (size_t row = 0; row < p.real_rows; ++row) {
        for (size_t column = 0; column < p.real_columns; ++column) {
            const char *const pixel = (const char *)from + (row * p.real_columns + column) * run;
            memcpy((char *)to + ma_array_pixel(&p, row, column), pixel, run);
        }
    }
}

/* The way back. */
static inline void ma_array_paste(void *to, const void *from, struct ma_array_part p) {
    const size_t run = p.real_channels * p.size;
    for (size_t row = 0; row < p.real_rows; ++row) {
        for (size_t column = 0; column < p.real_columns; ++column) {
            char *const pixel = (char *)to + (row * p.real_columns + column) * run;
            memcpy(pixel, (const char *)from + ma_array_pixel(&p, row, column), run);
        }
    }
}

#endif
