<%
    names = [one.name for one in h.arguments]
    into, out = names.index('inputs'), names.index('outputs')

    def move(way, moved, tensor, tensors):
        v = way.view
        t = tensors[way.tensor]
        type_ = 'unsigned char' if moved == 'unpack' else 'const unsigned char'
        own = f'reinterpret_cast<{type_} *>({t.name}_bf16.data()) + {v.begin}' if t.narrow else f'{tensor} + {v.begin}'
        there = f'{"inputs" if moved == "pack" else "outputs"} + {way.begin}'
        if not v.part:
            to, of = (there, own) if moved == 'pack' else (own, there)
            return f'std::memcpy({to}, {of}, {v.nbytes});'
        part = ', '.join(f'.{name} = {value}' for name, value in v.part)
        verb = 'cut' if moved == 'pack' else 'paste'
        to, of = (there, own) if moved == 'pack' else (own, there)
        struct = f'{v.struct}_part' if v.struct == 'ma_array' else v.struct
        return f'{v.struct}_{verb}({to}, {of}, {struct}{{{part}}});'
    files = [*(f'{t.name}.bin' for t in h.inputs), *(f'{t.name}.bin' for t in h.outputs)]
%>\
// Runs ${h.name}.mlir by XRT: raw tensors from files, results into files.
//
//   ${h.name}_host XCLBIN INSTRUCTIONS ${'CONSTANTS ' if h.constants else ''}${' '.join(name.upper().replace('.BIN', '') for name in files)} [REPEATS]
//
% for kind, tensors in (('in', h.inputs), ('out', h.outputs)):
    % for t in tensors:
// ${t.name}: ${kind}, ${t.elements} elements of ${t.dtype}, ${t.nbytes} bytes.
    % endfor
% endfor
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "ma_array.h"
#include "ma_xrt.h"

namespace {

/// Arguments of the sequence, in bytes: ${', '.join(names)}.
const std::vector<std::size_t> sizes = {${', '.join(str(4 * one.words) for one in h.arguments)}};

/// Parts of the input tensors into the argument `inputs`.
void pack(unsigned char *inputs, const std::vector<ma_xrt::Bytes> &tensors) {
% for at, t in enumerate(h.inputs):
    const unsigned char *const ${t.name} = tensors[${at}].data();
    % if t.narrow:
    std::vector<std::uint16_t> ${t.name}_bf16(${t.elements});
    ma_array_narrow(${t.name}_bf16.data(), ${t.name}, ${t.elements});
    % endif
% endfor
% for way in h.packed:
    ${move(way, 'pack', h.inputs[way.tensor].name, h.inputs)}
    % if way.spare:
    std::memset(inputs + ${way.begin + way.view.nbytes}, 0, ${way.spare});
    % endif
% endfor
}

/// What the argument `outputs` holds into the output tensors.
void unpack(std::vector<ma_xrt::Bytes> &tensors, const unsigned char *outputs) {
% for at, t in enumerate(h.outputs):
    tensors.emplace_back(${t.nbytes});
% endfor
% for at, t in enumerate(h.outputs):
    unsigned char *const ${t.name} = tensors[${at}].data();
    % if t.narrow:
    std::vector<std::uint16_t> ${t.name}_bf16(${t.elements});
    % endif
% endfor
% for way in h.unpacked:
    ${move(way, 'unpack', h.outputs[way.tensor].name, h.outputs)}
% endfor
% for t in h.outputs:
    % if t.narrow:
    ma_array_widen(${t.name}, ${t.name}_bf16.data(), ${t.elements});
    % endif
% endfor
}

}  // namespace

int main(int argc, char **argv) try {
    constexpr int first = ${4 if h.constants else 3}, inputs = ${len(h.inputs)}, outputs = ${len(h.outputs)};
    const int repeats = argc > first + inputs + outputs ? std::atoi(argv[first + inputs + outputs]) : 1;
    if (argc < first + inputs + outputs || repeats < 1) {
        std::fprintf(stderr, "${h.name}_host XCLBIN INSTRUCTIONS ${'CONSTANTS ' if h.constants else ''}${' '.join(files)} [REPEATS]\n");
        return 2;
    }
    const std::size_t expected[] = {${', '.join(str(t.nbytes) for t in h.inputs)}};
    std::vector<ma_xrt::Bytes> given, results;
    for (int at = 0; at < inputs; ++at) {
        given.push_back(ma_xrt::bytes_of(argv[first + at]));
        if (given.back().size() != expected[at]) {
            std::fprintf(stderr, "%s holds %zu bytes, not %zu\n", argv[first + at], given.back().size(), expected[at]);
            return 2;
        }
    }
    ma_xrt::Array array(argv[1], argv[2], sizes);
% if h.constants:
    const std::vector<std::uint32_t> constants = ma_xrt::words_of(argv[3]);
    if (4 * constants.size() != sizes[${names.index('constants')}]) {
        std::fprintf(stderr, "%s holds other constants\n", argv[3]);
        return 2;
    }
    std::memcpy(array.data(${names.index('constants')}), constants.data(), 4 * constants.size());
    array.send(${names.index('constants')});
% endif
    pack(array.data(${into}), given);
    array.send(${into});
    const auto begin = std::chrono::steady_clock::now();
    for (int at = 0; at < repeats; ++at) array.run();
    const std::chrono::duration<double, std::micro> taken = std::chrono::steady_clock::now() - begin;
    array.fetch(${out});
    unpack(results, array.data(${out}));
    for (int at = 0; at < outputs; ++at) {
        std::ofstream file(argv[first + inputs + at], std::ios::binary);
        file.write(reinterpret_cast<const char *>(results[at].data()), static_cast<std::streamsize>(results[at].size()));
        if (!file.flush()) throw std::runtime_error(std::string("cannot write ") + argv[first + inputs + at]);
    }
    std::printf("%d runs, %.1f us each\n", repeats, taken.count() / repeats);
    return 0;
} catch (const std::exception &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
