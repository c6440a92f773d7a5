/* Emulation of a chip with a scratchpad, a DMA and worker cores, on any host.
 *
 * Results are those of the chip; what a chip would silently get wrong stops the program instead:
 * transfers outside L1 or outside an operand, two transfers that touch the same bytes, use of a tile
 * before its wait, a source changed before its wait, and waits that never come. A load's destination
 * holds poison until the wait. MA_L1_BYTES, MA_CORES and MA_DMA_TRANSFERS are the chip's, MA_BACKING_BYTES what
 * its backing memory holds (0: it is missing); ma_chip.h may say what accelerators have to: MA_CHIP_RESET before a network, MA_CHIP_TOUCH where a transfer is about
 * to use L1, MA_CHIP_IDLE at the end of a layer. MA_REVERSE_CORES runs workers in the opposite order, to show what depends on it. Of
 * two layers side by side a kernel runs when it is waited for, and with MA_FORK_EARLY when it is
 * started: the latest and the earliest that a chip may do it. MA_BESIDE_TRACE prints their events.
 */
#include "ma_host.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ma_chip.h"
#include "ma_platform.h"

#ifndef MA_L1_BYTES
#error "emulation/ma_chip.h has to define MA_L1_BYTES: bytes of all inner memories together"
#endif
#ifndef MA_CORES
#error "emulation/ma_chip.h has to define MA_CORES: cores that run a kernel together, 1 where there is one"
#endif
#ifndef MA_DMA_TRANSFERS
#error "emulation/ma_chip.h has to define MA_DMA_TRANSFERS: transfers on their way at a time, such as 16"
#endif
#ifndef MA_DMA_ALIGNMENT
#error "emulation/ma_chip.h has to define MA_DMA_ALIGNMENT: of a transfer in an inner memory, 1 for none"
#endif

#ifndef MA_CHIP_RESET
#define MA_CHIP_RESET() ((void)0)
#define MA_CHIP_TOUCH(begin, bytes, writes, what) ((void)0)
#define MA_CHIP_IDLE(what) ((void)0)
#endif

#define MA_POISON 0xA5
#define MA_L2_OPERANDS 160 /* of up to twelve layers side by side, and constants of the next two */
#define MA_KEPT 64
#define MA_STOPPED 70 /* EX_SOFTWARE of sysexits.h */

struct transfer {
    uint32_t id;
    bool load;
    uint8_t *l1, *l2;
    struct ma_block block;
    uint32_t check;
};

/* Bytes of L1 that outlive a layer, and their sum when the last layer began. */
struct kept {
    uint32_t offset, bytes, check;
};

static _Thread_local struct {
    _Alignas(64) uint8_t l1[MA_L1_BYTES];
    uint32_t opened;
    struct { const uint8_t *base; uint32_t bytes; } operand[MA_L2_OPERANDS];
    int operands;
    struct kept kept[MA_KEPT], keep[MA_KEPT]; /* from the layer before, and after this one */
    struct kept made[MA_KEPT]; /* by layers that run in turns, since L1 was opened */
    int kept_count, keep_count, made_count;
    struct transfer transfer[MA_DMA_TRANSFERS];
    uint32_t issued;
    int32_t core;
    bool offloaded, forked, beside;
    struct {
        void (*kernel)(const void *argument);
        _Alignas(16) uint8_t argument[MA_ARGUMENT_BYTES];
        uint32_t started, ended, ran; /* tickets: of the last start, the last wait, the last run */
    } fork;
} chip;

/* Constants on their way from the backing memory; their places hold poison until the wait. */
#define MA_BACKING_TRANSFERS 4
#ifndef MA_BACKING_BYTES
#define MA_BACKING_BYTES 0xffffffffu
#endif

static _Thread_local struct ma_backing backing;

static _Thread_local struct {
    uint32_t id;
    uint8_t *to;
    const uint8_t *from;
    uint32_t bytes;
} fetch[MA_BACKING_TRANSFERS];

static _Thread_local struct {
    jmp_buf place;
    bool running, stopped;
    char text[512];
} fault;

_Noreturn void ma_stop(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(fault.text, sizeof fault.text, format, arguments);
    va_end(arguments);
    fault.stopped = true;
    if (!fault.running) {
        fprintf(stderr, "emulation: %s\n", fault.text);
        exit(MA_STOPPED);
    }
    longjmp(fault.place, 1);
}

const char *ma_fault(void)
{
    return fault.stopped ? fault.text : NULL;
}

int ma_network(ma_steps *steps, uint8_t *arena, const void *const in[], void *const out[])
{
    memset(&chip, 0, sizeof chip);
    MA_CHIP_RESET();
    memset(fetch, 0, sizeof fetch);
    memset(&backing, 0, sizeof backing);
    fault.stopped = false;
    fault.running = true;
    if (setjmp(fault.place) == 0 && steps(arena, in, out) && !fault.stopped) {
        ma_stop("the network stopped and nobody said why");
    }
    fault.running = false;
    return fault.stopped ? MA_STOPPED : 0;
}

void ma_happened(uint32_t lane, const char *what)
{
#ifdef MA_BESIDE_TRACE
    fprintf(stderr, "lane %u: %s\n", (unsigned)lane, what);
#else
    (void)lane;
    (void)what;
#endif
}

uint8_t *ma_emulated_l1(void)
{
    return chip.l1;
}

uint32_t ma_emulated_l1_bytes(void)
{
    return MA_L1_BYTES;
}

/* ---- platform ------------------------------------------------------------------------------ */

void ma_fail(const char *sentence)
{
    ma_stop("%s", sentence);
}

int ma_offload(void (*entry)(void *argument), void *argument)
{
    if (chip.offloaded) {
        ma_stop("a layer was started while another one runs");
    }
    chip.offloaded = true;
    entry(argument);
    if (chip.opened) {
        ma_stop("a layer ended without closing L1");
    }
    for (int i = 0; i < MA_DMA_TRANSFERS; ++i) {
        if (chip.transfer[i].id) {
            ma_stop("the last layer ended and nobody waited for transfer %u",
                (unsigned)chip.transfer[i].id);
        }
    }
    chip.kept_count = 0;
    chip.offloaded = false;
    return 0;
}

void ma_fork(void (*kernel)(const void *argument), const void *argument)
{
    if (!chip.offloaded || chip.forked) {
        ma_stop("a kernel was forked from somewhere else than the controller");
    }
    chip.forked = true;
    for (int32_t i = 0; i < MA_CORES; ++i) {
#ifdef MA_REVERSE_CORES
        chip.core = MA_CORES - 1 - i;
#else
        chip.core = i;
#endif
        kernel(argument);
    }
    chip.forked = false;
}

/* On all workers, now. */
static void run_fork(void)
{
    if (chip.fork.ran != chip.fork.started) {
        chip.fork.ran = chip.fork.started;
        ma_fork(chip.fork.kernel, chip.fork.argument);
    }
}

void ma_beside(void (*entry)(void *argument), void *argument)
{
    if (!chip.offloaded || chip.forked || chip.beside || chip.opened) {
        ma_stop("layers were started side by side while another one runs");
    }
    chip.beside = true;
    entry(argument);
    if (chip.fork.ended != chip.fork.started) {
        ma_stop("layers side by side ended, and nobody waited for kernel %u",
            (unsigned)chip.fork.started);
    }
    chip.beside = false;
}

uint32_t ma_fork_start(void (*kernel)(const void *argument), const void *argument, uint32_t bytes)
{
    if (!chip.beside || chip.forked || bytes > MA_ARGUMENT_BYTES) {
        ma_stop("a kernel was started side by side with nothing, or with too large an argument");
    }
    ma_fork_wait(chip.fork.started);
    chip.fork.kernel = kernel;
    memcpy(chip.fork.argument, argument, bytes);
    ++chip.fork.started;
#ifdef MA_FORK_EARLY
    run_fork();
#endif
    return chip.fork.started;
}

int32_t ma_core(void)
{
    return chip.core;
}

int32_t ma_cores(void)
{
    return MA_CORES;
}

/* Bytes from the first to the last one of a block. */
static uint64_t span(const struct ma_block *block, const uint32_t *stride)
{
    uint64_t bytes = block->bytes;
    for (int level = 0; level < 3; ++level) {
        bytes += (uint64_t)(block->count[level] - 1) * stride[level];
    }
    return bytes;
}

/* Whether [a, a + an) and [b, b + bn) share a byte. */
static bool overlap(const uint8_t *a, uint64_t an, const uint8_t *b, uint64_t bn)
{
    return a < b + bn && b < a + an;
}

void ma_check_settled(const void *begin, uint32_t bytes, const char *what)
{
    for (int i = 0; i < MA_DMA_TRANSFERS; ++i) {
        const struct transfer *const t = &chip.transfer[i];
        if (t->id && t->load
            && overlap(begin, bytes, t->l1, span(&t->block, t->block.l1_stride))) {
            ma_stop("%s uses byte %ld of L1 before the wait for load %u", what,
                (long)((const uint8_t *)begin - chip.l1), (unsigned)t->id);
        }
    }
}

void ma_l1_settled(const void *l1, uint32_t bytes)
{
    ma_check_settled(l1, bytes, "a kernel");
}

/* Copies a block, or fills it with poison (`from` NULL). */
static void copy(uint8_t *to, const uint32_t *to_stride, const uint8_t *from,
    const uint32_t *from_stride, const struct ma_block *b)
{
    static const uint32_t none[3];
    const uint32_t *const s = from ? from_stride : none;
    for (uint32_t k = 0; k < b->count[2]; ++k) {
        for (uint32_t j = 0; j < b->count[1]; ++j) {
            for (uint32_t i = 0; i < b->count[0]; ++i) {
                uint8_t *const at
                    = to + k * to_stride[2] + j * to_stride[1] + i * to_stride[0];
                if (from) {
                    memcpy(at, from + k * s[2] + j * s[1] + i * s[0], b->bytes);
                } else {
                    memset(at, MA_POISON, b->bytes);
                }
            }
        }
    }
}

/* A sum (FNV-1a) over the source of a transfer, to notice changes before the wait. */
static uint32_t sum(const uint8_t *from, const uint32_t *stride, const struct ma_block *b)
{
    uint32_t hash = 2166136261u;
    for (uint32_t k = 0; k < b->count[2]; ++k) {
        for (uint32_t j = 0; j < b->count[1]; ++j) {
            for (uint32_t i = 0; i < b->count[0]; ++i) {
                const uint8_t *const at = from + k * stride[2] + j * stride[1] + i * stride[0];
                for (uint32_t n = 0; n < b->bytes; ++n) {
                    hash = (hash ^ at[n]) * 16777619u;
                }
            }
        }
    }
    return hash;
}

/* Stops if the source of a transfer is not what it was when the transfer started. */
static void check_source(const struct transfer *t)
{
    const struct ma_block *const b = &t->block;
    const uint32_t now = t->load ? sum(t->l2, b->stride, b) : sum(t->l1, b->l1_stride, b);
    if (now != t->check) {
        ma_stop("the source of %s %u was overwritten before its wait",
            t->load ? "load" : "store", (unsigned)t->id);
    }
}

/* ---- memory -------------------------------------------------------------------------------- */

/* A sum over bytes that nobody may change. */
static uint32_t sum_of(const struct kept *k)
{
    static const uint32_t none[3];
    const struct ma_block block = {k->bytes, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}};
    return sum(chip.l1 + k->offset, none, &block);
}

/* Whether [begin, begin + bytes) of L1 lies within one of `count` kept ones. */
static bool is_kept(const struct kept *kept, int count, const uint8_t *begin, uint64_t bytes)
{
    for (int i = 0; i < count; ++i) {
        const uint8_t *const at = chip.l1 + kept[i].offset;
        if (begin >= at && begin + bytes <= at + kept[i].bytes) {
            return true;
        }
    }
    return false;
}

/* Poison wherever nothing was kept; remembers what was. */
static void forget(void)
{
    for (int i = 0; i < chip.kept_count; ++i) {
        chip.kept[i].check = sum_of(&chip.kept[i]);
    }
    for (uint32_t i = 0; i < MA_L1_BYTES; ++i) {
        if (!is_kept(chip.kept, chip.kept_count, chip.l1 + i, 1)) {
            chip.l1[i] = MA_POISON;
        }
    }
}

uint8_t *ma_l1_open(uint32_t bytes)
{
    if (chip.opened) {
        ma_stop("L1 was opened twice");
    }
    if (!bytes || bytes > MA_L1_BYTES) {
        ma_stop("%u bytes of L1 were asked for, the chip has %d (MA_L1_BYTES)", (unsigned)bytes,
                MA_L1_BYTES);
    }
    chip.opened = bytes;
    chip.operands = chip.made_count = 0;
    forget();
    return chip.l1;
}

/* What was kept before this layer and is kept after it must be as it was. */
static void check_kept(void)
{
    for (int i = 0; i < chip.kept_count; ++i) {
        const struct kept *const k = &chip.kept[i];
        if (is_kept(chip.keep, chip.keep_count, chip.l1 + k->offset, k->bytes)
            && sum_of(k) != k->check) {
            ma_stop("bytes %u to %u of L1, which a later layer needs, were overwritten",
                (unsigned)k->offset, (unsigned)(k->offset + k->bytes - 1));
        }
    }
}

/* Only what the next layer needs may still be under way. */
static void check_under_way(void)
{
    for (int i = 0; i < MA_DMA_TRANSFERS; ++i) {
        const struct transfer *const t = &chip.transfer[i];
        if (t->id) {
            check_source(t);
            if (!t->load
                || !is_kept(chip.keep, chip.keep_count, t->l1,
                    span(&t->block, t->block.l1_stride))) {
                ma_stop(
                    "a layer ended and never waited for its transfer %u", (unsigned)t->id);
            }
        }
    }
}

void ma_l1_close(uint8_t *l1)
{
    if (!chip.opened || l1 != chip.l1) {
        ma_stop("L1 was closed and is not open");
    }
    check_under_way();
    MA_CHIP_IDLE("the end of a layer");
    for (uint32_t i = chip.opened; i < MA_L1_BYTES; ++i) {
        if (chip.l1[i] != MA_POISON && !is_kept(chip.kept, chip.kept_count, chip.l1 + i, 1)) {
            ma_stop("L1 overflow: byte %u was written, the layer has %u", (unsigned)i,
                (unsigned)chip.opened);
        }
    }
    check_kept();
    memcpy(chip.kept, chip.keep, sizeof chip.kept);
    chip.kept_count = chip.keep_count;
    chip.keep_count = 0;
    chip.opened = 0;
}

void ma_l1_keep(uint32_t offset, uint32_t bytes)
{
    if (chip.opened || chip.keep_count == MA_KEPT || offset > MA_L1_BYTES
        || bytes > MA_L1_BYTES - offset) {
        ma_stop("bytes %u to %u of L1 cannot be kept", (unsigned)offset,
            (unsigned)(offset + bytes));
    }
    chip.keep[chip.keep_count++] = (struct kept){offset, bytes, 0};
}

/* Bytes from `begin` on that one layer left: the end of the kept or made one that reaches furthest. */
static const uint8_t *reach(const struct kept *kept, int count, const uint8_t *begin)
{
    const uint8_t *found = begin;
    for (int i = 0; i < count; ++i) {
        const uint8_t *const at = chip.l1 + kept[i].offset;
        if (begin >= at && at + kept[i].bytes > found) {
            found = at + kept[i].bytes;
        }
    }
    return found;
}

/* Halves of a layer lie one behind the other, and who reads across them has both. */
static bool is_there(const uint8_t *begin, uint32_t bytes)
{
    const uint8_t *const end = begin + bytes;
    const uint8_t *before = NULL;
    while (begin < end && begin != before) {
        before = begin;
        begin = reach(chip.kept, chip.kept_count, begin);
        begin = reach(chip.made, chip.made_count, begin);
    }
    return begin >= end;
}

void ma_l1_found(const void *l1, uint32_t bytes)
{
    if (!is_there(l1, bytes)) {
        ma_stop("a layer reads byte %ld of L1, which no layer before it kept",
            (long)((const uint8_t *)l1 - chip.l1));
    }
}

void ma_l1_made(const void *l1, uint32_t bytes)
{
    const uint32_t offset = (uint32_t)((const uint8_t *)l1 - chip.l1);
    if (!chip.opened || chip.made_count == MA_KEPT || offset > chip.opened
        || bytes > chip.opened - offset) {
        ma_stop("bytes %u to %u of L1 cannot have been made", (unsigned)offset,
            (unsigned)(offset + bytes));
    }
    chip.made[chip.made_count++] = (struct kept){offset, bytes, 0};
}

const void *ma_l1_at(uint32_t offset)
{
    return chip.l1 + offset;
}

/* Every run begins with an L1 that nobody has used. */
int ma_l1_lost(uint32_t *known)
{
    (void)known;
    return 1;
}

/* Lists are the program's, threads may share it: what is there already is not written again. */
void ma_l1_place(void *list, const void *from, uint32_t bytes)
{
    if (!chip.offloaded || bytes % 4) {
        ma_stop("a list of no whole words, or placed from somewhere else than the controller");
    }
    if (memcmp(list, from, bytes) != 0) {
        memcpy(list, from, bytes);
    }
}

void ma_l2_operand(const void *base, uint32_t bytes)
{
    if (chip.operands == MA_L2_OPERANDS) {
        ma_stop("a layer has more than %d operands", MA_L2_OPERANDS);
    }
    chip.operand[chip.operands].base = base;
    chip.operand[chip.operands].bytes = bytes;
    ++chip.operands;
}

static void check_places(const struct transfer *t)
{
    const uint64_t l1 = span(&t->block, t->block.l1_stride);
    const uint64_t l2 = span(&t->block, t->block.stride);
    const char *const name = t->load ? "load" : "store";
    if (!chip.opened || t->l1 < chip.l1 || t->l1 + l1 > chip.l1 + chip.opened) {
        ma_stop("%s %u of %lu bytes at byte %ld leaves the %u bytes of L1 that the layer has",
            name, (unsigned)t->id, (unsigned long)l1, (long)(t->l1 - chip.l1),
            (unsigned)chip.opened);
    }
    if ((t->l1 - chip.l1) % MA_DMA_ALIGNMENT) {
        ma_stop("%s %u: byte %ld of L1 is no multiple of %d", name, (unsigned)t->id,
            (long)(t->l1 - chip.l1), MA_DMA_ALIGNMENT);
    }
    for (int i = 0; i < chip.operands; ++i) {
        const uint8_t *const base = chip.operand[i].base; /* NULL of what is in L1 only */
        if (base && t->l2 >= base && t->l2 + l2 <= base + chip.operand[i].bytes) {
            return;
        }
    }
    ma_stop("%s %u of %lu bytes in L2 lies in no operand of the layer", name, (unsigned)t->id,
        (unsigned long)l2);
}

static void check_others(const struct transfer *t)
{
    const uint64_t l1 = span(&t->block, t->block.l1_stride);
    for (int i = 0; i < MA_DMA_TRANSFERS; ++i) {
        const struct transfer *const other = &chip.transfer[i];
        if (other->id && (t->load || other->load)
            && overlap(t->l1, l1, other->l1, span(&other->block, other->block.l1_stride))) {
            ma_stop("%s %u touches bytes of L1 that %s %u, which was not waited for, uses",
                t->load ? "load" : "store", (unsigned)t->id, other->load ? "load" : "store",
                (unsigned)other->id);
        }
    }
}

static ma_dma issue(bool load, uint8_t *l1, uint8_t *l2, const struct ma_block *block)
{
    struct transfer t = {++chip.issued, load, l1, l2, *block, 0};
    if (!chip.offloaded || chip.forked) {
        ma_stop("transfer %u was started from somewhere else than the controller",
            (unsigned)t.id);
    }
    check_places(&t);
    check_others(&t);
    MA_CHIP_TOUCH(l1, (uint32_t)span(block, block->l1_stride), load, load ? "a load" : "a store");
    if (load) {
        t.check = sum(l2, block->stride, block);
        copy(l1, block->l1_stride, NULL, NULL, block);
    } else {
        t.check = sum(l1, block->l1_stride, block);
        copy(l2, block->stride, NULL, NULL, block);
    }
    for (int i = 0; i < MA_DMA_TRANSFERS; ++i) {
        if (!chip.transfer[i].id) {
            chip.transfer[i] = t;
            return t.id;
        }
    }
    ma_stop("more than %d transfers are under way", MA_DMA_TRANSFERS);
}

ma_dma ma_dma_load(void *l1, const void *l2, const struct ma_block *block)
{
    return issue(true, l1, (uint8_t *)(uintptr_t)l2, block);
}

ma_dma ma_dma_store(void *l2, const void *l1, const struct ma_block *block)
{
    return issue(false, (uint8_t *)(uintptr_t)l1, l2, block);
}

int ma_backing_open(const struct ma_backing *opened)
{
    const uint32_t room = MA_BACKING_BYTES;
    if (opened->bytes > room) {
        ma_stop("%u bytes of constants are in the backing memory (L3), which has %u",
            (unsigned)opened->bytes, (unsigned)room);
    }
    backing = *opened;
    return 0;
}

ma_dma ma_backing_load(void *l2, uint32_t offset, uint32_t bytes)
{
    if (chip.offloaded) {
        ma_stop("constants were fetched from somewhere else than the control core");
    }
    if (offset > backing.bytes || bytes > backing.bytes - offset) {
        ma_stop("constants %u to %u were fetched from a backing memory that has %u bytes of them",
            (unsigned)offset, (unsigned)(offset + bytes), (unsigned)backing.bytes);
    }
    for (int i = 0; i < MA_BACKING_TRANSFERS; ++i) {
        if (fetch[i].id && overlap(l2, bytes, fetch[i].to, fetch[i].bytes)) {
            ma_stop("constants are fetched over those of fetch %u", (unsigned)fetch[i].id);
        }
    }
    for (int i = 0; i < MA_BACKING_TRANSFERS; ++i) {
        if (!fetch[i].id) {
            fetch[i].id = ++chip.issued;
            fetch[i].to = l2;
            fetch[i].from = (const uint8_t *)backing.image + offset;
            fetch[i].bytes = bytes;
            memset(l2, MA_POISON, bytes);
            return fetch[i].id;
        }
    }
    ma_stop("more than %d fetches of constants are under way", MA_BACKING_TRANSFERS);
}

void ma_backing_wait(ma_dma transfer)
{
    for (int i = 0; i < MA_BACKING_TRANSFERS; ++i) {
        if (fetch[i].id == transfer) {
            memcpy(fetch[i].to, fetch[i].from, fetch[i].bytes);
            fetch[i].id = 0;
            return;
        }
    }
    ma_stop("a wait for fetch %u, which is not under way", (unsigned)transfer);
}

/* ---- synchronisation ----------------------------------------------------------------------- */

void ma_fork_wait(uint32_t ticket)
{
    if (ticket > chip.fork.started) {
        ma_stop("a wait for kernel %u, which was never started", (unsigned)ticket);
    }
    if (chip.fork.ended != chip.fork.started) {
        run_fork();
        chip.fork.ended = chip.fork.started;
    }
}

void ma_dma_wait(ma_dma transfer)
{
    if (!transfer) {
        return;
    }
    for (int i = 0; i < MA_DMA_TRANSFERS; ++i) {
        struct transfer *const t = &chip.transfer[i];
        if (t->id != transfer) {
            continue;
        }
        const struct ma_block *const b = &t->block;
        check_source(t);
        if (t->load) {
            copy(t->l1, b->l1_stride, t->l2, b->stride, b);
        } else {
            copy(t->l2, b->stride, t->l1, b->l1_stride, b);
        }
        t->id = 0;
        return;
    }
    ma_stop("a wait for transfer %u, which is not under way", (unsigned)transfer);
}
