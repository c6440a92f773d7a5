/* What the cluster's kernels share: dividing work among cores, requantising, storing. */
#ifndef MA_KERNEL_H
#define MA_KERNEL_H

#include "ma_cluster.h"
#include "ma_simd.h"

#include <stddef.h>

/* A function that is not merged with who calls it, so that its loops have all registers. */
#define MA_APART __attribute__((noinline))

/* One that is, however long: its last arguments are constants, and decide what its loops are. */
#define MA_INLINE static inline __attribute__((always_inline))

static inline int32_t ma_min(int32_t a, int32_t b) { return a < b ? a : b; }
static inline int32_t ma_max(int32_t a, int32_t b) { return a > b ? a : b; }
static inline int32_t ma_up(int32_t a, int32_t b) { return (a + b - 1) / b; }
static inline int32_t ma_round_up4(int32_t a) { return (a + 3) & ~3; }

/* Indices first .. last - 1. */
struct ma_range {
    int32_t first, last;
};

/* Which power of two `parts` is, of 1, 2, 4 and 8; -1 of other numbers. */
static inline int32_t ma_power_of(int32_t parts)
{
    return parts > 8 || (parts & (parts - 1)) ? -1 : (parts > 1) + (parts > 2) + (parts > 4);
}

/* total / parts, rounded up; `power` is that of `parts`: a division takes the cores about as many
 * cycles as its divisor has leading zeros. */
static inline int32_t ma_each(int32_t total, int32_t parts, int32_t power)
{
    return power < 0 ? ma_up(total, parts) : (total + parts - 1) >> power;
}

/* Part `index` of `parts` of 0 .. total - 1; no part is longer than total / parts, rounded up. */
static inline struct ma_range ma_part(int32_t total, int32_t index, int32_t parts)
{
    const int32_t each = ma_each(total, parts, ma_power_of(parts));
    const int32_t first = ma_min(total, index * each);
    return (struct ma_range){first, ma_min(total, first + each)};
}

/* What one core does: some units of work, and of each some blocks. `load` is the busiest core's. */
struct ma_share {
    struct ma_range units, blocks;
    int32_t load;
};

/* Divides `units` of `blocks` each among the cores so that the busiest has the least to do, where
 * a unit costs `per_unit` and each of its blocks `per_block`. Tries cores x 1, then half as many
 * ways for units and twice as many for blocks, and so on; the first of equals. Of seven cores six
 * share 3 x 2, four 1 x 4; the others have no units. */
static inline struct ma_share ma_divide(
    int32_t units, int32_t blocks, int32_t per_unit, int32_t per_block)
{
    const int32_t cores = ma_cores(), power = ma_power_of(cores);
    int32_t least = INT32_MAX, ways = 0;
    for (int32_t s = 0; (1 << s) <= cores; ++s) {
        const int32_t most_units = ma_each(units, cores >> s, power < 0 ? power : power - s);
        const int32_t most_blocks = (blocks + (1 << s) - 1) >> s;
        const int32_t load = most_units * (per_unit + most_blocks * per_block);
        if (load < least) {
            least = load;
            ways = s;
        }
    }
    const int32_t core = ma_core();
    return (struct ma_share){
        ma_part(units, core >> ways, cores >> ways),
        ma_part(blocks, core & ((1 << ways) - 1), 1 << ways),
        least,
    };
}

static inline int32_t ma_clip(int32_t value, int32_t lo, int32_t hi)
{
    return ma_min(ma_max(value, lo), hi);
}

/* Variants of a kernel, so that what a layer does not need costs nothing: inputs are int8 (else
 * uint8); outputs are 32-bit sums, or 8 bits from 0 on, which a single instruction clips. */
enum ma_variant { MA_SIGNED = 1, MA_WIDE = 2, MA_FROM_ZERO = 4 };

/* What becomes of a sum. A kernel has it in a variable of its own: its outputs are bytes, which in C
 * may lie in any structure that it was given a pointer to, so fields of that one would have to be
 * loaded again after every store. */
struct ma_tail {
    const int32_t *multiplier, *offset; /* of every channel */
    void *y;
    int32_t shift, lo, hi;
};

static inline struct ma_tail ma_tail_of(const struct ma_window *t)
{
    return (struct ma_tail){t->multiplier, t->offset, t->y, t->shift, t->lo, t->hi};
}

/* clip((acc * multiplier + offset) >> shift). */
static inline int32_t ma_requantise(struct ma_tail tail, int32_t acc, int32_t multiplier,
    int32_t offset, int variant)
{
    const int32_t scaled = ma_wrapping_multiply(acc, multiplier);
    const int32_t value = ma_add_shift(scaled, offset, tail.shift);
    return variant & MA_FROM_ZERO ? ma_clip_from_zero(value, tail.hi)
                                  : ma_clip(value, tail.lo, tail.hi);
}

/* Factors of one channel. */
struct ma_factors {
    int32_t multiplier, offset;
};

static inline struct ma_factors ma_factors_of(struct ma_tail tail, int32_t k, int variant)
{
    return (struct ma_factors){variant & MA_WIDE ? 1 : tail.multiplier[k], tail.offset[k]};
}

/* Stores output element `index`, of a channel with these factors. */
static inline void ma_put(
    struct ma_tail tail, int32_t index, struct ma_factors of, int32_t acc, int variant)
{
    if (variant & MA_WIDE) {
        ((int32_t *)tail.y)[index] = ma_wrapping_add(acc, of.offset);
    } else {
        const int32_t value = ma_requantise(tail, acc, of.multiplier, of.offset, variant);
        ((uint8_t *)tail.y)[index] = (uint8_t)value;
    }
}

/* Index of an output pixel, counted row by row and image by image, in y. */
static inline int32_t ma_out(const struct ma_window *t, int32_t pixel)
{
    const int32_t line = pixel / t->out_columns, image = line / t->out_rows;
    return image * t->out_image + line % t->out_rows * t->out_line
        + pixel % t->out_columns * t->out_pixel;
}

/* The part of a window inside the image: rows and columns of the filter, and where it starts. */
struct ma_seen {
    struct ma_range rows, columns;
    int32_t start; /* of the (perhaps outside) first position, in elements of x */
};

/* Positions f of `filter` with 0 <= first + f * step < extent. */
static inline struct ma_range ma_inside(int32_t first, int32_t step, int32_t extent, int32_t filter)
{
    const int32_t begin = first < 0 ? ma_up(-first, step) : 0;
    const int32_t end = first < extent ? ma_up(extent - first, step) : 0;
    return (struct ma_range){ma_min(begin, filter), ma_clip(end, ma_min(begin, filter), filter)};
}

static inline struct ma_seen ma_seen_of(const struct ma_window *t, int32_t pixel)
{
    const int32_t line = pixel / t->out_columns, image = line / t->out_rows;
    const int32_t row = line % t->out_rows * t->stride_rows - t->pad_top;
    const int32_t column = pixel % t->out_columns * t->stride_columns - t->pad_left;
    return (struct ma_seen){
        ma_inside(row, t->dilation_rows, t->in_rows, t->filter_rows),
        ma_inside(column, t->dilation_columns, t->in_columns, t->filter_columns),
        image * t->in_image + row * t->in_line + column * t->in_pixel,
    };
}

/* Index of filter position (fy, fx). */
static inline int32_t ma_position(
    const struct ma_window *t, const struct ma_seen *view, int32_t fy, int32_t fx)
{
    return view->start + fy * t->dilation_rows * t->in_line
        + fx * t->dilation_columns * t->in_pixel;
}

/* clip(round(real) + zero, lo, hi), halves to even, for lo and hi of 8 bits; NaN gives lo. */
static inline int32_t ma_saturate(float real, int32_t zero, int32_t lo, int32_t hi)
{
    const float low = (float)(lo - zero), high = (float)(hi - zero);
    const float above = real > low ? real : low;
    const float inside = above < high ? above : high;
    /* Adding 1.5 * 2^23 leaves no bit below 1, so the sum rounds to an integer; exact for what is
     * clipped to 9 bits. */
    const float magic = 0x1.8p+23f;
    return (int32_t)((inside + magic) - magic) + zero;
}

/* No loop over the last bytes: compilers make calls of memcpy and memset of such. */
static inline void ma_copy(uint8_t *restrict to, const uint8_t *restrict from, int32_t bytes)
{
    for (int32_t pairs = bytes >> 3; pairs > 0; --pairs, from += 8, to += 8) {
        const uint32_t a = ma_load4(from), b = ma_load4(from + 4);
        ma_store4(to, a);
        ma_store4(to + 4, b);
    }
    if (bytes & 4) {
        ma_store4(to, ma_load4(from));
        from += 4;
        to += 4;
    }
    if (bytes & 2) {
        to[0] = from[0];
        to[1] = from[1];
        from += 2;
        to += 2;
    }
    if (bytes & 1) {
        *to = *from;
    }
}

static inline void ma_fill(uint8_t *restrict to, uint32_t word, int32_t bytes)
{
    for (int32_t words = bytes >> 2; words > 0; --words, to += 4) {
        ma_store4(to, word);
    }
    if (bytes & 2) {
        to[0] = to[1] = (uint8_t)word;
        to += 2;
    }
    if (bytes & 1) {
        *to = (uint8_t)word;
    }
}

/* Calls `body(tile, variant)` with the variant as a constant. */
#define MA_VARIANTS(body, t, input)                \
    do {                                           \
        if ((t)->wide) {                           \
            body((t), (input) | MA_WIDE);          \
        } else if ((t)->lo == 0) {                 \
            body((t), (input) | MA_FROM_ZERO);     \
        } else {                                   \
            body((t), (input));                    \
        }                                          \
    } while (0)

/* Defines the two entry points of a kernel on windows, whose body is a `static inline` function. */
#define MA_WINDOW_KERNEL(name, body)               \
    void name##_u8(const void *window)             \
    {                                              \
        const struct ma_window *const t = window;  \
        MA_VARIANTS(body, t, 0);                   \
    }                                              \
    void name##_i8(const void *window)             \
    {                                              \
        const struct ma_window *const t = window;  \
        MA_VARIANTS(body, t, MA_SIGNED);           \
    }

/* The same of a kernel on elements, of which `body(tile, is_signed)` is all there is. */
#define MA_ELEMENTS_KERNEL(name, body)             \
    void name##_u8(const void *elements)           \
    {                                              \
        body((const struct ma_elements *)elements, 0); \
    }                                              \
    void name##_i8(const void *elements)           \
    {                                              \
        body((const struct ma_elements *)elements, 1); \
    }

/* Whether a window is one pixel of whole words, of elements of 16 bits. */
static inline int ma_is_direct16(const struct ma_window *t)
{
    return t->filter_rows == 1 && t->filter_columns == 1 && t->channels % 2 == 0
        && t->pad_top == 0 && t->pad_left == 0
        && (t->out_rows - 1) * t->stride_rows < t->in_rows
        && (t->out_columns - 1) * t->stride_columns < t->in_columns;
}

#endif
