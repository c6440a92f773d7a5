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
<% call = next(c for c in calls if c.spec.position == b.position(n % b.length)) %>\
    % for p in call.parameters:
    program.update(program.block.${p.name}[${n}], ${b.name}_${p.name}${n}, ${p.size});
    % endfor
% endfor
    program.run(${iterations});
    program.wait();
    program.end();
    return 0;
}
