/* Walks tile programs on the emulation, as loops or as a list: every tile the kernel sees must be
 * the bytes of L2, and what it writes must arrive; so must operands that the layer itself does not
 * move. Logs every call and every transfer for a comparison with Python. */
#include <stdint.h>
#include <string.h>

#include "ma_platform.h"

static int32_t *log_at, *log_end;

static void note(int32_t value)
{
    if (log_at < log_end) {
        *log_at++ = value;
    }
}

static void note_transfer(int32_t kind, const struct ma_block *b)
{
    note(kind);
    note((int32_t)b->bytes);
    note((int32_t)(b->count[0] * b->count[1] * b->count[2]));
}

static ma_dma logged_load(void *l1, const void *l2, const struct ma_block *b)
{
    note_transfer(-1, b);
    return ma_dma_load(l1, l2, b);
}

static ma_dma logged_store(void *l2, const void *l1, const struct ma_block *b)
{
    note_transfer(-2, b);
    return ma_dma_store(l2, l1, b);
}

#define ma_dma_load logged_load
#define ma_dma_store logged_store
#include "ma_walk.h"

struct context {
    const struct ma_program *program;
    const struct ma_table *table; /* NULL: walk the program */
    const struct ma_facts *facts;
    const struct ma_move *ahead;
    uint32_t aheads;
    void *const *l2;
    int32_t wrong;
};

/* Compares a view with L2, or copies from L2 "as it should be" (`expected`) into the view. */
static int32_t visit(const struct ma_operand *o, const struct ma_view *v, uint8_t *l1,
    const uint8_t *l2, int32_t fill)
{
    int32_t n[MA_AXES] = {1, 1, 1, 1}, wrong = 0;
    int64_t far[MA_AXES] = {0}, near[MA_AXES] = {0};
    for (int32_t a = 0; a < o->rank; ++a) {
        n[a] = v->extent[a];
        far[a] = o->far[a];
        near[a] = v->stride[a];
        l2 += (int64_t)v->start[a] * o->far[a];
    }
    for (int32_t i = 0; i < n[0]; ++i) {
        for (int32_t j = 0; j < n[1]; ++j) {
            for (int32_t k = 0; k < n[2]; ++k) {
                for (int32_t l = 0; l < n[3]; ++l) {
                    const uint8_t *const from
                        = l2 + i * far[0] + j * far[1] + k * far[2] + l * far[3];
                    uint8_t *const to
                        = l1 + v->at + i * near[0] + j * near[1] + k * near[2] + l * near[3];
                    if (fill) {
                        memcpy(to, from, (size_t)o->itemsize);
                    } else {
                        wrong += memcmp(to, from, (size_t)o->itemsize) != 0;
                    }
                }
            }
        }
    }
    return wrong;
}

/* Views of the tiles that are under way. */
struct held {
    uint8_t *l1;
    struct ma_view view;
    int32_t extent[MA_AXES], stride[MA_AXES], start[MA_AXES];
};
static struct held held[2][MA_OPERANDS];
static uint32_t started, ended;

static void hold(const struct ma_tile *tile, const struct context *c, struct held *views)
{
    for (int32_t i = 0; i < c->program->operands; ++i) {
        const struct ma_view *const v = tile->view[i];
        struct held *const h = &views[i];
        const size_t bytes = (size_t)c->program->operand[i].rank * sizeof(int32_t);
        h->l1 = tile->l1;
        h->view = (struct ma_view){v->at, h->extent, h->stride, h->start, NULL};
        memcpy(h->extent, v->extent, bytes);
        memcpy(h->stride, v->stride, bytes);
        memcpy(h->start, v->start, bytes);
    }
}

static void work(const struct held *views, struct context *c)
{
    const int32_t y = c->program->operands - 1;
    for (int32_t i = 0; i < y; ++i) {
        c->wrong += visit(&c->program->operand[i], &views[i].view, views[i].l1, c->l2[i], 0);
    }
    visit(&c->program->operand[y], &views[y].view, views[y].l1, c->l2[y + 1], 1);
}

static void note_call(const struct ma_tile *tile, const struct context *c)
{
    note(-3);
    for (int32_t i = 0; i < c->program->operands; ++i) {
        for (int32_t a = 0; a < c->program->operand[i].rank; ++a) {
            note(tile->view[i]->start[a]);
            note(tile->view[i]->extent[a]);
        }
    }
    note(-4);
}

static uint32_t at_once(const struct ma_tile *tile, const void *context)
{
    struct context *const c = (struct context *)(uintptr_t)context;
    struct held views[MA_OPERANDS];
    note_call(tile, c);
    hold(tile, c, views);
    work(views, c);
    return 0;
}

/* An accelerator with a queue of two: the work is done when it is waited for. */
static struct context *later;

static uint32_t queued(const struct ma_tile *tile, const void *context)
{
    later = (struct context *)(uintptr_t)context;
    note_call(tile, later);
    later->wrong += started - ended > 1;
    ma_tile_arrive(tile);
    hold(tile, later, held[++started % 2]);
    return started;
}

static void finish(uint32_t ticket)
{
    while (ended < ticket) {
        work(held[++ended % 2], later);
    }
}

/* A layer that leaves in L1 what the tested one finds there, and begins its other loads. */
static void run_before(const struct context *c, struct ma_ahead *ahead)
{
    const uint32_t operands = (uint32_t)c->program->operands;
    for (uint32_t i = 0; i < operands; ++i) {
        if (c->facts[i].found) {
            ma_l1_keep(c->facts[i].l1, c->facts[i].l2_bytes);
        }
    }
    uint8_t *const l1 = ma_l1_open(c->program->l1_bytes);
    ma_ahead_next(ahead, c->ahead, c->aheads, c->facts, (const void *const *)c->l2);
    for (uint32_t i = 0; i < operands; ++i) {
        if (c->facts[i].found) {
            memcpy(l1 + c->facts[i].l1, c->l2[i], c->facts[i].l2_bytes);
        }
    }
    ma_ahead_start(ahead, l1);
    ma_l1_close(l1);
}

static void run(void *argument)
{
    void *const *const a = argument;
    const struct ma_program *const p = a[0];
    struct context *const c = a[1];
    const struct ma_kernel sync = {at_once, NULL, c}, async = {queued, finish, c};
    const struct ma_kernel *const kernel = a[2] ? &async : &sync;
    const struct ma_facts *const y = &c->facts[p->operands - 1];
    struct ma_ahead ahead = {0};
    run_before(c, &ahead);
    if (!p->stores) {
        ma_l1_keep(y->l1, y->l2_bytes);
    }
    if (c->table) {
        ma_run_table(c->table, c->l2, kernel, &ahead);
    } else {
        ma_run_tiles(p, c->facts, c->l2, kernel, &ahead);
    }
    if (!p->stores) {
        memcpy(c->l2[p->operands - 1], ma_l1_at(y->l1), y->l2_bytes);
    }
}

/* l2: operands, then the expected output. Returns -1 for a fault, else wrong elements. */
static struct context shared;
static int32_t asynchronous;

static int steps(uint8_t *arena, const void *const in[], void *const out[])
{
    (void)arena;
    (void)in;
    void *a[3] = {(void *)(uintptr_t)shared.program, &shared, asynchronous ? &shared : NULL};
    (void)out;
    return ma_offload(run, a);
}

int32_t walk(const struct context *c, int32_t async, int32_t *log, int32_t n);
int32_t walk(const struct context *c, int32_t async, int32_t *log, int32_t n)
{
    log_at = log;
    log_end = log + n;
    started = ended = 0;
    shared = *c;
    asynchronous = async;
    if (ma_network(steps, NULL, NULL, NULL)) {
        return -1;
    }
    return shared.wrong;
}
