// Layer fc: x [7, 100] times w [100, 12] on 2 x 1 tiles, slices of
// 8 x 64 x 16.
#pragma once

#include <adf.h>

#include "fc_kernels.h"

class fc_block : public adf::graph {
    public:
    adf::input_port x;
    adf::output_port y;
    adf::input_port w[2];
    adf::input_port bias[2];
    adf::kernel tile[2];
    adf::shared_buffer<int8> x_memory;
    adf::shared_buffer<int8> y_memory;
    fc_block() {
        x_memory = adf::shared_buffer<int8>::create({100, 7}, 1, 2);
        adf::num_buffers(x_memory) = 2;
        adf::connect(x, x_memory.in[0]);
        adf::write_access(x_memory.in[0]) = adf::tiling({.buffer_dimension = {100, 7}, .tiling_dimension = {100, 7}, .offset = {0, 0}});
        y_memory = adf::shared_buffer<int8>::create({16, 8}, 1, 1);
        adf::num_buffers(y_memory) = 2;
        adf::connect(y_memory.out[0], y);
        adf::read_access(y_memory.out[0]) = adf::tiling({.buffer_dimension = {16, 8}, .tiling_dimension = {12, 7}, .offset = {0, 0}});
        tile[0] = adf::kernel::create(fc_first);
        adf::source(tile[0]) = "fc_first.cpp";
        adf::runtime<adf::ratio>(tile[0]) = 1.0;
        adf::location<adf::kernel>(tile[0]) = adf::tile(4, 0);
        adf::connect(x_memory.out[0], tile[0].in[0]);
        adf::dimensions(tile[0].in[0]) = {512};
        adf::connect<adf::parameter>(w[0], adf::async(tile[0].in[1]));
        adf::single_buffer(tile[0].in[1]);
        adf::connect<adf::parameter>(bias[0], adf::async(tile[0].in[2]));
        adf::single_buffer(tile[0].in[2]);
        tile[1] = adf::kernel::create(fc_last);
        adf::source(tile[1]) = "fc_last.cpp";
        adf::runtime<adf::ratio>(tile[1]) = 1.0;
        adf::location<adf::kernel>(tile[1]) = adf::tile(5, 0);
        adf::connect(x_memory.out[1], tile[1].in[0]);
        adf::dimensions(tile[1].in[0]) = {512};
        adf::connect<adf::parameter>(w[1], adf::async(tile[1].in[1]));
        adf::single_buffer(tile[1].in[1]);
        adf::connect<adf::cascade>(tile[0].out[0], tile[1].in[2]);
        adf::dimensions(tile[1].out[0]) = {128};
        adf::connect(tile[1].out[0], y_memory.in[0]);
        adf::write_access(y_memory.in[0]) = adf::tiling({.buffer_dimension = {16, 8}, .tiling_dimension = {8, 4}, .offset = {0, 0}, .tile_traversal = {{.dimension = 0, .stride = 8, .wrap = 2}, {.dimension = 1, .stride = 4, .wrap = 2}}});
        adf::read_access(x_memory.out[0]) = adf::tiling({.buffer_dimension = {100, 7}, .tiling_dimension = {8, 4}, .offset = {0, 0}, .tile_traversal = {{.dimension = 0, .stride = 8, .wrap = 8}, {.dimension = 1, .stride = 4, .wrap = 2}}, .boundary_dimension = {100, 7}});
        adf::read_access(x_memory.out[1]) = adf::tiling({.buffer_dimension = {100, 7}, .tiling_dimension = {8, 4}, .offset = {64, 0}, .tile_traversal = {{.dimension = 0, .stride = 8, .wrap = 8}, {.dimension = 1, .stride = 4, .wrap = 2}}, .boundary_dimension = {100, 7}});
    }
};
