// Layer fc: x [7, 100] times w [100, 12] on 1 chains of 2 tiles.
#pragma once

#include <adf.h>

#include "fc_kernels.h"

class fc_graph : public adf::graph {
    public:
    adf::input_gmio x;
    adf::output_gmio y;
    adf::kernel tile[2];
    adf::input_port parameter[3];
    adf::shared_buffer<int8> x0;
    adf::shared_buffer<int8> y0;
    fc_graph() {
        x = adf::input_gmio::create("fc_x", 256, 1000);
        y = adf::output_gmio::create("fc_y", 256, 1000);
        x0 = adf::shared_buffer<int8>::create({100, 8}, 1, 2);
        adf::num_buffers(x0) = 2;
        adf::write_access(x0.in[0]) = adf::tiling({.buffer_dimension = {100, 8}, .tiling_dimension = {100, 7}, .offset = {0, 0}});
        adf::read_access(x0.out[0]) = adf::tiling({.buffer_dimension = {100, 8}, .tiling_dimension = {8, 4}, .offset = {0, 0}, .tile_traversal = {{.dimension = 0, .stride = 8, .wrap = 7}, {.dimension = 1, .stride = 4, .wrap = 2}}, .boundary_dimension = {100, 8}});
        adf::read_access(x0.out[1]) = adf::tiling({.buffer_dimension = {100, 8}, .tiling_dimension = {8, 4}, .offset = {56, 0}, .tile_traversal = {{.dimension = 0, .stride = 8, .wrap = 7}, {.dimension = 1, .stride = 4, .wrap = 2}}, .boundary_dimension = {100, 8}});
        y0 = adf::shared_buffer<int8>::create({16, 1, 8}, 1, 1);
        adf::num_buffers(y0) = 2;
        adf::write_access(y0.in[0]) = adf::tiling({.buffer_dimension = {16, 1, 8}, .tiling_dimension = {8, 1, 4}, .offset = {0, 0, 0}, .tile_traversal = {{.dimension = 0, .stride = 8, .wrap = 2}, {.dimension = 2, .stride = 4, .wrap = 2}}});
        adf::read_access(y0.out[0]) = adf::tiling({.buffer_dimension = {16, 1, 8}, .tiling_dimension = {12, 1, 7}, .offset = {0, 0, 0}});
        tile[0] = adf::kernel::create(fc_first);
        adf::source(tile[0]) = "fc_first.cpp";
        adf::runtime<adf::ratio>(tile[0]) = 1.0;
        adf::location<adf::kernel>(tile[0]) = adf::tile(4, 0);
        adf::dimensions(tile[0].in[0]) = {448};
        tile[1] = adf::kernel::create(fc_last);
        adf::source(tile[1]) = "fc_last.cpp";
        adf::runtime<adf::ratio>(tile[1]) = 1.0;
        adf::location<adf::kernel>(tile[1]) = adf::tile(5, 0);
        adf::dimensions(tile[1].in[0]) = {448};
        adf::dimensions(tile[1].out[0]) = {128};
        adf::connect<adf::parameter>(parameter[0], adf::async(tile[0].in[1]));
        adf::single_buffer(tile[0].in[1]);
        adf::connect<adf::parameter>(parameter[1], adf::async(tile[0].in[2]));
        adf::single_buffer(tile[0].in[2]);
        adf::connect<adf::parameter>(parameter[2], adf::async(tile[1].in[1]));
        adf::single_buffer(tile[1].in[1]);
        adf::connect(x.out[0], x0.in[0]);
        adf::connect(x0.out[0], tile[0].in[0]);
        adf::connect(x0.out[1], tile[1].in[0]);
        adf::connect<adf::cascade>(tile[0].out[0], tile[1].in[2]);
        adf::connect(tile[1].out[0], y0.in[0]);
        adf::connect(y0.out[0], y.in[0]);
    }
};
