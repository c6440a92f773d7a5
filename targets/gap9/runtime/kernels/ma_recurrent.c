/* Steps of GRU and LSTM: products of 8 bits, gates as lines out of tables, states in float32.
 *
 * `match_aie/workload/recurrent_int8.py` and `recurrent_bfloat16.py` say what is computed, bit for
 * bit: sums of products are exact, and so are products of two bfloat16 in float32; what is left are
 * single roundings in the order that stands here.
 */
#include "ma_kernel.h"

enum { MA_LINES = 128, MA_SIGMOID_STEPS = 8, MA_TANH_STEPS = 16, MA_STATE_STEPS = 128 };

/* The nearest bfloat16, halves to even, of a finite number. */
static inline float ma_bfloat16(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    bits = (bits + 0x7fffu + (bits >> 16 & 1)) & 0xffff0000u;
    memcpy(&value, &bits, sizeof bits);
    return value;
}

static inline float ma_real(const uint8_t *from)
{
    const uint32_t bits = ma_load4(from);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* A function of a bfloat16 as a line: MA_LINES slopes, then as many offsets, `steps` of them a unit. */
static inline float ma_on_line(const float *lines, float value, float steps)
{
    const float first = -(float)(MA_LINES / 2), last = (float)(MA_LINES / 2 - 1);
    const float place = value * steps;
    const float above = place > first ? place : first;
    const float inside = above < last ? above : last;
    const int32_t cut = (int32_t)inside;
    const int32_t at = cut - ((float)cut > inside) + MA_LINES / 2;
    return lines[at] * value + lines[MA_LINES + at];
}

/* What a step has for all its units. */
struct ma_cell {
    const struct ma_recurrent *r;
    const float *sigmoid, *tanh;
    int32_t weight_row, state_row, words, state_words; /* bytes of rows; words of what they meet */
};

static inline struct ma_cell ma_cell_of(const struct ma_recurrent *r, int32_t gates)
{
    const float *const lines = r->bias + 2 * gates * r->units;
    const int32_t words = ma_up(r->inputs, 4), state_words = ma_up(r->units, 4);
    return (struct ma_cell){r, lines, lines + 2 * MA_LINES, 4 * words + 8, 4 * state_words + 4,
        words, r->begins ? 0 : state_words};
}

/* Sums of a step's input with unit `k` of `gates` gates from `first` on, zero points included. */
static inline void ma_input_sums(const struct ma_cell *c, int32_t first, int32_t gates, int32_t k,
    int32_t sum[4], int is_signed)
{
    const struct ma_recurrent *const r = c->r;
    const uint8_t *const row = r->weight + (first * r->units + k) * c->weight_row;
    const int32_t apart = r->units * c->weight_row, whole = r->inputs / 4, part = r->inputs % 4;
    for (int32_t g = 0; g < gates; ++g) {
        sum[g] = 0;
    }
    for (int32_t i = 0; i < whole; ++i) {
        const uint32_t x = ma_load4(r->x + 4 * i);
        for (int32_t g = 0; g < gates; ++g) {
            sum[g] = ma_dot4(x, ma_load4(row + g * apart + 4 * i), sum[g], is_signed);
        }
    }
    if (part) {
        const uint32_t x = ma_load_part(r->x + 4 * whole, part);
        for (int32_t g = 0; g < gates; ++g) {
            sum[g] = ma_dot4(x, ma_load4(row + g * apart + 4 * whole), sum[g], is_signed);
        }
    }
}

/* Sums of codes of states likewise. */
static inline void ma_state_sums(const struct ma_cell *c, const int8_t *seen, int32_t first,
    int32_t gates, int32_t k, int32_t sum[4])
{
    const struct ma_recurrent *const r = c->r;
    const uint8_t *const row = r->recurrent + (first * r->units + k) * c->state_row;
    const int32_t apart = r->units * c->state_row;
    for (int32_t g = 0; g < gates; ++g) {
        sum[g] = 0;
    }
    for (int32_t i = 0; i < c->state_words; ++i) {
        const uint32_t h = ma_load4(seen + 4 * i);
        for (int32_t g = 0; g < gates; ++g) {
            sum[g] = ma_dot4(h, ma_load4(row + g * apart + 4 * i), sum[g], 1);
        }
    }
}

/* From the input's sum to what a gate begins with. */
static inline float ma_begun(const struct ma_cell *c, int32_t gate, int32_t k, int32_t sum)
{
    const int32_t unit = gate * c->r->units + k;
    const uint8_t *const behind = c->r->weight + unit * c->weight_row + 4 * c->words;
    const int32_t zero = (int32_t)ma_load4(behind + 4);
    return c->r->bias[unit] + ma_real(behind) * ma_bfloat16((float)(sum - zero));
}

/* And what the state's sum adds. */
static inline float ma_added(
    const struct ma_cell *c, float begun, int32_t gate, int32_t k, int32_t sum)
{
    const int32_t unit = gate * c->r->units + k;
    const float scale = ma_real(c->r->recurrent + (unit + 1) * c->state_row - 4);
    return begun + scale * ma_bfloat16((float)sum);
}

static inline float ma_sigmoid(const struct ma_cell *c, float sum)
{
    const float value = ma_bfloat16(sum);
    return ma_bfloat16(ma_on_line(c->sigmoid, value, (float)MA_SIGMOID_STEPS));
}

static inline float ma_tanh(const struct ma_cell *c, float sum)
{
    return ma_on_line(c->tanh, ma_bfloat16(sum), (float)MA_TANH_STEPS);
}

/* A state as products read it. */
static inline int8_t ma_code(float state)
{
    return (int8_t)ma_saturate(state * (float)MA_STATE_STEPS, 0, INT8_MIN, INT8_MAX);
}

/* Gates that multiply the input, and the state where the reset gate is behind the product. */
static inline void ma_gru_unit(const struct ma_cell *c, int32_t k, int is_signed)
{
    const struct ma_recurrent *const r = c->r;
    const float last = r->begins ? 0x0p+0f : r->state[k];
    int32_t x[4], h[4];
    ma_input_sums(c, 0, 3, k, x, is_signed);
    ma_state_sums(c, r->seen, 0, 3, k, h);
    const float update = ma_added(c, ma_begun(c, 0, k, x[0]), 0, k, h[0]);
    const float reset = ma_sigmoid(c, ma_added(c, ma_begun(c, 1, k, x[1]), 1, k, h[1]));
    const float inner = ma_added(c, r->bias[3 * r->units + 2 * r->units + k], 2, k, h[2]);
    const float total = ma_begun(c, 2, k, x[2]) + reset * ma_bfloat16(inner);
    const float fresh = ma_bfloat16(ma_tanh(c, total) - last);
    const float state = last + ma_sigmoid(c, -update) * fresh;
    r->state[k] = state;
    r->next[k] = ma_code(state);
    r->y[k] = ma_bfloat16(state);
}

static inline void ma_gates_unit(const struct ma_cell *c, int32_t k, int is_signed)
{
    const struct ma_recurrent *const r = c->r;
    const float last = r->begins ? 0x0p+0f : r->state[k];
    int32_t x[4], h[4];
    ma_input_sums(c, 0, 2, k, x, is_signed);
    ma_state_sums(c, r->seen, 0, 2, k, h);
    const float update = ma_added(c, ma_begun(c, 0, k, x[0]), 0, k, h[0]);
    const float reset = ma_sigmoid(c, ma_added(c, ma_begun(c, 1, k, x[1]), 1, k, h[1]));
    r->update[k] = ma_sigmoid(c, -update);
    r->reset[k] = ma_code(reset * ma_bfloat16(last));
}

static inline void ma_states_unit(const struct ma_cell *c, int32_t k, int is_signed)
{
    const struct ma_recurrent *const r = c->r;
    const float last = r->begins ? 0x0p+0f : r->state[k];
    int32_t x[4], h[4];
    ma_input_sums(c, 2, 1, k, x, is_signed);
    ma_state_sums(c, r->reset, 2, 1, k, h);
    const float total = ma_added(c, ma_begun(c, 2, k, x[0]), 2, k, h[0]);
    const float fresh = ma_bfloat16(ma_tanh(c, total) - last);
    const float state = last + r->update[k] * fresh;
    r->state[k] = state;
    r->next[k] = ma_code(state);
    r->y[k] = ma_bfloat16(state);
}

static inline void ma_lstm_unit(const struct ma_cell *c, int32_t k, int is_signed)
{
    const struct ma_recurrent *const r = c->r;
    const float last = r->begins ? 0x0p+0f : r->state[k];
    int32_t x[4], h[4];
    float sum[4];
    ma_input_sums(c, 0, 4, k, x, is_signed);
    ma_state_sums(c, r->seen, 0, 4, k, h);
    for (int32_t g = 0; g < 4; ++g) {
        sum[g] = ma_added(c, ma_begun(c, g, k, x[g]), g, k, h[g]);
    }
    const float input = ma_sigmoid(c, sum[0]), output = ma_sigmoid(c, sum[1]);
    const float lost = ma_sigmoid(c, -sum[2]) * ma_bfloat16(last);
    const float cell = (last - lost) + input * ma_bfloat16(ma_tanh(c, sum[3]));
    const float state = output * ma_bfloat16(ma_tanh(c, cell));
    r->state[k] = cell;
    r->next[k] = ma_code(state);
    r->y[k] = ma_bfloat16(state);
}

/* A kernel: units of a step, shared among the cores. */
#define MA_RECURRENT_KERNEL(name, gates, unit)                                 \
    void name(const void *recurrent)                                           \
    {                                                                          \
        const struct ma_recurrent *const r = recurrent;                        \
        const struct ma_cell cell = ma_cell_of(r, gates);                      \
        const struct ma_range mine = ma_part(r->units, ma_core(), ma_cores()); \
        for (int32_t k = mine.first; k < mine.last; ++k) {                     \
            if (r->unsigned_x) {                                               \
                unit(&cell, k, 0);                                             \
            } else {                                                           \
                unit(&cell, k, 1);                                             \
            }                                                                  \
        }                                                                      \
    }

MA_RECURRENT_KERNEL(ma_gru, 3, ma_gru_unit)
MA_RECURRENT_KERNEL(ma_gru_gates, 3, ma_gates_unit)
MA_RECURRENT_KERNEL(ma_gru_states, 3, ma_states_unit)
MA_RECURRENT_KERNEL(ma_lstm, 4, ma_lstm_unit)
