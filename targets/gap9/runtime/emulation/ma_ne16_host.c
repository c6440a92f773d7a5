/* NE16 on the host: bit-exact, driven only through its registers and packed weights.
 *
 * Semantics: pulp-nnx's registers, GVSoC's arithmetic (sums wrap at 32 bits, the shift floors,
 * clipping last). A job runs as late as the interface allows, when somebody waits for it or the
 * queue is full, and its outputs hold a pattern until then: reading them too early shows. What the
 * chip would do with a register out of range is not known, so the run ends there.
 */
#include "ma_gap9.h"
#include "ma_host.h"
#include "ma_ne16_host.h"

#include <string.h>

#define L1_ADDRESS 0x10000000u
#define QUEUE 2
#define POISON 0xA5
/* Products are below 2^16, so this many of them stay inside int32. */
#define TERMS 16384
#define LANES 16u
#define MOST_WEIGHTS (131072u * 4u)

enum { CONV3X3 = 0, DEPTHWISE = 1, CONV1X1 = 2 };

struct job {
    uint32_t number, r[MA_NE16_REGISTERS];
    uint32_t mode, bits, norm, scale_bits, shift, out_bytes, relu, bias, corners, stream_in;
    uint32_t filter, taps, inputs, outputs, blocks, per_block;
    uint32_t tiles_down, tiles_across, last_rows, last_columns, last_in_rows, last_in_columns;
    uint32_t top, right, bottom, left;
    int32_t least;
};

static _Thread_local struct {
    uint32_t r[MA_NE16_REGISTERS];
    uint32_t written;
} context[QUEUE];

static _Thread_local struct job queue[QUEUE];
static _Thread_local uint32_t queued, issued, finished;
static _Thread_local int acquired;

static _Thread_local int16_t weights[MOST_WEIGHTS];
/* What `weights` was unpacked from: jobs with the same weights follow each other. */
static _Thread_local struct {
    uint8_t packed[131072];
    uint32_t bytes, mode, bits, blocks;
    int32_t least;
} unpacked;
static _Thread_local int16_t patch[9 * 131072];

/* ---- addresses ----------------------------------------------------------------------------- */

uint32_t ma_l1_address(const void *l1)
{
    const uint8_t *begin = ma_emulated_l1();
    const uint8_t *at = l1;
    if (at < begin || at > begin + ma_emulated_l1_bytes())
        ma_stop("NE16: an address is asked for that is not in L1 (%u bytes)",
                (unsigned)ma_emulated_l1_bytes());
    return L1_ADDRESS + (uint32_t)(at - begin);
}

static uint8_t *at(uint32_t address)
{
    return ma_emulated_l1() + (address - L1_ADDRESS);
}

static void check_range(const struct job *job, uint32_t index, const char *what, uint64_t begin,
                        uint64_t end)
{
    const uint64_t l1_end = (uint64_t)L1_ADDRESS + ma_emulated_l1_bytes();
    if (begin < L1_ADDRESS || end > l1_end)
        ma_stop("NE16 job %u: register %u (%s) is 0x%08x, and the job touches 0x%08x .. 0x%08x; "
                "legal addresses are 0x%08x .. 0x%08x, all of L1",
                (unsigned)job->number, (unsigned)index, what, (unsigned)job->r[index],
                (unsigned)begin, (unsigned)(end - 1), L1_ADDRESS, (unsigned)(l1_end - 1));
}

/* ---- registers ----------------------------------------------------------------------------- */

static void legal(const struct job *job, uint32_t index, const char *what, int64_t value,
                  int64_t least, int64_t most)
{
    if (value >= least && value <= most)
        return;
    if (least == most)
        ma_stop("NE16 job %u: register %u is 0x%08x, %s %lld; legal is %lld",
                (unsigned)job->number, (unsigned)index, (unsigned)job->r[index], what,
                (long long)value, (long long)least);
    ma_stop("NE16 job %u: register %u is 0x%08x, %s %lld; legal is %lld to %lld",
            (unsigned)job->number, (unsigned)index, (unsigned)job->r[index], what,
            (long long)value, (long long)least, (long long)most);
}

static void decode_configuration(struct job *job)
{
    const uint32_t c = job->r[23];
    legal(job, 23, "weight bits", (c & 7) + 1, 2, 8);
    legal(job, 23, "16-bit inputs", c >> 3 & 1, 0, 0);
    legal(job, 23, "filter mode", c >> 5 & 3, 0, 2);
    legal(job, 23, "linear mode", c >> 7 & 1, 0, 0);
    legal(job, 23, "reserved bits 9 to 11 (rounding is not implemented)", c >> 9 & 7, 0, 0);
    legal(job, 23, "scale bits code", c >> 12 & 3, 0, 2);
    legal(job, 23, "layer-wide weight offset", c >> 15 & 1, 1, 1);
    legal(job, 23, "shift per channel", c >> 24 & 1, 0, 0);
    legal(job, 23, "bits 26 to 31", c >> 26, 0, 0);
    job->bits = (c & 7) + 1;
    job->norm = c >> 4 & 1;
    job->mode = c >> 5 & 3;
    job->corners = c >> 8 & 1;
    job->scale_bits = 8u << (c >> 12 & 3);
    job->stream_in = c >> 14 & 1;
    job->shift = c >> 16 & 31;
    job->relu = !(c >> 23 & 1);
    job->bias = job->norm && (c >> 25 & 1);
    if ((c >> 21 & 3) != 0)
        legal(job, 23, "output bits code", c >> 21 & 3, 2, 2);
    job->out_bytes = (c >> 21 & 3) == 2 ? 4 : 1;
    if (!job->norm || job->stream_in)
        legal(job, 23, "output bytes (with stream-in, or without scales)", job->out_bytes, 4, 4);
}

static void decode_sizes(struct job *job)
{
    const uint32_t *r = job->r;
    const uint32_t depthwise = job->mode == DEPTHWISE;
    job->filter = job->mode == CONV1X1 ? 1 : 3;
    job->taps = job->filter * job->filter;
    job->per_block = depthwise ? 16 : 32;
    job->blocks = r[18] & 0xffff;
    legal(job, 15, "last output channels", r[15] >> 16, 1, job->per_block);
    legal(job, 15, "last input channels", r[15] & 0xffff, 1, LANES);
    legal(job, 18, "blocks of output channels", r[18] >> 16, 1, 4096);
    legal(job, 18, "blocks of input channels", job->blocks, 1, 4096);
    job->outputs = ((r[18] >> 16) - 1) * job->per_block + (r[15] >> 16);
    job->inputs = (job->blocks - 1) * LANES + (r[15] & 0xffff);
    if (depthwise)
        legal(job, 18, "input channels of a depthwise filter", job->inputs, job->outputs,
              job->outputs);
    job->tiles_down = r[19] >> 16;
    job->tiles_across = r[19] & 0xffff;
    legal(job, 19, "tiles down", job->tiles_down, 1, job->corners ? 1 : 65535);
    legal(job, 19, "tiles across", job->tiles_across, 1, job->corners ? 1 : 65535);
    job->last_rows = r[16] >> 16;
    job->last_columns = r[16] & 0xffff;
    legal(job, 16, "rows of the last tile", job->last_rows, 1, 3);
    legal(job, 16, "columns of the last tile", job->last_columns, 1, 3);
}

static void decode_padding(struct job *job)
{
    const uint32_t *r = job->r;
    const uint32_t most = job->filter == 3 ? 2 : 0, around = job->filter - 1;
    job->top = r[20] >> 28;
    job->right = r[20] >> 24 & 15;
    job->bottom = r[20] >> 20 & 15;
    job->left = r[20] >> 16 & 15;
    legal(job, 20, "rows of zeros above", job->top, 0, most);
    legal(job, 20, "columns of zeros right", job->right, 0, most);
    legal(job, 20, "rows of zeros below", job->bottom, 0, most);
    legal(job, 20, "columns of zeros left", job->left, 0, most);
    legal(job, 20, "padding value", r[20] & 0xffff, 0, 0);
    job->last_in_rows = r[17] >> 16;
    job->last_in_columns = r[17] & 0xffff;
    legal(job, 17, "input rows of the last tile", job->last_in_rows, 1, job->last_rows + around);
    legal(job, 17, "input columns of the last tile", job->last_in_columns, 1,
          job->last_columns + around);
}

static void decode_strides(struct job *job)
{
    const uint32_t *r = job->r;
    const uint32_t plane = job->mode == CONV1X1 ? 2 * job->bits : 18;
    uint32_t row = plane * job->blocks * (job->mode == CONV1X1 ? 1 : job->bits);
    if (job->mode == DEPTHWISE)
        row = 0;
    legal(job, 8, "third input stride", r[8], 0, 0);
    legal(job, 9, "first output stride", r[9], 32, 32);
    legal(job, 12, "first weight stride", r[12], plane, plane);
    legal(job, 13, "second weight stride", r[13], row, row);
    legal(job, 14, "third weight stride", r[14], 0, 0);
    legal(job, 21, "weight offset", (int32_t)r[21], -255, 0);
    legal(job, 22, "filter mask", r[22], 0, 0);
    job->least = (int32_t)r[21];
}

/* ---- what a job touches -------------------------------------------------------------------- */

static uint32_t packed_bytes(const struct job *job)
{
    const uint32_t rows = job->mode == DEPTHWISE ? 1 : job->outputs;
    return rows * job->blocks * job->bits * job->taps * 2;
}

/* Address of an input pixel of a tile, zeros around the image counted as pixels. */
static uint64_t input_pixel(const struct job *job, uint32_t row, uint32_t column)
{
    return (uint64_t)job->r[1] + (uint64_t)row * job->r[7] + (uint64_t)column * job->r[6];
}

static uint32_t input_rows(const struct job *job)
{
    return (job->tiles_down - 1) * 3 + job->last_in_rows;
}

static uint32_t input_columns(const struct job *job)
{
    return (job->tiles_across - 1) * 3 + job->last_in_columns;
}

static uint32_t output_rows(const struct job *job)
{
    return (job->tiles_down - 1) * 3 + job->last_rows;
}

static uint32_t output_columns(const struct job *job)
{
    return (job->tiles_across - 1) * 3 + job->last_columns;
}

static uint64_t output_pixel(const struct job *job, uint32_t row, uint32_t column)
{
    return (uint64_t)job->r[2] + (uint64_t)row * job->r[11] + (uint64_t)column * job->r[10];
}

struct range {
    uint64_t begin, end;
    const char *what;
    int written;
};

/* Everything a job reads and writes: weights, inputs, outputs, scales, biases. Inputs without the
 * zeros above and left, which the chip reads but does not use. */
static uint32_t ranges(const struct job *job, struct range found[5])
{
    const uint32_t rows = output_rows(job), columns = output_columns(job);
    uint32_t count = 0;
    found[count++] = (struct range){job->r[0], job->r[0] + (uint64_t)packed_bytes(job),
                                    "NE16 reading weights", 0};
    found[count++] = (struct range){
        input_pixel(job, job->top, job->left),
        input_pixel(job, input_rows(job) - 1, input_columns(job) - 1) + job->inputs,
        "NE16 reading inputs", 0};
    found[count++] = (struct range){
        job->r[2], output_pixel(job, rows - 1, columns - 1) + job->outputs * job->out_bytes,
        "NE16 writing outputs", 1};
    if (job->norm)
        found[count++] = (struct range){
            job->r[3], job->r[3] + (uint64_t)job->outputs * (job->scale_bits / 8),
            "NE16 reading scales", 0};
    if (job->bias)
        found[count++] = (struct range){job->r[5], job->r[5] + (uint64_t)job->outputs * 4,
                                        "NE16 reading biases", 0};
    return count;
}

static void check_addresses(const struct job *job)
{
    static const char *const names[] = {"weights", "inputs", "outputs", "scales", "biases"};
    static const uint32_t registers[] = {0, 1, 2, 3, 5};
    struct range found[5];
    const uint32_t count = ranges(job, found);
    for (uint32_t i = 0, name = 0; i < count; i++, name++) {
        if (name == 3 && !job->norm)
            name++;
        /* Inputs from the register on: zeros above and left are read too, then dropped. */
        const uint64_t begin = name == 1 ? job->r[1] : found[i].begin;
        check_range(job, registers[name], names[name], begin, found[i].end);
        ma_check_settled(at((uint32_t)found[i].begin), (uint32_t)(found[i].end - found[i].begin),
                         found[i].what);
    }
    for (uint32_t i = 3; i < 6; i += 2)
        if ((i == 5 ? job->bias : job->norm) && job->r[i] % (i == 5 ? 4 : job->scale_bits / 8))
            ma_stop("NE16 job %u: register %u is 0x%08x, not aligned to its elements",
                    (unsigned)job->number, (unsigned)i, (unsigned)job->r[i]);
}

/* ---- arithmetic ---------------------------------------------------------------------------- */

static int same_weights(const struct job *job)
{
    const uint32_t bytes = packed_bytes(job);
    const int same = unpacked.bytes == bytes && unpacked.mode == job->mode
        && unpacked.bits == job->bits && unpacked.blocks == job->blocks
        && unpacked.least == job->least && !memcmp(unpacked.packed, at(job->r[0]), bytes);
    if (same)
        return 1;
    memcpy(unpacked.packed, at(job->r[0]), bytes);
    unpacked.bytes = bytes;
    unpacked.mode = job->mode;
    unpacked.bits = job->bits;
    unpacked.blocks = job->blocks;
    unpacked.least = job->least;
    return 0;
}

/* Weights as [row][tap][lane]: row is an output channel, or 16 channels of a depthwise filter. */
static void unpack(const struct job *job)
{
    if (same_weights(job))
        return;
    const uint8_t *packed = at(job->r[0]);
    const uint32_t rows = job->mode == DEPTHWISE ? 1 : job->outputs;
    const uint32_t lanes = job->blocks * LANES;
    for (uint32_t row = 0; row < rows; row++)
        for (uint32_t block = 0; block < job->blocks; block++) {
            int16_t *to = weights + (size_t)row * job->taps * lanes + block * LANES;
            for (uint32_t tap = 0; tap < job->taps; tap++)
                for (uint32_t lane = 0; lane < LANES; lane++) {
                    uint32_t value = 0;
                    for (uint32_t bit = 0; bit < job->bits; bit++) {
                        const uint8_t byte = packed[(bit * job->taps + tap) * 2 + lane / 8];
                        value |= (uint32_t)(byte >> lane % 8 & 1) << bit;
                    }
                    to[tap * lanes + lane] = (int16_t)((int32_t)value + job->least);
                }
            packed += (size_t)job->bits * job->taps * 2;
        }
}

/* Whether a row (or column) of the image with its zeros is one of the image. `tile` is the tile
 * that asks: only the last one knows of the zeros after the image. */
static int inside(uint32_t position, uint32_t tile, uint32_t tiles, uint32_t before,
                  uint32_t after, uint32_t last)
{
    const uint32_t local = position - tile * 3;
    const uint32_t limit = last < 5 - after ? last : 5 - after;
    if (tile == 0 && local < before)
        return 0;
    return tile + 1 < tiles || local < limit;
}

/* What the filter sees at an output pixel: [tap][lane], zeros where there is no image. */
static void gather(const struct job *job, uint32_t row, uint32_t column)
{
    const uint32_t lanes = job->blocks * LANES;
    memset(patch, 0, (size_t)job->taps * lanes * sizeof *patch);
    for (uint32_t tap = 0; tap < job->taps; tap++) {
        const uint32_t y = row + tap / job->filter, x = column + tap % job->filter;
        if (!inside(y, row / 3, job->tiles_down, job->top, job->bottom, job->last_in_rows)
            || !inside(x, column / 3, job->tiles_across, job->left, job->right,
                       job->last_in_columns))
            continue;
        const uint8_t *pixel = at((uint32_t)input_pixel(job, y, x));
        for (uint32_t c = 0; c < job->inputs; c++)
            patch[tap * lanes + c] = pixel[c];
    }
}

static uint32_t dot(const int16_t *a, const int16_t *b, uint32_t terms)
{
    uint32_t total = 0;
    while (terms) {
        const uint32_t some = terms < TERMS ? terms : TERMS;
        int32_t sum = 0;
        for (uint32_t i = 0; i < some; i++)
            sum += (int32_t)a[i] * b[i];
        total += (uint32_t)sum;
        a += some;
        b += some;
        terms -= some;
    }
    return total;
}

static uint32_t channel_sum(const struct job *job, uint32_t k)
{
    const uint32_t lanes = job->blocks * LANES;
    if (job->mode != DEPTHWISE)
        return dot(patch, weights + (size_t)k * job->taps * lanes, job->taps * lanes);
    uint32_t sum = 0;
    for (uint32_t tap = 0; tap < job->taps; tap++)
        sum += (uint32_t)((int32_t)patch[tap * lanes + k] * weights[tap * lanes + k]);
    return sum;
}

static int32_t wrap(int64_t value)
{
    const uint32_t low = (uint32_t)(uint64_t)value;
    int32_t same;
    memcpy(&same, &low, sizeof same);
    return same;
}

static int64_t floor_shift(int64_t value, uint32_t bits)
{
    return value >= 0 ? value >> bits : ~(~value >> bits);
}

/* sum * scale + bias, shifted; without a bias the product is wider than 32 bits, as in GVSoC. */
static int64_t normalise(const struct job *job, int32_t sum, uint32_t k)
{
    uint32_t scale = 0;
    int32_t bias = 0;
    memcpy(&scale, at(job->r[3]) + (size_t)k * (job->scale_bits / 8), job->scale_bits / 8);
    int64_t value = (int64_t)((uint64_t)(int64_t)sum * scale);
    if (job->bias) {
        memcpy(&bias, at(job->r[5]) + (size_t)k * 4, 4);
        value = wrap((int64_t)wrap(value) + bias);
    }
    return floor_shift(value, job->shift);
}

static int64_t clip(int64_t value, int64_t least, int64_t most)
{
    return value < least ? least : value > most ? most : value;
}

static void store(const struct job *job, uint8_t *pixel, uint32_t k)
{
    int64_t value = wrap(channel_sum(job, k));
    if (job->stream_in) {
        int32_t before;
        memcpy(&before, pixel + (size_t)k * 4, 4);
        value = wrap(value + before);
    }
    if (job->norm)
        value = normalise(job, (int32_t)value, k);
    if (job->out_bytes == 1) {
        value = job->relu ? clip(value, 0, 255) : clip(value, -128, 127);
        pixel[k] = (uint8_t)(value & 255);
        return;
    }
    if (job->norm && job->relu)
        value = clip(value, 0, 0xffffffffll);
    const int32_t word = wrap(value);
    memcpy(pixel + (size_t)k * 4, &word, 4);
}

/* Every pixel that a job stores; with corners the middle ones are left out. */
static void outputs(const struct job *job, int poison)
{
    const uint32_t rows = output_rows(job), columns = output_columns(job);
    const uint32_t step = job->corners ? 2 : 1;
    for (uint32_t row = 0; row < rows; row += step)
        for (uint32_t column = 0; column < columns; column += step) {
            uint8_t *pixel = at((uint32_t)output_pixel(job, row, column));
            if (poison) {
                memset(pixel, POISON, (size_t)job->outputs * job->out_bytes);
                continue;
            }
            gather(job, row, column);
            for (uint32_t k = 0; k < job->outputs; k++)
                store(job, pixel, k);
        }
}

/* ---- the queue ----------------------------------------------------------------------------- */

static void run_oldest(void)
{
    unpack(&queue[0]);
    outputs(&queue[0], 0);
    finished = queue[0].number;
    queue[0] = queue[1];
    queued--;
}

static int overlap(const struct range *a, const struct range *b)
{
    return a->begin < b->end && b->begin < a->end;
}

/* Tiles are written while others are still to be read: a job in place has no defined result. */
static void check_in_place(const struct job *job)
{
    struct range found[5];
    const uint32_t count = ranges(job, found);
    for (uint32_t i = 0; i < count; i++)
        if (i != 2 && overlap(&found[2], &found[i]))
            ma_stop("NE16 job %u: register 2 is 0x%08x, and the job writes where it reads (%s)",
                    (unsigned)job->number, (unsigned)job->r[2], found[i].what);
}

/* Whether marking the job's outputs now would spoil what an earlier job still has to read. */
static int disturbs(const struct job *job, const struct job *earlier)
{
    struct range ours[5], theirs[5];
    ranges(job, ours);
    const uint32_t count = ranges(earlier, theirs);
    for (uint32_t i = 0; i < count; i++)
        if (overlap(&ours[2], &theirs[i]) && !(theirs[i].written && job->corners))
            return 1;
    return 0;
}

uint32_t ma_ne16_acquire(void)
{
    if (acquired)
        ma_stop("NE16: a job is acquired before job %u is committed", (unsigned)(issued + 1));
    if (queued == QUEUE)
        run_oldest();
    acquired = 1;
    return issued + 1;
}

void ma_ne16_write(uint32_t index, uint32_t value)
{
    if (!acquired)
        ma_stop("NE16: register %u is written (0x%08x) while no job is acquired", (unsigned)index,
                (unsigned)value);
    if (index >= MA_NE16_REGISTERS)
        ma_stop("NE16: register %u is written (0x%08x); legal are 0 to %u", (unsigned)index,
                (unsigned)value, MA_NE16_REGISTERS - 1);
    context[(issued + 1) % QUEUE].r[index] = value;
    context[(issued + 1) % QUEUE].written |= 1u << index;
}

void ma_ne16_commit(void)
{
    if (!acquired)
        ma_stop("NE16: a commit while no job is acquired");
    acquired = 0;
    const uint32_t slot = ++issued % QUEUE;
    struct job job = {.number = issued};
    for (uint32_t i = 0; i < MA_NE16_REGISTERS; i++)
        if (!(context[slot].written >> i & 1))
            ma_stop("NE16 job %u: register %u was never written in its slot",
                    (unsigned)job.number, (unsigned)i);
    memcpy(job.r, context[slot].r, sizeof job.r);
    decode_configuration(&job);
    decode_sizes(&job);
    decode_padding(&job);
    decode_strides(&job);
    check_addresses(&job);
    check_in_place(&job);
    while (queued && (disturbs(&job, &queue[0]) || disturbs(&job, &queue[queued - 1])))
        run_oldest();
    if (!job.stream_in)
        outputs(&job, 1);
    queue[queued++] = job;
}

void ma_ne16_wait(uint32_t number)
{
    if (number > issued)
        ma_stop("NE16: somebody waits for job %u; the last one is %u", (unsigned)number,
                (unsigned)issued);
    while (queued && finished < number)
        run_oldest();
}

void ma_ne16_check_settled(const void *begin, uint32_t bytes, int writes, const char *what)
{
    const uint8_t *l1 = ma_emulated_l1(), *from = begin;
    if (from < l1 || from >= l1 + ma_emulated_l1_bytes())
        return;
    const uint64_t first = L1_ADDRESS + (uint64_t)(from - l1);
    const struct range asked = {first, first + bytes, what, writes};
    for (uint32_t i = 0; i < queued; i++) {
        struct range found[5];
        const uint32_t count = ranges(&queue[i], found);
        for (uint32_t j = 0; j < count; j++)
            if (overlap(&asked, &found[j]) && (writes || found[j].written))
                ma_stop("%s touches 0x%08x .. 0x%08x in L1 while job %u is not waited for (%s)",
                        what, (unsigned)asked.begin, (unsigned)(asked.end - 1),
                        (unsigned)queue[i].number, found[j].what);
    }
}

void ma_ne16_reset(void)
{
    memset(context, 0, sizeof context);
    queued = issued = finished = 0;
    acquired = 0;
}

void ma_ne16_check_idle(const char *what)
{
    if (queued || acquired)
        ma_stop("%s: job %u of NE16 is not waited for", what,
                (unsigned)(queued ? queue[0].number : issued + 1));
}
