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

/* An output pixel, and its window: of its first position, which may lie outside of the image, the row,
 * the column and the index in x; and where the pixel's sums begin in y. */
struct ma_place {
    int32_t image, row, column, top, left, x, y;
};

static inline struct ma_place ma_place_at(
    const struct ma_window *t, int32_t image, int32_t row, int32_t column)
{
    const int32_t top = row * t->stride_rows - t->pad_top;
    const int32_t left = column * t->stride_columns - t->pad_left;
    return (struct ma_place){image, row, column, top, left,
        image * t->in_image + top * t->in_line + left * t->in_pixel,
        image * t->out_image + row * t->out_line + column * t->out_pixel};
}

static inline struct ma_place ma_place_of(const struct ma_window *t, int32_t pixel)
{
    const int32_t line = pixel / t->out_columns;
    return ma_place_at(t, line / t->out_rows, line % t->out_rows, pixel % t->out_columns);
}

static inline void ma_next(const struct ma_window *t, struct ma_place *at)
{
    ++at->column;
    at->left += t->stride_columns;
    at->x += t->stride_columns * t->in_pixel;
    at->y += t->out_pixel;
    if (at->column == t->out_columns) {
        const int last = at->row + 1 == t->out_rows;
        *at = ma_place_at(t, at->image + last, last ? 0 : at->row + 1, 0);
    }
}

/* Windows whose columns are neighbours: `rows` of `bytes` each, `line` apart in x, which has `end` bytes.
 * They are those of the filter that lie in the image: the first one is `down` bytes behind the window's
 * first position in x, and `above` bytes behind its place in the scratch. Columns are all inside where the
 * first is from 0 on and below `left_of`, rows below `all_of`. Where columns are no neighbours, x ends at 0,
 * and none is. */
struct ma_frame {
    int32_t rows, bytes, line, end, down, above;
    uint32_t left_of, all_of;
};

/* Of windows with all rows inside. */
static inline struct ma_frame ma_frame_of(const struct ma_window *t)
{
    const int apart = t->dilation_columns != 1 || t->in_pixel != t->channels;
    const int32_t lines = (t->batch - 1) * t->in_image + (t->in_rows - 1) * t->in_line;
    return (struct ma_frame){
        t->filter_rows,
        t->filter_columns * t->channels,
        t->dilation_rows * t->in_line,
        apart ? 0 : lines + t->in_columns * t->in_pixel,
        0,
        0,
        apart ? 0 : (uint32_t)ma_max(0, t->in_columns - t->filter_columns + 1),
        (uint32_t)ma_max(0, t->in_rows - (t->filter_rows - 1) * t->dilation_rows),
    };
}

/* A word each of two places to two others. */
static inline void ma_move_two(uint8_t *to, uint8_t *too, const uint8_t *x, const uint8_t *z)
{
    const uint32_t a = ma_load4(x), b = ma_load4(z);
    ma_store4(to, a);
    ma_store4(too, b);
}

/* Two windows inside the image, row by row. The last word of a row ends with it: where the row is
 * no multiple of four, it overlaps the one before. */
static void ma_gather_inside(struct ma_frame frame, const uint8_t *restrict x,
    const uint8_t *restrict z, uint8_t *restrict to, uint8_t *restrict too)
{
    const int32_t bytes = frame.bytes, last = bytes - 4, pairs = (bytes - 1) >> 3;
    const int32_t rest = last - 8 * pairs, over = frame.line - 8 * pairs;
    for (int32_t f = frame.rows; f > 0; --f) {
        if (last < 0) {
            ma_copy(to, x, bytes);
            ma_copy(too, z, bytes);
            to += bytes;
            too += bytes;
        } else {
            for (int32_t i = pairs; i > 0; --i, to += 8, too += 8, x += 8, z += 8) {
                ma_move_two(to, too, x, z);
                ma_move_two(to + 4, too + 4, x + 4, z + 4);
            }
            if (rest > 0) {
                ma_move_two(to, too, x, z);
            }
            ma_move_two(to + rest, too + rest, x + rest, z + rest);
            to += rest + 4;
            too += rest + 4;
        }
        x += over;
        z += over;
    }
}

/* Positions of the filter inside the image, as `ma_inside` has them; no division where all are neighbours. */
static inline struct ma_range ma_within(int32_t first, int32_t step, int32_t extent, int32_t filter)
{
    if (step != 1) {
        return ma_inside(first, step, extent, filter);
    }
    const int32_t begin = ma_clip(-first, 0, filter);
    return (struct ma_range){begin, ma_clip(extent - first, begin, filter)};
}

/* Any window: padding is written once, before what is inside; everywhere, where columns are outside. */
static void ma_gather_any(
    const struct ma_window *t, int32_t top, int32_t left, int32_t at, uint8_t *to)
{
    const int32_t c = t->channels, taps = t->filter_columns, bytes = taps * c, pixel = t->in_pixel;
    const struct ma_range rows = ma_within(top, t->dilation_rows, t->in_rows, t->filter_rows);
    const struct ma_range seen = ma_within(left, t->dilation_columns, t->in_columns, taps);
    const uint32_t pad = ma_splat4(t->pad_value);
    const int cut = seen.first > 0 || seen.last < taps;
    const int32_t above = cut ? t->filter_rows : rows.first;
    ma_fill(to, pad, above * bytes);
    if (!cut) {
        ma_fill(to + rows.last * bytes, pad, (t->filter_rows - rows.last) * bytes);
    }
    /* Columns that are neighbours are one run. */
    const int32_t step = t->dilation_columns * pixel;
    const int32_t runs = step == c ? seen.last > seen.first : seen.last - seen.first;
    const int32_t run = step == c ? (seen.last - seen.first) * c : c;
    const int32_t line = t->dilation_rows * t->in_line;
    const uint8_t *from = (const uint8_t *)t->x + at + rows.first * line + seen.first * step;
    to += rows.first * bytes + seen.first * c;
    for (int32_t row = rows.first; row < rows.last; ++row, from += line, to += bytes) {
        for (int32_t f = 0; f < runs; ++f) {
            ma_copy(to + f * c, from + f * step, run);
        }
    }
}

/* Padding of the columns of a window at `to`, the first of which is `left`, that are outside. */
static MA_APART void ma_pad_columns(
    const struct ma_window *t, const struct ma_frame *frame, int32_t left, uint8_t *to)
{
    const struct ma_range seen = ma_within(left, 1, t->in_columns, t->filter_columns);
    const int32_t before = seen.first * t->channels, inside = seen.last * t->channels;
    const int32_t rows = frame->rows, bytes = frame->bytes;
    const uint32_t pad = ma_splat4(t->pad_value);
    for (int32_t row = before > 0 ? 0 : rows; row < rows; ++row) {
        ma_fill(to + row * bytes, pad, before);
    }
    to += inside;
    for (int32_t row = inside < bytes ? 0 : rows; row < rows; ++row) {
        ma_fill(to + row * bytes, pad, bytes - inside);
    }
}

/* Makes `cut` that of windows whose first row is `top`; rows outside of two at `to`, `words` apart, are
 * filled. */
static MA_APART void ma_cut_rows(const struct ma_window *t, int32_t top, struct ma_frame *cut, uint8_t *to,
    int32_t words)
{
    const int32_t bytes = cut->bytes, all = t->filter_rows * bytes;
    const struct ma_range rows = ma_within(top, t->dilation_rows, t->in_rows, t->filter_rows);
    const uint32_t pad = ma_splat4(t->pad_value);
    const int32_t above = rows.first * bytes, inside = rows.last * bytes;
    cut->rows = rows.last - rows.first;
    cut->down = rows.first * cut->line;
    cut->above = above;
    for (int32_t i = above > 0 ? 0 : 2; i < 2; ++i) {
        ma_fill(to + 4 * i * words, pad, above);
    }
    for (int32_t i = inside < all ? 0 : 2; i < 2; ++i) {
        ma_fill(to + 4 * i * words + inside, pad, all - inside);
    }
}

/* Whether all rows of a window are inside. */
static inline int ma_sees_all(const struct ma_frame *whole, const struct ma_place *at)
{
    return (uint32_t)at->top < whole->all_of;
}

static inline int ma_is_inside(const struct ma_frame *whole, const struct ma_place *at)
{
    return ma_sees_all(whole, at) && (uint32_t)at->left < whole->left_of;
}

/* Whether rows of a window lie in x, as if all of its columns were in the image. */
static inline int ma_is_readable(struct ma_frame frame, int32_t at)
{
    return at >= 0 && at + (frame.rows - 1) * frame.line + frame.bytes <= frame.end;
}

/* Two windows that see the same rows of the filter; those outside are filled. Where columns are outside,
 * others of x are read and then padding is written. 0 where that would read beyond x. */
static inline int ma_gather_two(const struct ma_window *t, const struct ma_frame *frame,
    const struct ma_place *one, const struct ma_place *two, uint8_t *to, uint8_t *too)
{
    const uint8_t *const x = t->x;
    const int32_t first = one->x + frame->down, second = two->x + frame->down;
    const int before = (uint32_t)one->left >= frame->left_of;
    const int behind = (uint32_t)two->left >= frame->left_of;
    if (before | behind) {
        if (!ma_is_readable(*frame, first) || !ma_is_readable(*frame, second)) {
            return 0;
        }
    }
    to += frame->above;
    too += frame->above;
    ma_gather_inside(*frame, x + first, x + second, to, too);
    if (before) {
        ma_pad_columns(t, frame, one->left, to);
    }
    if (behind) {
        ma_pad_columns(t, frame, two->left, too);
    }
    return 1;
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
    const uint8_t *const x = t->x;
    uint8_t *const scratch = t->scratch + (direct ? 0 : ma_core() * 8 * words);
    const struct ma_share share = ma_divide(
        ma_up(pixels, 2), ma_up(t->out_channels, 4), direct ? 16 : 6 * words + 64, 14 * words + 80);
    const struct ma_filters rows = {t->weight, words, 4 * share.blocks.first,
        ma_min(t->out_channels, 4 * share.blocks.last), ma_tail_of(t)};
    struct ma_place at = ma_place_of(t, 2 * share.units.first);
    const struct ma_frame whole = ma_frame_of(t);
    struct ma_frame cut = whole;
    int32_t top = INT32_MIN; /* of windows whose rows outside are filled, and which `cut` is for */
    if (!direct && share.units.first < share.units.last) {
        ma_store4(scratch + 4 * (words - 1), 0);
        ma_store4(scratch + 4 * (2 * words - 1), 0);
    }
    for (int32_t unit = share.units.first; unit < share.units.last; ++unit) {
        const int32_t here = ma_min(2, pixels - 2 * unit);
        const uint8_t *seen[2] = {scratch, scratch + 4 * words};
        const struct ma_place one = at;
        ma_next(t, &at);
        const struct ma_place two = here == 2 ? at : one;
        ma_next(t, &at);
        const int32_t to[2] = {one.y, two.y};
        if (direct) {
            seen[0] = x + one.x;
            seen[1] = x + two.x;
        } else if (ma_is_inside(&whole, &one) && ma_is_inside(&whole, &two)) {
            ma_gather_inside(whole, x + one.x, x + two.x, scratch, scratch + 4 * words);
            top = INT32_MIN;
        } else {
            const int all = ma_sees_all(&whole, &one) && ma_sees_all(&whole, &two);
            if (!all && one.top != top) {
                ma_cut_rows(t, one.top, &cut, scratch, words);
                top = one.top;
            }
            const int same = all || two.top == top;
            if (!same || !ma_gather_two(t, all ? &whole : &cut, &one, &two, scratch, scratch + 4 * words)) {
                ma_gather_any(t, one.top, one.left, one.x, scratch);
                ma_gather_any(t, two.top, two.left, two.x, scratch + 4 * words);
                top = INT32_MIN;
            }
            top = all ? INT32_MIN : top;
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
