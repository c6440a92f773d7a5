// Runs layer ${b.name} on ${iterations} inputs, from and to files.
#include "${b.name}_block.h"
#include "${b.name}_weights.h"

class ${b.name}_program : public adf::graph {
public:
    ${b.name}_block block;
    adf::input_plio x;
    adf::output_plio y;

    ${b.name}_program() {
        x = adf::input_plio::create("x", adf::plio_128_bits, "data/x.txt");
        y = adf::output_plio::create("y", adf::plio_128_bits, "data/y.txt");
        adf::connect(x.out[0], block.x);
        adf::connect(block.y, y.in[0]);
    }
};

${b.name}_program program;

int main() {
    program.init();
% for n in range(b.length * b.count):
    program.update(program.block.w[${n}], ${b.name}_w${n}, ${b.spec.k * b.spec.n});
% endfor
% for row in range(b.count):
    % if b.spec.bias:
    program.update(program.block.bias[${row}], ${b.name}_bias${row}, ${b.spec.n});
    % endif
    % if b.spec.requantise.form == 'channel':
    program.update(program.block.multiplier[${row}], ${b.name}_multiplier${row}, ${b.spec.n});
    % endif
% endfor
    program.run(${iterations});
    program.wait();
    program.end();
    return 0;
}
