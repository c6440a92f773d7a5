// Layer net: 2 layers on 2 tiles, each of which runs several.
#pragma once

#include <adf.h>

#include "net_kernels.h"

// Simulators feed streams from files, and write them into files; elsewhere the platform moves them.
#ifndef MA_OUTPUT_FOLDER
#define MA_OUTPUT_FOLDER ""
#endif
#ifndef MA_FED
#ifdef MA_PLIO_FILES
#define MA_FED(name) , "data/" name ".txt"
#define MA_TAKEN(name) , MA_OUTPUT_FOLDER "data/" name ".txt"
#else
#define MA_FED(name)
#define MA_TAKEN(name)
#endif
#endif

class net_graph : public adf::graph {
    public:
    adf::input_plio x_way;
    adf::output_plio y_way;
    adf::kernel tile[2];
    adf::input_port parameter[4];
    net_graph() {
        x_way = adf::input_plio::create("net_x_way", adf::plio_128_bits MA_FED("net_x_way"));
        y_way = adf::output_plio::create("net_y_way", adf::plio_128_bits MA_TAKEN("net_y_way"));
        tile[0] = adf::kernel::create(net_tile0);
        adf::source(tile[0]) = "net_tile0.cpp";
        adf::runtime<adf::ratio>(tile[0]) = 1.0;
        adf::location<adf::kernel>(tile[0]) = adf::tile(3, 0);
        adf::dimensions(tile[0].in[0]) = {960};
        adf::dimensions(tile[0].out[0]) = {832};
        tile[1] = adf::kernel::create(net_tile1);
        adf::source(tile[1]) = "net_tile1.cpp";
        adf::runtime<adf::ratio>(tile[1]) = 1.0;
        adf::location<adf::kernel>(tile[1]) = adf::tile(3, 1);
        adf::dimensions(tile[1].in[0]) = {832};
        adf::dimensions(tile[1].out[0]) = {896};
        adf::connect<adf::parameter>(parameter[0], adf::async(tile[0].in[1]));
        adf::single_buffer(tile[0].in[1]);
        adf::connect<adf::parameter>(parameter[1], adf::async(tile[0].in[2]));
        adf::single_buffer(tile[0].in[2]);
        adf::connect<adf::parameter>(parameter[2], adf::async(tile[1].in[1]));
        adf::single_buffer(tile[1].in[1]);
        adf::connect<adf::parameter>(parameter[3], adf::async(tile[1].in[2]));
        adf::single_buffer(tile[1].in[2]);
        adf::connect(x_way.out[0], adf::async(tile[0].in[0]));
        adf::connect(adf::async(tile[0].out[0]), adf::async(tile[1].in[0]));
        adf::connect(adf::async(tile[1].out[0]), y_way.in[0]);
    }
};
