/* Between the network's tensors and what the array moves: whole words, and margins around images. */
#ifndef MA_ARRAY_H
#define MA_ARRAY_H

#include <stddef.h>
#include <stdint.h>
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

/* A matrix [matrix_rows][matrix_columns] of elements of `size` bytes, as the array moves it:
   [passes][blocks][rows][width], of the rows from `row` + pass * `row_step` on and the columns from
   `column` + block * `column_step` on. What lies beyond the matrix is 0 on the way in. Where `turn` is not 0, the
   rows begin again after so many passes, in columns that are `turn_step` further. */
struct ma_array_matrix {
    size_t size, matrix_rows, matrix_columns;
    size_t rows, width;
    size_t row, row_step, passes;
    size_t column, column_step, blocks;
    size_t turn, turn_step;
};

/* How many of `count` indices from `first` on are below `end`. */
static inline size_t ma_array_inside(size_t first, size_t count, size_t end) {
    if (first >= end) {
        return 0;
    }
    return end - first < count ? end - first : count;
}

/* `count` floats as bfloat16, halves to even; NaN stays NaN. */
static inline void ma_array_narrow(void *to, const void *from, size_t count) {
    for (size_t i = 0; i < count; ++i) {
        uint32_t bits;
        memcpy(&bits, (const char *)from + 4 * i, 4);
        const int nan = (bits & 0x7fffffffu) > 0x7f800000u;
        const uint32_t kept = nan ? bits | 0x400000u : bits + 0x7fffu + (bits >> 16 & 1u);
        const uint16_t high = (uint16_t)(kept >> 16);
        memcpy((char *)to + 2 * i, &high, 2);
    }
}

/* The way back, exact. */
static inline void ma_array_widen(void *to, const void *from, size_t count) {
    for (size_t i = 0; i < count; ++i) {
        uint16_t high;
        memcpy(&high, (const char *)from + 2 * i, 2);
        const uint32_t bits = (uint32_t)high << 16;
        memcpy((char *)to + 4 * i, &bits, 4);
    }
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

/* A row of a block: where it lies in what the array moves and in the matrix, and how much of it is
   the matrix's own. */
struct ma_array_run {
    size_t moved, own, bytes;
};

static inline struct ma_array_run ma_array_row(const struct ma_array_matrix *p, size_t pass, size_t block, size_t at) {
    const size_t turn = p->turn ? pass / p->turn : 0, number = pass - turn * p->turn;
    const size_t row = p->row + number * p->row_step + at;
    const size_t column = p->column + block * p->column_step + turn * p->turn_step;
    const size_t inside = row < p->matrix_rows ? ma_array_inside(column, p->width, p->matrix_columns) : 0;
    struct ma_array_run run;
    run.moved = ((pass * p->blocks + block) * p->rows + at) * p->width * p->size;
    run.own = inside ? (row * p->matrix_columns + column) * p->size : 0;
    run.bytes = inside * p->size;
    return run;
}

/* The matrix into what the array moves. */
static inline void ma_array_matrix_cut(void *to, const void *from, struct ma_array_matrix p) {
    for (size_t pass = 0; pass < p.passes; ++pass) {
        for (size_t block = 0; block < p.blocks; ++block) {
            for (size_t at = 0; at < p.rows; ++at) {
                const struct ma_array_run run = ma_array_row(&p, pass, block, at);
                memcpy((char *)to + run.moved, (const char *)from + run.own, run.bytes);
                memset((char *)to + run.moved + run.bytes, 0, p.width * p.size - run.bytes);
            }
        }
    }
}

/* The way back. */
static inline void ma_array_matrix_paste(void *to, const void *from, struct ma_array_matrix p) {
    for (size_t pass = 0; pass < p.passes; ++pass) {
        for (size_t block = 0; block < p.blocks; ++block) {
            for (size_t at = 0; at < p.rows; ++at) {
                const struct ma_array_run run = ma_array_row(&p, pass, block, at);
                memcpy((char *)to + run.own, (const char *)from + run.moved, run.bytes);
            }
        }
    }
}

#endif
