/* Bytes whose axes change places. */
#include "ma_kernel.h"

/* Lines of y along one of its inner axes, `step` of them a unit, of which a core has some. */
struct ma_lines {
    const uint8_t *x;
    uint8_t *y;
    int32_t image, row, line; /* the outer axes, the first line */
};

/* Where unit number `unit` of `units` in a row of y's second axis begins. */
static inline struct ma_lines ma_lines_from(
    const struct ma_permutation *p, int32_t unit, int32_t units, int32_t step)
{
    const int32_t outer = unit / units;
    return (struct ma_lines){
        NULL, NULL, outer / p->extent[1], outer % p->extent[1], unit % units * step};
}

/* Its addresses; then goes on to the next one. */
static inline void ma_lines_next(
    const struct ma_permutation *p, struct ma_lines *at, int32_t axis, int32_t step)
{
    at->x = p->x + at->image * p->x_stride[0] + at->row * p->x_stride[1]
        + at->line * p->x_stride[axis];
    at->y = p->y + at->image * p->y_stride[0] + at->row * p->y_stride[1]
        + at->line * p->y_stride[axis];
    at->line += step;
    if (at->line >= p->extent[axis]) {
        at->line = 0;
        if (++at->row == p->extent[1]) {
            at->row = 0;
            ++at->image;
        }
    }
}

/* Bytes `from` and `to` bytes apart. */
static inline void ma_strided(
    uint8_t *restrict y, int32_t to, const uint8_t *restrict x, int32_t from, int32_t count)
{
    for (int32_t i = 0; i < count; ++i) {
        *y = *x;
        x += from;
        y += to;
    }
}

/* Up to four lines whose bytes lie side by side in x: 4 x 4 of them at a time. */
static inline void ma_turn(const struct ma_permutation *p, const struct ma_lines *at, int32_t lines)
{
    const int32_t from = p->x_stride[3], to = p->y_stride[2], count = p->extent[3];
    int32_t i = 0;
    for (; i + 4 <= count && lines == 4; i += 4) {
        const uint8_t *const x = at->x + i * from;
        uint32_t word[4] = {
            ma_load4(x), ma_load4(x + from), ma_load4(x + 2 * from), ma_load4(x + 3 * from)};
        ma_transpose4(word);
        for (int32_t l = 0; l < 4; ++l) {
            ma_store4(at->y + l * to + i, word[l]);
        }
    }
    for (int32_t l = 0; l < lines; ++l) {
        ma_strided(at->y + l * to + i, 1, at->x + l + i * from, from, count - i);
    }
}

/* Three planes that become the channels of pixels which lie side by side in y. */
static inline void ma_weave(
    const struct ma_permutation *p, const struct ma_lines *at, int32_t count)
{
    const int32_t from = p->x_stride[3], whole = count & ~3;
    const uint8_t *x = at->x;
    uint8_t *y = at->y;
    for (int32_t left = count >> 2; left > 0; --left, x += 4, y += 12) {
        uint32_t word[3] = {ma_load4(x), ma_load4(x + from), ma_load4(x + 2 * from)};
        ma_interleave3(word);
        ma_store4(y, word[0]);
        ma_store4(y + 4, word[1]);
        ma_store4(y + 8, word[2]);
    }
    for (int32_t j = 0; j < 3; ++j) {
        ma_strided(y + j, 3, x + j * from, 1, count - whole);
    }
}

/* What the axes' places say of how bytes move: lines that are copied; turned in fours; of three planes,
 * woven; byte by byte. */
enum ma_way { MA_KEPT, MA_TURNED, MA_WOVEN, MA_BYTES };

static inline enum ma_way ma_way_of(const struct ma_permutation *p)
{
    if (p->y_stride[3] != 1) {
        return MA_BYTES;
    }
    if (p->x_stride[3] == 1) {
        return MA_KEPT;
    }
    if (p->x_stride[2] == 1 && p->extent[3] >= 4) {
        return MA_TURNED;
    }
    return p->x_stride[2] == 1 && p->extent[3] == 3 && p->y_stride[2] == 3 ? MA_WOVEN : MA_BYTES;
}

/* The same loops with an image's pixels as one axis, where its rows lie one after the other in x and in
 * y: channels that become the last axis are turned four pixels at a time, whatever a row has of them;
 * channels that become planes, which are bytes far apart in y, become lines that are turned as well,
 * of whole planes where all cores have some, else of rows. */
static inline const struct ma_permutation *ma_joined(
    const struct ma_permutation *p, struct ma_permutation *joined)
{
    const int32_t *const n = p->extent, *const x = p->x_stride, *const y = p->y_stride;
    const int32_t pixels = n[2] * n[3];
    if (x[2] == 1 && y[3] == 1 && n[3] >= 4 && x[1] == n[2] && y[1] == n[2] * y[2]) {
        *joined = (struct ma_permutation){p->x, p->y, {n[0], 1, n[1] * n[2], n[3]},
            {x[0], 0, 1, x[3]}, {y[0], 0, y[2], 1}};
        return joined;
    }
    if (x[1] != 1 || y[3] != 1 || y[2] != n[3] || x[2] != n[3] * x[3] || pixels < 4) {
        return p;
    }
    if (n[3] < 4 || n[0] * ((n[1] + 3) >> 2) >= ma_cores()) {
        *joined = (struct ma_permutation){p->x, p->y, {n[0], 1, n[1], pixels},
            {x[0], 0, 1, x[3]}, {y[0], 0, y[1], 1}};
        return joined;
    }
    *joined = (struct ma_permutation){p->x, p->y, {n[0], n[2], n[1], n[3]},
        {x[0], x[2], 1, x[3]}, {y[0], y[2], y[1], 1}};
    return joined;
}

/* How many pixels of three planes are a unit of work: whole rows, where every core has some. */
static inline int32_t ma_woven_step(const struct ma_permutation *p)
{
    const int32_t cores = ma_cores(), pixels = p->extent[2];
    return p->extent[0] * p->extent[1] >= cores ? pixels : ma_round_up4(ma_up(pixels, cores));
}

void ma_permute(const void *permutation)
{
    struct ma_permutation joined;
    const struct ma_permutation *const p = ma_joined(permutation, &joined);
    const enum ma_way way = ma_way_of(p);
    /* Byte by byte, a line is along the longer one of the two inner axes. */
    const int32_t along = way == MA_BYTES && p->extent[2] > p->extent[3] ? 2 : 3;
    const int32_t axis = 5 - along;
    const int32_t step = way == MA_TURNED ? 4 : way == MA_WOVEN ? ma_woven_step(p) : 1;
    const int32_t units = ma_up(p->extent[axis], step);
    const struct ma_range mine
        = ma_part(p->extent[0] * p->extent[1] * units, ma_core(), ma_cores());
    struct ma_lines at = ma_lines_from(p, mine.first, units, step);
    for (int32_t unit = mine.first; unit < mine.last; ++unit) {
        const int32_t here = ma_min(step, p->extent[axis] - at.line);
        ma_lines_next(p, &at, axis, step);
        if (way == MA_KEPT) {
            ma_copy(at.y, at.x, p->extent[3]);
        } else if (way == MA_TURNED) {
            ma_turn(p, &at, here);
        } else if (way == MA_WOVEN) {
            ma_weave(p, &at, here);
        } else {
            ma_strided(at.y, p->y_stride[along], at.x, p->x_stride[along], p->extent[along]);
        }
    }
}
