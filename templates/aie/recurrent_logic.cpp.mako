<%
    lstm = call.cell == 'lstm'
    per = call.words // call.chunks
    def numbers(values):
        texts = [f'{float(value):.9g}' for value in values]
        texts = [text if '.' in text or 'e' in text else f'{text}.0' for text in texts]
        return ', '.join(f'{text}f' for text in texts)
%>\
// Gates and state of ${'an LSTM' if lstm else 'a GRU'} of ${call.whole} units in programmable logic, for Vitis HLS: a step each time it runs, without end.
// Sums of a step come from ${call.tiles} tile${'s' * (call.tiles > 1)}, ${call.words} words of 128 bits each; its state leaves in ${call.back[0]}${f', its results in {call.results}' if call.narrow else ''}.
#include <ap_axi_sdata.h>
#include <ap_int.h>
#include <hls_stream.h>

#include <cstdint>

// Only synthesis knows these.
#ifdef __SYNTHESIS__
#define MA_SYNTHESIS(...) _Pragma(#__VA_ARGS__)
#else
#define MA_SYNTHESIS(...)
#endif

namespace ${call.symbol}_parts {

using Word = ap_axiu<128, 0, 0, 0>;
constexpr unsigned lanes = 16, lines = 128;

// Lines of the functions: slopes are numbers of bfloat16.
% for name, table in tables.items():
const float ${name}_slopes[lines] = {${numbers(table.slopes)}};
const float ${name}_offsets[lines] = {${numbers(table.offsets)}};
% endfor

inline std::uint32_t bits_of(float value) {
    union {
        float real;
        std::uint32_t bits;
    } both;
    both.real = value;
    return both.bits;
}

inline float of_bits(std::uint32_t bits) {
    union {
        float real;
        std::uint32_t bits;
    } both;
    both.bits = bits;
    return both.real;
}

/// To bfloat16, halves to even; a NaN stays one.
inline float rounded(float value) {
    const std::uint32_t bits = bits_of(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return of_bits((bits & 0xffff0000u) | 0x00400000u);
    return of_bits((bits + 0x7fffu + ((bits >> 16) & 1u)) & 0xffff0000u);
}

/// A function of a number of bfloat16: of the line in whose step of 1 / `scale` it lies.
inline float line(const float (&slopes)[lines], const float (&offsets)[lines], float scale, float x) {
    const float at = x * scale;
    unsigned number = 0;
    if (at >= 63.0f) {
        number = lines - 1;
    } else if (at >= -64.0f) {
        const int whole = static_cast<int>(at);
        number = static_cast<unsigned>(64 + whole - (at < static_cast<float>(whole) ? 1 : 0));
    }
    return slopes[number] * x + offsets[number];
}

% if call.narrow:
/// In steps of 1/128, as products read it: half to even, saturated.
inline unsigned in_steps(float value) {
    const float moved = value + 98304.0f;  // 1.5 * 2^16, whose last bit means 1/128
    const int steps = static_cast<int>(bits_of(moved)) - 0x47c00000;
    return static_cast<unsigned>(steps < -128 ? -128 : steps > 127 ? 127 : steps) & 0xffu;
}

% endif
inline float gate(float x) { return rounded(line(sigmoid_slopes, sigmoid_offsets, 8.0f, x)); }

inline float bent(float sum) { return line(tanh_slopes, tanh_offsets, 16.0f, rounded(sum)); }

/// Number `lane` of sixteen of bfloat16 in two words.
inline float half(const ap_uint<128> *words, unsigned lane) {
    const unsigned first = 16 * (lane % 8);
    return of_bits(static_cast<std::uint32_t>(words[lane / 8].range(first + 15, first)) << 16);
}

/// Number `lane` of sixteen floats in four words.
inline float whole(const ap_uint<128> *words, unsigned lane) {
    const unsigned first = 32 * (lane % 4);
    return of_bits(static_cast<std::uint32_t>(words[lane / 4].range(first + 31, first)));
}

/// A unit's next state, of which products read the result; `sums` are those of its sixteen.
inline float next(float &state, const ap_uint<128> *sums, unsigned lane) {
% if lstm:
    const float i = gate(half(sums, lane)), o = gate(half(sums + 2, lane));
    const float forgotten = gate(half(sums + 4, lane)), g = rounded(bent(half(sums + 6, lane)));
    state = (state - forgotten * rounded(state)) + i * g;
    return o * rounded(bent(state));
% else:
    const float r = gate(half(sums, lane)), update = gate(half(sums + 4, lane));
    const float n = bent(whole(sums + 6, lane) + r * half(sums + 2, lane));
    state = state + update * rounded(n - state);
    return state;
% endif
}

}  // namespace ${call.symbol}_parts

extern "C" void ${call.symbol}(${', '.join(f'hls::stream<{call.symbol}_parts::Word> &sums{at}' for at in range(call.tiles))}, hls::stream<${call.symbol}_parts::Word> &states${f', hls::stream<{call.symbol}_parts::Word> &results' if call.narrow else ''}) {
% for at in range(call.tiles):
    MA_SYNTHESIS(HLS INTERFACE axis port=sums${at})
% endfor
    MA_SYNTHESIS(HLS INTERFACE axis port=states)
% if call.narrow:
    MA_SYNTHESIS(HLS INTERFACE axis port=results)
% endif
    MA_SYNTHESIS(HLS INTERFACE ap_ctrl_none port=return)
    using namespace ${call.symbol}_parts;
    constexpr unsigned units = ${call.whole}, words = ${call.words}, abreast = ${call.abreast};
    static float state[units];
    static unsigned step = 0;
    MA_SYNTHESIS(HLS ARRAY_PARTITION variable=state cyclic factor=abreast)
    ap_uint<128> came[${call.tiles} * words], made[units / 8]${', stepped[units / 16]' if call.narrow else ''};
    MA_SYNTHESIS(HLS ARRAY_PARTITION variable=came complete)
    MA_SYNTHESIS(HLS ARRAY_PARTITION variable=made complete)
% if call.narrow:
    MA_SYNTHESIS(HLS ARRAY_PARTITION variable=stepped complete)
% endif
    for (unsigned at = 0; at < words; ++at) {
    MA_SYNTHESIS(HLS PIPELINE II=1)
% for at in range(call.tiles):
        came[${f'{at} * words + ' if at else ''}at] = sums${at}.read().data;
% endfor
    }
    for (unsigned first = 0; first < units; first += abreast) {
    MA_SYNTHESIS(HLS PIPELINE II=1)
        for (unsigned unit = first; unit < first + abreast; ++unit) {
    MA_SYNTHESIS(HLS UNROLL)
            float before = step == 0 ? 0.0f : state[unit];
            const float h = next(before, came + ${per} * (unit / lanes), unit % lanes);
            state[unit] = before;
            made[unit / 8].range(16 * (unit % 8) + 15, 16 * (unit % 8)) = bits_of(rounded(h)) >> 16;
% if call.narrow:
            stepped[unit / 16].range(8 * (unit % 16) + 7, 8 * (unit % 16)) = in_steps(h);
% endif
        }
    }
    for (unsigned at = 0; at < units / 8; ++at) {
    MA_SYNTHESIS(HLS PIPELINE II=1)
        Word word;
        word.keep = -1;
        word.strb = -1;
% if call.narrow:
        if (at < units / 16) {
            word.data = stepped[at];
            word.last = at + 1 == units / 16;
            states.write(word);
        }
% endif
        word.data = made[at];
        word.last = at + 1 == units / 8;
        ${'results' if call.narrow else 'states'}.write(word);
    }
    step = step + 1 == ${call.steps} ? 0 : step + 1;
}

#undef MA_SYNTHESIS
