/* Convolution and dense: dot products of what a window sees with rows of weights.
 *
 * Two windows are gathered into the core's scratch (im2col), then 2 x 4 sums are kept in
 * registers: 6 loads and 8 dot products for 32 multiply-accumulates, the register blocking of
 * PULP-NN (A. Garofalo et al., arXiv:1908.11263).
 */
#include "ma_kernel.h"

/* Sums of `pixels` (1 or 2) windows with `channels` (1 or 4) rows of weights. */
static inline void ma_sums(int32_t acc[2][4], const uint8_t *const seen[2], const int8_t *weight,
    int32_t words, int32_t pixels, int32_t channels, int variant)
{
    for (int32_t p = 0; p < pixels; ++p) {
        for (int32_t k = 0; k < channels; ++k) {
            acc[p][k] = 0;
        }
    }
    for (int32_t i = 0; i < words; ++i) {
        const uint32_t x0 = ma_load4(seen[0] + 4 * i);
        const uint32_t x1 = pixels == 2 ? ma_load4(seen[1] + 4 * i) : 0;
        for (int32_t k = 0; k < channels; ++k) {
            const uint32_t w = ma_load4(weight + 4 * (k * words + i));
            acc[0][k] = ma_dot4(x0, w, acc[0][k], variant & MA_SIGNED);
            if (pixels == 2) {
                acc[1][k] = ma_dot4(x1, w, acc[1][k], variant & MA_SIGNED);
            }
        }
    }
}

/* Rows of weights [first, last), as many words each, and where sums with them go. */
struct ma_filters {
    const int8_t *weight; /* of row 0 */
    int32_t words, first, last;
    struct ma_tail tail;
};

/* Sums of `pixels` windows with `channels` rows of weights from k on, of which the outputs start at
 * `to` in y. */
static inline void ma_pixels_block(struct ma_filters rows, const uint8_t *const seen[2],
    const int32_t to[2], int32_t k, int32_t pixels, int32_t channels, int variant)
{
    int32_t acc[2][4];
    ma_sums(acc, seen, rows.weight + 4 * k * rows.words, rows.words, pixels, channels, variant);
    for (int32_t j = 0; j < channels; ++j) {
        const struct ma_factors of = ma_factors_of(rows.tail, k + j, variant);
        for (int32_t p = 0; p < pixels; ++p) {
            ma_put(rows.tail, to[p] + k + j, of, acc[p][j], variant);
        }
    }
}

/* All sums of one or two output pixels, which start at `to` in y. */
static inline void ma_pixels(struct ma_filters rows, const uint8_t *const seen[2], const int32_t to[2],
    int32_t pixels, int variant)
{
    int32_t k = rows.first;
    for (; k + 4 <= rows.last; k += 4) {
        if (pixels == 2) {
            ma_pixels_block(rows, seen, to, k, 2, 4, variant);
        } else {
            ma_pixels_block(rows, seen, to, k, 1, 4, variant);
        }
    }
    for (; k < rows.last; ++k) {
        if (pixels == 2) {
            ma_pixels_block(rows, seen, to, k, 2, 1, variant);
        } else {
            ma_pixels_block(rows, seen, to, k, 1, 1, variant);
        }
    }
}

/* Where an output pixel is. */
struct ma_place {
    int32_t image, row, column;
};

static inline struct ma_place ma_place_of(const struct ma_window *t, int32_t pixel)
{
    const int32_t line = pixel / t->out_columns;
    return (struct ma_place){line / t->out_rows, line % t->out_rows, pixel % t->out_columns};
}

static inline void ma_next(const struct ma_window *t, struct ma_place *at)
{
    if (++at->column == t->out_columns) {
        at->column = 0;
        if (++at->row == t->out_rows) {
            at->row = 0;
            ++at->image;
        }
    }
}

/* One filter row of a window, column by column. */
static inline void ma_gather_columns(
    const struct ma_window *t, const uint8_t *line, int32_t column, uint8_t *to)
{
    const int32_t c = t->channels;
    for (int32_t f = 0; f < t->filter_columns; ++f, column += t->dilation_columns, to += c) {
        if (column >= 0 && column < t->in_columns) {
            ma_copy(to, line + column * t->in_pixel, c);
        }
    }
}

/* A window whose columns are no neighbours, from `row` and `column` on, where padding was filled in. */
static void ma_gather_apart(
    const struct ma_window *t, const uint8_t *image, int32_t row, int32_t column, uint8_t *to)
{
    const int32_t bytes = t->filter_columns * t->channels;
    for (int32_t f = 0; f < t->filter_rows; ++f, row += t->dilation_rows, to += bytes) {
        if (row >= 0 && row < t->in_rows) {
            ma_gather_columns(t, image + row * t->in_line, column, to);
        }
    }
}

/* Everything the window of the pixel at `at` sees. Where its rows are cut, there is padding
 * everywhere before what is inside is copied. */
static inline void ma_gather(const struct ma_window *t, const struct ma_place *at, uint8_t *to)
{
    int32_t row = at->row * t->stride_rows - t->pad_top;
    const int32_t column = at->column * t->stride_columns - t->pad_left;
    const uint8_t *const image = (const uint8_t *)t->x + at->image * t->in_image;
    const int32_t rows = t->filter_rows, taps = t->filter_columns, c = t->channels;
    const int32_t down = t->dilation_rows, line = t->in_line, end = t->in_rows;
    const int apart = t->dilation_columns != 1 || t->in_pixel != c;
    const int32_t before = ma_max(0, -column), behind = ma_min(taps, t->in_columns - column);
    const int cut = before > 0 || behind < taps || apart;
    if (cut) {
        ma_fill(to, ma_splat4(t->pad_value), rows * taps * c);
    }
    if (apart) {
        ma_gather_apart(t, image, row, column, to);
        return;
    }
    /* None where all columns are padding, which may be wider than the filter. */
    const int32_t bytes = ma_max(0, behind - before) * c;
    const uint8_t *const from = image + (column + before) * c;
    to += before * c;
    for (int32_t f = 0; f < rows; ++f, row += down, to += taps * c) {
        if (row >= 0 && row < end) {
            ma_copy(to, from + row * line, bytes);
        } else if (!cut) {
            ma_fill(to, ma_splat4(t->pad_value), taps * c);
        }
    }
}

/* Whether a window is one pixel, whose channels can be read where they lie. */
static inline int ma_is_direct(const struct ma_window *t)
{
    return t->filter_rows == 1 && t->filter_columns == 1 && t->channels % 4 == 0
        && t->pad_top == 0 && t->pad_left == 0
        && (t->out_rows - 1) * t->stride_rows < t->in_rows
        && (t->out_columns - 1) * t->stride_columns < t->in_columns;
}

static inline void ma_conv2d(const struct ma_window *t, int variant)
{
    const int32_t taps = t->filter_rows * t->filter_columns * t->channels;
    const int32_t words = ma_up(taps, 4), pixels = t->batch * t->out_rows * t->out_columns;
    const int direct = ma_is_direct(t);
    uint8_t *const scratch = t->scratch + (direct ? 0 : ma_core() * 8 * words);
    const struct ma_share share = ma_divide(
        ma_up(pixels, 2), ma_up(t->out_channels, 4), direct ? 16 : 6 * words + 64, 14 * words + 80);
    const struct ma_filters rows = {t->weight, words, 4 * share.blocks.first,
        ma_min(t->out_channels, 4 * share.blocks.last), ma_tail_of(t)};
    struct ma_place at = ma_place_of(t, 2 * share.units.first);
    if (!direct && share.units.first < share.units.last) {
        ma_store4(scratch + 4 * (words - 1), 0);
        ma_store4(scratch + 4 * (2 * words - 1), 0);
    }
    for (int32_t unit = share.units.first; unit < share.units.last; ++unit) {
        const int32_t pixel = 2 * unit, here = ma_min(2, pixels - pixel);
        const uint8_t *seen[2] = {scratch, scratch + 4 * words};
        int32_t to[2] = {0, 0};
        for (int32_t p = 0; p < here; ++p, ma_next(t, &at)) {
            to[p] = at.image * t->out_image + at.row * t->out_line + at.column * t->out_pixel;
            if (direct) {
                seen[p] = (const uint8_t *)t->x + at.image * t->in_image
                    + at.row * t->stride_rows * t->in_line
                    + at.column * t->stride_columns * t->in_pixel;
            } else {
                ma_gather(t, &at, scratch + p * 4 * words);
            }
        }
        ma_pixels(rows, seen, to, here, variant);
    }
}

MA_WINDOW_KERNEL(ma_conv2d, ma_conv2d)

/* Up to four channels of one row of a dense layer, which starts at y; `part` bytes of the row of
 * inputs lie beyond the last whole word. */
static inline void ma_dense_channels(struct ma_filters rows, const uint8_t *x, int32_t part, int32_t y,
    int32_t k, int32_t channels, int variant)
{
    const int32_t words = rows.words, whole = words - (part != 0);
    const int is_signed = variant & MA_SIGNED;
    const int8_t *weight = rows.weight + 4 * k * words;
    int32_t acc[4] = {0, 0, 0, 0};
    for (int32_t i = 0; i < whole; ++i) {
        const uint32_t seen = ma_load4(x + 4 * i);
        for (int32_t j = 0; j < channels; ++j) {
            acc[j] = ma_dot4(seen, ma_load4(weight + 4 * (j * words + i)), acc[j], is_signed);
        }
    }
    if (part) {
        const uint32_t seen = ma_load_part(x + 4 * whole, part);
        for (int32_t j = 0; j < channels; ++j) {
            acc[j] = ma_dot4(seen, ma_load4(weight + 4 * (j * words + whole)), acc[j], is_signed);
        }
    }
    for (int32_t j = 0; j < channels; ++j) {
        ma_put(rows.tail, y + k + j, ma_factors_of(rows.tail, k + j, variant), acc[j], variant);
    }
}

static inline void ma_dense(const struct ma_window *t, int variant)
{
    const struct ma_range mine = ma_part(t->out_channels, ma_core(), ma_cores());
    const int32_t part = t->channels % 4, batch = t->batch;
    const int32_t in_image = t->in_image, out_image = t->out_image;
    const struct ma_filters rows = {
        t->weight, ma_up(t->channels, 4), mine.first, mine.last, ma_tail_of(t)};
    const uint8_t *x = t->x;
    for (int32_t row = 0; row < batch; ++row, x += in_image) {
        int32_t k = rows.first;
        for (; k + 4 <= rows.last; k += 4) {
            ma_dense_channels(rows, x, part, row * out_image, k, 4, variant);
        }
        for (; k < rows.last; ++k) {
            ma_dense_channels(rows, x, part, row * out_image, k, 1, variant);
        }
    }
}

MA_WINDOW_KERNEL(ma_dense, ma_dense)
