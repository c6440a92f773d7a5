/* Depthwise convolution: columns of four channels are turned into words of one channel each.
 *
 * For an output row and four channels, the core's scratch holds for every channel the image's
 * columns one after the other, each as the filter's rows from top to bottom. A window is then a
 * run of words to multiply with a row of weights. Where a column has more rows than the filter,
 * it serves several output rows: for those below the first, the weights are shifted by some rows.
 */
#include "ma_kernel.h"

/* Four channels' columns under one row of windows. */
struct ma_strip {
    uint8_t *bytes;   /* of channel j from j * length */
    int32_t columns;  /* of the image, padding included */
    int32_t column;   /* bytes of one: the rows, rounded up to 4 */
    int32_t length;   /* columns * column */
};

/* Four image rows of some channels, as addresses that advance by `step` from column to column. */
struct ma_rows {
    const uint8_t *at[4];
    int32_t step[4];
};

/* Rows top, top + dilation, ... of the image, from column `column`; `pad` stands for those outside. */
static inline struct ma_rows ma_rows_at(const struct ma_window *t, const uint8_t *image, int32_t top,
    int32_t column, const uint32_t *pad)
{
    struct ma_rows rows;
    for (int32_t i = 0; i < 4; ++i) {
        const int32_t row = top + i * t->dilation_rows;
        const int inside = row >= 0 && row < t->in_rows;
        const int32_t place = row * t->in_line + column * t->in_pixel;
        rows.at[i] = inside ? image + place : (const uint8_t *)pad;
        rows.step[i] = inside ? t->in_pixel : 0;
    }
    return rows;
}

/* `count` columns of `channels` (1 .. 4) channels, of each a word of four rows to every channel's strip. */
static inline void ma_turn_columns(const struct ma_strip *strip, uint8_t *to, struct ma_rows rows,
    int32_t count, int32_t channels)
{
    const int32_t length = strip->length, column = strip->column;
    for (int32_t left = count; left > 0; --left, to += column) {
        uint32_t word[4];
        for (int32_t i = 0; i < 4; ++i) {
            word[i] = channels == 4 ? ma_load4(rows.at[i]) : ma_load_part(rows.at[i], channels);
            rows.at[i] += rows.step[i];
        }
        ma_transpose4(word);
        for (int32_t j = 0; j < channels; ++j) {
            ma_store4(to + j * length, word[j]);
        }
    }
}

static inline void ma_pad_columns(const struct ma_strip *strip, uint8_t *to, int32_t columns,
    uint32_t pad, int32_t channels)
{
    const int32_t length = strip->length, column = strip->column;
    for (int32_t left = columns; left > 0; --left, to += column) {
        for (int32_t j = 0; j < channels; ++j) {
            ma_store4(to + j * length, pad);
        }
    }
}

/* Fills the strip for windows whose top row is `top`; `image` is at the first of the channels. A
 * function of its own, so that its loop has all registers. */
static MA_APART void ma_fill_strip(const struct ma_window *t, const struct ma_strip *strip,
    const uint8_t *image, int32_t top, int32_t channels)
{
    const uint32_t pad = ma_splat4(t->pad_value);
    const int32_t before = ma_min(t->pad_left, strip->columns);
    const int32_t end = ma_clip(t->pad_left + t->in_columns, before, strip->columns);
    for (int32_t word = 0; 4 * word < strip->column; ++word) {
        const int32_t first = top + 4 * word * t->dilation_rows;
        const struct ma_rows rows = ma_rows_at(t, image, first, before - t->pad_left, &pad);
        uint8_t *const to = strip->bytes + 4 * word;
        uint8_t *const inside = to + before * strip->column;
        ma_pad_columns(strip, to, before, pad, channels);
        if (channels == 4) {
            ma_turn_columns(strip, inside, rows, end - before, 4);
        } else {
            ma_turn_columns(strip, inside, rows, end - before, channels);
        }
        ma_pad_columns(strip, to + end * strip->column, strip->columns - end, pad, channels);
    }
}

/* Output elements of one channel, and how to get from one to the next. */
struct ma_outputs {
    struct ma_tail tail;
    int32_t columns, pixel, line; /* how many in a row; from one to the next; to the row below */
};

static inline struct ma_outputs ma_outputs_of(const struct ma_window *t)
{
    return (struct ma_outputs){ma_tail_of(t), t->out_columns, t->out_pixel, t->out_line};
}

/* One output row of channel k, any filter. `y` is the index of its first element. Columns that are
 * neighbours are one run of words. */
static inline void ma_line(const struct ma_window *t, const struct ma_strip *strip,
    const uint8_t *seen, int32_t k, int32_t y, int variant)
{
    const struct ma_outputs to = ma_outputs_of(t);
    const struct ma_factors of = ma_factors_of(to.tail, k, variant);
    const int32_t across = t->dilation_columns * strip->column, taps = t->filter_columns;
    const int32_t ahead = t->stride_columns * strip->column;
    const int32_t runs = t->dilation_columns == 1 ? 1 : taps;
    const int32_t run = (runs == 1 ? taps : 1) * strip->column;
    const int8_t *const weight = t->weight + k * taps * strip->column;
    for (int32_t i = 0; i < to.columns; ++i) {
        int32_t acc = 0;
        const int8_t *w = weight;
        for (int32_t f = 0; f < runs; ++f) {
            const uint8_t *const x = seen + f * across;
            for (int32_t at = 0; at < run; at += 4, w += 4) {
                acc = ma_dot4(ma_load4(x + at), ma_load4(w), acc, variant & MA_SIGNED);
            }
        }
        ma_put(to.tail, y, of, acc, variant);
        y += to.pixel;
        seen += ahead;
    }
}

/* One or two output rows of channel k, three columns of up to three rows. */
static inline void ma_lines3(const struct ma_window *t, const uint8_t *seen, int32_t k, int32_t y,
    int32_t lines, int variant)
{
    const struct ma_outputs to = ma_outputs_of(t);
    const struct ma_factors of = ma_factors_of(to.tail, k, variant);
    const int32_t ahead = 4 * t->stride_columns;
    const int8_t *weight = t->weight + 12 * k;
    const uint32_t w0 = ma_load4(weight), w1 = ma_load4(weight + 4), w2 = ma_load4(weight + 8);
    for (int32_t i = 0; i < to.columns; ++i) {
        const uint32_t x0 = ma_load4(seen), x1 = ma_load4(seen + 4), x2 = ma_load4(seen + 8);
        int32_t acc = ma_dot4(x0, w0, 0, variant & MA_SIGNED);
        acc = ma_dot4(x1, w1, acc, variant & MA_SIGNED);
        ma_put(to.tail, y, of, ma_dot4(x2, w2, acc, variant & MA_SIGNED), variant);
        if (lines == 2) {
            acc = ma_dot4(x0, w0 << 8, 0, variant & MA_SIGNED);
            acc = ma_dot4(x1, w1 << 8, acc, variant & MA_SIGNED);
            acc = ma_dot4(x2, w2 << 8, acc, variant & MA_SIGNED);
            ma_put(to.tail, y + to.line, of, acc, variant);
        }
        y += to.pixel;
        seen += ahead;
    }
}

/* One channel's weights, five columns of five to eight rows, which stay in registers. */
struct ma_ten {
    uint32_t word[10];
};

static inline struct ma_ten ma_ten_of(const struct ma_window *t, int32_t k)
{
    const int8_t *const weight = t->weight + 40 * k;
    struct ma_ten ten;
    for (int32_t i = 0; i < 10; ++i) {
        ten.word[i] = ma_load4(weight + 4 * i);
    }
    return ten;
}

/* The same weights `rows` (1 .. 3) rows further down their columns. */
static inline void ma_shift_ten(struct ma_ten *ten, int32_t rows)
{
    for (int32_t i = 0; i < 10; i += 2) {
        ten->word[i + 1] = ten->word[i + 1] << 8 * rows | ten->word[i] >> (32 - 8 * rows);
        ten->word[i] <<= 8 * rows;
    }
}

/* One output row, from element y on, of a channel whose columns begin at `seen`. */
static inline void ma_line5(const struct ma_outputs *to, struct ma_factors of,
    const struct ma_ten *ten, const uint8_t *seen, int32_t ahead, int32_t y, int variant)
{
    for (int32_t i = 0; i < to->columns; ++i) {
        int32_t acc = 0;
        for (int32_t at = 0; at < 10; at += 2) { /* by two: none is used right after its load */
            const uint32_t x0 = ma_load4(seen + 4 * at), x1 = ma_load4(seen + 4 * at + 4);
            acc = ma_dot4(x0, ten->word[at], acc, variant & MA_SIGNED);
            acc = ma_dot4(x1, ten->word[at + 1], acc, variant & MA_SIGNED);
        }
        ma_put(to->tail, y, of, acc, variant);
        y += to->pixel;
        seen += ahead;
    }
}

/* Windows of five columns and stride 1 that slide over a line: output i sums in sum[i % 5]. */
struct ma_slide {
    int32_t sum[5], left, y;
    const uint8_t *seen;
};

/* Adds the next column to the sums that see it, of outputs n, n - 1, .. (n modulo 5; the first `sums`
 * of them), as their first column, second, ... */
static inline void ma_slide_on(
    struct ma_slide *s, const struct ma_ten *ten, int32_t n, int32_t sums, int variant)
{
    const uint32_t x0 = ma_load4(s->seen), x1 = ma_load4(s->seen + 4);
    s->seen += 8;
    for (int32_t f = 0; f < sums; ++f) {
        int32_t *const sum = &s->sum[(n + 5 - f) % 5];
        const int32_t acc = ma_dot4(x0, ten->word[2 * f], f ? *sum : 0, variant & MA_SIGNED);
        *sum = ma_dot4(x1, ten->word[2 * f + 1], acc, variant & MA_SIGNED);
    }
}

/* The same, and stores the output whose last column it is; whether that is the line's last one. */
static inline int ma_slide_out(struct ma_slide *s, const struct ma_outputs *to,
    struct ma_factors of, const struct ma_ten *ten, int32_t n, int variant)
{
    ma_slide_on(s, ten, n, 5, variant);
    ma_put(to->tail, s->y, of, s->sum[(n + 1) % 5], variant);
    s->y += to->pixel;
    return --s->left == 0;
}

/* `ma_line5` of stride 1: each column is loaded once, and meets all five outputs that see it. */
static inline void ma_slide5(const struct ma_outputs *to, struct ma_factors of,
    const struct ma_ten *ten, const uint8_t *seen, int32_t y, int variant)
{
    struct ma_slide s = {{0}, to->columns, y, seen};
    ma_slide_on(&s, ten, 0, 1, variant);
    ma_slide_on(&s, ten, 1, 2, variant);
    ma_slide_on(&s, ten, 2, 3, variant);
    ma_slide_on(&s, ten, 3, 4, variant);
    while (!ma_slide_out(&s, to, of, ten, 4, variant) && !ma_slide_out(&s, to, of, ten, 0, variant)
        && !ma_slide_out(&s, to, of, ten, 1, variant)
        && !ma_slide_out(&s, to, of, ten, 2, variant)
        && !ma_slide_out(&s, to, of, ten, 3, variant)) {
    }
}

/* Lines of a strip's channels k, k + 1, ...: `lines` of them each. */
struct ma_lines {
    int32_t lines, k, channels, y; /* `y` is the index of the first element of channel k */
};

static MA_APART void ma_strip_lines3(
    const struct ma_window *t, const struct ma_strip *strip, struct ma_lines at, int variant)
{
    const uint8_t *seen = strip->bytes;
    for (int32_t j = 0; j < at.channels; ++j, seen += strip->length) {
        if (at.lines == 2) {
            ma_lines3(t, seen, at.k + j, at.y + j, 2, variant);
        } else {
            ma_lines3(t, seen, at.k + j, at.y + j, 1, variant);
        }
    }
}

static MA_APART void ma_strip_lines5(
    const struct ma_window *t, const struct ma_strip *strip, struct ma_lines at, int variant)
{
    const struct ma_outputs to = ma_outputs_of(t);
    const int32_t ahead = 8 * t->stride_columns;
    const uint8_t *seen = strip->bytes;
    for (int32_t j = 0; j < at.channels; ++j, seen += strip->length) {
        const struct ma_factors of = ma_factors_of(to.tail, at.k + j, variant);
        struct ma_ten ten = ma_ten_of(t, at.k + j);
        int32_t left = at.lines, y = at.y + j;
        for (;;) {
            if (ahead == 8) {
                ma_slide5(&to, of, &ten, seen, y, variant);
            } else {
                ma_line5(&to, of, &ten, seen, ahead, y, variant);
            }
            if (--left == 0) {
                break;
            }
            ma_shift_ten(&ten, t->stride_rows);
            y += to.line;
        }
    }
}

static MA_APART void ma_strip_lines(
    const struct ma_window *t, const struct ma_strip *strip, struct ma_lines at, int variant)
{
    for (int32_t j = 0; j < at.channels; ++j) {
        ma_line(t, strip, strip->bytes + j * strip->length, at.k + j, at.y + j, variant);
    }
}

/* Which lines a layer's strips are for. */
enum ma_kind { MA_ANY, MA_THREE, MA_FIVE };

static inline enum ma_kind ma_kind_of(const struct ma_window *t, int32_t column)
{
    if (t->dilation_columns != 1) {
        return MA_ANY;
    }
    if (t->filter_columns == 3 && column == 4) {
        return MA_THREE;
    }
    /* Without a dot product of its own a core has no registers left for ten weights. */
    return MA_XPULP && t->filter_columns == 5 && column == 8 ? MA_FIVE : MA_ANY;
}

/* `lines` output rows, of which the first is `row`, of `channels` channels from k. */
static inline void ma_depthwise_block(const struct ma_window *t, const struct ma_strip *strip,
    int32_t batch, int32_t row, int32_t lines, int32_t k, int32_t channels, int variant)
{
    const int32_t image = batch * t->in_image;
    const int32_t y = batch * t->out_image + row * t->out_line;
    const enum ma_kind kind = ma_kind_of(t, strip->column);
    ma_fill_strip(t, strip, (const uint8_t *)t->x + image + k,
        row * t->stride_rows - t->pad_top, channels);
    const struct ma_lines at = {lines, k, channels, y + k};
    if (kind == MA_THREE) {
        ma_strip_lines3(t, strip, at, variant);
    } else if (kind == MA_FIVE) {
        ma_strip_lines5(t, strip, at, variant);
    } else {
        ma_strip_lines(t, strip, at, variant);
    }
}

/* Whether a strip's columns hold what `lines` output rows see. */
static inline int ma_serves(const struct ma_window *t, int32_t column, int32_t lines)
{
    const enum ma_kind kind = ma_kind_of(t, column);
    if (lines == 1) {
        return 1;
    }
    if (kind == MA_ANY || t->dilation_rows != 1 || (kind == MA_THREE && lines * t->stride_rows > 2)) {
        return 0;
    }
    return (lines - 1) * t->stride_rows + t->filter_rows <= column;
}

/* Output rows that one strip serves, and who does what of them. */
struct ma_plan {
    int32_t lines;
    struct ma_share share;
};

/* Strips for as many rows as they may serve; of five columns, which serve up to four, as many that the
 * busiest core has the least to do. */
static inline struct ma_plan ma_plan_of(const struct ma_window *t, const struct ma_strip *strip)
{
    struct ma_plan plan = {0, {{0, 0}, {0, 0}, INT32_MAX}};
    for (int32_t lines = 4; lines > 0; lines >>= 1) {
        if (ma_serves(t, strip->column, lines)) {
            const int32_t line = t->out_columns * (strip->column * t->filter_columns / 2 + 8) + 30;
            const struct ma_share share
                = ma_divide(t->batch * ma_up(t->out_rows, lines), ma_up(t->channels, 4), 72,
                    5 * strip->length + 40 * strip->column + 250 + 4 * lines * line);
            plan = share.load < plan.share.load ? (struct ma_plan){lines, share} : plan;
            if (ma_kind_of(t, strip->column) != MA_FIVE) {
                break;
            }
        }
    }
    return plan;
}

static inline void ma_depthwise(const struct ma_window *t, int variant)
{
    const int32_t reach = (t->filter_columns - 1) * t->dilation_columns + 1;
    const int32_t columns = (t->out_columns - 1) * t->stride_columns + reach;
    const int32_t column = ma_round_up4(t->filter_rows);
    struct ma_strip strip = {NULL, columns, column, columns * column};
    strip.bytes = t->scratch + ma_core() * 4 * strip.length;
    const struct ma_plan plan = ma_plan_of(t, &strip);
    const struct ma_share share = plan.share;
    const int32_t groups = ma_up(t->out_rows, plan.lines);
    for (int32_t unit = share.units.first; unit < share.units.last; ++unit) {
        const int32_t batch = unit / groups, row = unit % groups * plan.lines;
        const int32_t here = ma_min(plan.lines, t->out_rows - row);
        for (int32_t block = share.blocks.first; block < share.blocks.last; ++block) {
            const int32_t k = 4 * block, channels = ma_min(4, t->channels - k);
            ma_depthwise_block(t, &strip, batch, row, here, k, channels, variant);
        }
    }
}

MA_WINDOW_KERNEL(ma_depthwise, ma_depthwise)
