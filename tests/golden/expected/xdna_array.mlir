module attributes {match.mlir = "2026-03"} {
  aie.device(npu1) {
    func.func private @dense_first_begins(memref<32xi32>, memref<80xi32>, memref<128xi32>, i32)
    func.func private @dense_first_goes_on(memref<32xi32>, memref<80xi32>, memref<128xi32>, i32)
    func.func private @dense_first_ends(memref<32xi32>, memref<80xi32>, memref<128xi32>, i32)
    func.func private @dense_last_begins(memref<32xi32>, memref<96xi32>, memref<128xi32>, memref<32xi32>, i32)
    func.func private @dense_last_goes_on(memref<32xi32>, memref<96xi32>, memref<128xi32>, memref<32xi32>, i32)
    func.func private @dense_last_ends(memref<32xi32>, memref<96xi32>, memref<128xi32>, memref<32xi32>, i32, i32)
    func.func private @scores_attention_0(memref<64xi32>, memref<1280xi32>, memref<512xi32>, memref<512xi32>, memref<80xi32>, memref<64xi32>, memref<64xi32>, memref<1616xi32>, i32)
    func.func private @scores_attention_1(memref<64xi32>, memref<1280xi32>, memref<512xi32>, memref<512xi32>, memref<80xi32>, memref<64xi32>, memref<64xi32>, memref<1616xi32>, i32)
    func.func private @scores_attention_2(memref<64xi32>, memref<1280xi32>, memref<512xi32>, memref<512xi32>, memref<80xi32>, memref<64xi32>, memref<64xi32>, memref<1616xi32>, i32)
    %tile_0_0 = aie.tile(0, 0)
    %tile_0_1 = aie.tile(0, 1)
    %tile_0_2 = aie.tile(0, 2)
    %tile_0_3 = aie.tile(0, 3)
    %tile_0_4 = aie.tile(0, 4)
    %tile_0_5 = aie.tile(0, 5)
    %tile_1_0 = aie.tile(1, 0)
    %tile_1_1 = aie.tile(1, 1)
    %tile_1_2 = aie.tile(1, 2)
    %tile_1_3 = aie.tile(1, 3)
    %tile_1_4 = aie.tile(1, 4)
    %tile_1_5 = aie.tile(1, 5)
    %tile_2_0 = aie.tile(2, 0)
    %tile_3_0 = aie.tile(3, 0)
    %tile_3_1 = aie.tile(3, 1)
    %tile_3_2 = aie.tile(3, 2)
    %tile_3_3 = aie.tile(3, 3)
    %tile_3_4 = aie.tile(3, 4)
    %l_0_2_in0_empty = aie.lock(%tile_0_2, 0) {init = 2 : i32, match.buffer = "in0", match.highest = 2 : i32, match.index = 0 : i32, match.state = "empty", sym_name = "l_0_2_in0_empty"}
    %l_0_2_in0_full = aie.lock(%tile_0_2, 1) {init = 0 : i32, match.buffer = "in0", match.highest = 2 : i32, match.index = 1 : i32, match.state = "full", sym_name = "l_0_2_in0_full"}
    %l_0_2_in1_empty = aie.lock(%tile_0_2, 2) {init = 2 : i32, match.buffer = "in1", match.highest = 2 : i32, match.index = 2 : i32, match.state = "empty", sym_name = "l_0_2_in1_empty"}
    %l_0_2_in1_full = aie.lock(%tile_0_2, 3) {init = 0 : i32, match.buffer = "in1", match.highest = 2 : i32, match.index = 3 : i32, match.state = "full", sym_name = "l_0_2_in1_full"}
    %l_1_2_in0_empty = aie.lock(%tile_1_2, 0) {init = 2 : i32, match.buffer = "in0", match.highest = 2 : i32, match.index = 0 : i32, match.state = "empty", sym_name = "l_1_2_in0_empty"}
    %l_1_2_in0_full = aie.lock(%tile_1_2, 1) {init = 0 : i32, match.buffer = "in0", match.highest = 2 : i32, match.index = 1 : i32, match.state = "full", sym_name = "l_1_2_in0_full"}
    %l_1_2_in1_empty = aie.lock(%tile_1_2, 2) {init = 2 : i32, match.buffer = "in1", match.highest = 2 : i32, match.index = 2 : i32, match.state = "empty", sym_name = "l_1_2_in1_empty"}
    %l_1_2_in1_full = aie.lock(%tile_1_2, 3) {init = 0 : i32, match.buffer = "in1", match.highest = 2 : i32, match.index = 3 : i32, match.state = "full", sym_name = "l_1_2_in1_full"}
    %l_1_2_out_empty = aie.lock(%tile_1_2, 4) {init = 1 : i32, match.buffer = "out", match.highest = 1 : i32, match.index = 4 : i32, match.state = "empty", sym_name = "l_1_2_out_empty"}
    %l_1_2_out_full = aie.lock(%tile_1_2, 5) {init = 0 : i32, match.buffer = "out", match.highest = 1 : i32, match.index = 5 : i32, match.state = "full", sym_name = "l_1_2_out_full"}
    %l_0_3_in0_empty = aie.lock(%tile_0_3, 0) {init = 2 : i32, match.buffer = "in0", match.highest = 2 : i32, match.index = 0 : i32, match.state = "empty", sym_name = "l_0_3_in0_empty"}
    %l_0_3_in0_full = aie.lock(%tile_0_3, 1) {init = 0 : i32, match.buffer = "in0", match.highest = 2 : i32, match.index = 1 : i32, match.state = "full", sym_name = "l_0_3_in0_full"}
    %l_0_3_in1_empty = aie.lock(%tile_0_3, 2) {init = 2 : i32, match.buffer = "in1", match.highest = 2 : i32, match.index = 2 : i32, match.state = "empty", sym_name = "l_0_3_in1_empty"}
    %l_0_3_in1_full = aie.lock(%tile_0_3, 3) {init = 0 : i32, match.buffer = "in1", match.highest = 2 : i32, match.index = 3 : i32, match.state = "full", sym_name = "l_0_3_in1_full"}
    %l_1_3_in0_empty = aie.lock(%tile_1_3, 0) {init = 2 : i32, match.buffer = "in0", match.highest = 2 : i32, match.index = 0 : i32, match.state = "empty", sym_name = "l_1_3_in0_empty"}
    %l_1_3_in0_full = aie.lock(%tile_1_3, 1) {init = 0 : i32, match.buffer = "in0", match.highest = 2 : i32, match.index = 1 : i32, match.state = "full", sym_name = "l_1_3_in0_full"}
    %l_1_3_in1_empty = aie.lock(%tile_1_3, 2) {init = 2 : i32, match.buffer = "in1", match.highest = 2 : i32, match.index = 2 : i32, match.state = "empty", sym_name = "l_1_3_in1_empty"}
    %l_1_3_in1_full = aie.lock(%tile_1_3, 3) {init = 0 : i32, match.buffer = "in1", match.highest = 2 : i32, match.index = 3 : i32, match.state = "full", sym_name = "l_1_3_in1_full"}
    %l_1_3_out_empty = aie.lock(%tile_1_3, 4) {init = 1 : i32, match.buffer = "out", match.highest = 1 : i32, match.index = 4 : i32, match.state = "empty", sym_name = "l_1_3_out_empty"}
    %l_1_3_out_full = aie.lock(%tile_1_3, 5) {init = 0 : i32, match.buffer = "out", match.highest = 1 : i32, match.index = 5 : i32, match.state = "full", sym_name = "l_1_3_out_full"}
    %l_0_4_in0_empty = aie.lock(%tile_0_4, 0) {init = 2 : i32, match.buffer = "in0", match.highest = 2 : i32, match.index = 0 : i32, match.state = "empty", sym_name = "l_0_4_in0_empty"}
    %l_0_4_in0_full = aie.lock(%tile_0_4, 1) {init = 0 : i32, match.buffer = "in0", match.highest = 2 : i32, match.index = 1 : i32, match.state = "full", sym_name = "l_0_4_in0_full"}
    %l_0_4_in1_empty = aie.lock(%tile_0_4, 2) {init = 2 : i32, match.buffer = "in1", match.highest = 2 : i32, match.index = 2 : i32, match.state = "empty", sym_name = "l_0_4_in1_empty"}
    %l_0_4_in1_full = aie.lock(%tile_0_4, 3) {init = 0 : i32, match.buffer = "in1", match.highest = 2 : i32, match.index = 3 : i32, match.state = "full", sym_name = "l_0_4_in1_full"}
    %l_1_4_in0_empty = aie.lock(%tile_1_4, 0) {init = 2 : i32, match.buffer = "in0", match.highest = 2 : i32, match.index = 0 : i32, match.state = "empty", sym_name = "l_1_4_in0_empty"}
    %l_1_4_in0_full = aie.lock(%tile_1_4, 1) {init = 0 : i32, match.buffer = "in0", match.highest = 2 : i32, match.index = 1 : i32, match.state = "full", sym_name = "l_1_4_in0_full"}
    %l_1_4_in1_empty = aie.lock(%tile_1_4, 2) {init = 2 : i32, match.buffer = "in1", match.highest = 2 : i32, match.index = 2 : i32, match.state = "empty", sym_name = "l_1_4_in1_empty"}
    %l_1_4_in1_full = aie.lock(%tile_1_4, 3) {init = 0 : i32, match.buffer = "in1", match.highest = 2 : i32, match.index = 3 : i32, match.state = "full", sym_name = "l_1_4_in1_full"}
    %l_1_4_out_empty = aie.lock(%tile_1_4, 4) {init = 1 : i32, match.buffer = "out", match.highest = 1 : i32, match.index = 4 : i32, match.state = "empty", sym_name = "l_1_4_out_empty"}
    %l_1_4_out_full = aie.lock(%tile_1_4, 5) {init = 0 : i32, match.buffer = "out", match.highest = 1 : i32, match.index = 5 : i32, match.state = "full", sym_name = "l_1_4_out_full"}
    %l_0_5_in0_empty = aie.lock(%tile_0_5, 0) {init = 2 : i32, match.buffer = "in0", match.highest = 2 : i32, match.index = 0 : i32, match.state = "empty", sym_name = "l_0_5_in0_empty"}
    %l_0_5_in0_full = aie.lock(%tile_0_5, 1) {init = 0 : i32, match.buffer = "in0", match.highest = 2 : i32, match.index = 1 : i32, match.state = "full", sym_name = "l_0_5_in0_full"}
    %l_0_5_in1_empty = aie.lock(%tile_0_5, 2) {init = 2 : i32, match.buffer = "in1", match.highest = 2 : i32, match.index = 2 : i32, match.state = "empty", sym_name = "l_0_5_in1_empty"}
    %l_0_5_in1_full = aie.lock(%tile_0_5, 3) {init = 0 : i32, match.buffer = "in1", match.highest = 2 : i32, match.index = 3 : i32, match.state = "full", sym_name = "l_0_5_in1_full"}
    %l_1_5_in0_empty = aie.lock(%tile_1_5, 0) {init = 2 : i32, match.buffer = "in0", match.highest = 2 : i32, match.index = 0 : i32, match.state = "empty", sym_name = "l_1_5_in0_empty"}
    %l_1_5_in0_full = aie.lock(%tile_1_5, 1) {init = 0 : i32, match.buffer = "in0", match.highest = 2 : i32, match.index = 1 : i32, match.state = "full", sym_name = "l_1_5_in0_full"}
    %l_1_5_in1_empty = aie.lock(%tile_1_5, 2) {init = 2 : i32, match.buffer = "in1", match.highest = 2 : i32, match.index = 2 : i32, match.state = "empty", sym_name = "l_1_5_in1_empty"}
    %l_1_5_in1_full = aie.lock(%tile_1_5, 3) {init = 0 : i32, match.buffer = "in1", match.highest = 2 : i32, match.index = 3 : i32, match.state = "full", sym_name = "l_1_5_in1_full"}
    %l_1_5_out_empty = aie.lock(%tile_1_5, 4) {init = 1 : i32, match.buffer = "out", match.highest = 1 : i32, match.index = 4 : i32, match.state = "empty", sym_name = "l_1_5_out_empty"}
    %l_1_5_out_full = aie.lock(%tile_1_5, 5) {init = 0 : i32, match.buffer = "out", match.highest = 1 : i32, match.index = 5 : i32, match.state = "full", sym_name = "l_1_5_out_full"}
    %l_3_2_in0_empty = aie.lock(%tile_3_2, 0) {init = 2 : i32, match.buffer = "in0", match.highest = 2 : i32, match.index = 0 : i32, match.state = "empty", sym_name = "l_3_2_in0_empty"}
    %l_3_2_in0_full = aie.lock(%tile_3_2, 1) {init = 0 : i32, match.buffer = "in0", match.highest = 2 : i32, match.index = 1 : i32, match.state = "full", sym_name = "l_3_2_in0_full"}
    %l_3_2_in1_empty = aie.lock(%tile_3_2, 2) {init = 2 : i32, match.buffer = "in1", match.highest = 2 : i32, match.index = 2 : i32, match.state = "empty", sym_name = "l_3_2_in1_empty"}
    %l_3_2_in1_full = aie.lock(%tile_3_2, 3) {init = 0 : i32, match.buffer = "in1", match.highest = 2 : i32, match.index = 3 : i32, match.state = "full", sym_name = "l_3_2_in1_full"}
    %l_3_2_out_empty = aie.lock(%tile_3_2, 4) {init = 2 : i32, match.buffer = "out", match.highest = 2 : i32, match.index = 4 : i32, match.state = "empty", sym_name = "l_3_2_out_empty"}
    %l_3_2_out_full = aie.lock(%tile_3_2, 5) {init = 0 : i32, match.buffer = "out", match.highest = 2 : i32, match.index = 5 : i32, match.state = "full", sym_name = "l_3_2_out_full"}
    %l_3_3_in0_empty = aie.lock(%tile_3_3, 0) {init = 2 : i32, match.buffer = "in0", match.highest = 2 : i32, match.index = 0 : i32, match.state = "empty", sym_name = "l_3_3_in0_empty"}
    %l_3_3_in0_full = aie.lock(%tile_3_3, 1) {init = 0 : i32, match.buffer = "in0", match.highest = 2 : i32, match.index = 1 : i32, match.state = "full", sym_name = "l_3_3_in0_full"}
    %l_3_3_in1_empty = aie.lock(%tile_3_3, 2) {init = 2 : i32, match.buffer = "in1", match.highest = 2 : i32, match.index = 2 : i32, match.state = "empty", sym_name = "l_3_3_in1_empty"}
    %l_3_3_in1_full = aie.lock(%tile_3_3, 3) {init = 0 : i32, match.buffer = "in1", match.highest = 2 : i32, match.index = 3 : i32, match.state = "full", sym_name = "l_3_3_in1_full"}
    %l_3_3_out_empty = aie.lock(%tile_3_3, 4) {init = 2 : i32, match.buffer = "out", match.highest = 2 : i32, match.index = 4 : i32, match.state = "empty", sym_name = "l_3_3_out_empty"}
    %l_3_3_out_full = aie.lock(%tile_3_3, 5) {init = 0 : i32, match.buffer = "out", match.highest = 2 : i32, match.index = 5 : i32, match.state = "full", sym_name = "l_3_3_out_full"}
    %l_3_4_in0_empty = aie.lock(%tile_3_4, 0) {init = 2 : i32, match.buffer = "in0", match.highest = 2 : i32, match.index = 0 : i32, match.state = "empty", sym_name = "l_3_4_in0_empty"}
    %l_3_4_in0_full = aie.lock(%tile_3_4, 1) {init = 0 : i32, match.buffer = "in0", match.highest = 2 : i32, match.index = 1 : i32, match.state = "full", sym_name = "l_3_4_in0_full"}
    %l_3_4_in1_empty = aie.lock(%tile_3_4, 2) {init = 2 : i32, match.buffer = "in1", match.highest = 2 : i32, match.index = 2 : i32, match.state = "empty", sym_name = "l_3_4_in1_empty"}
    %l_3_4_in1_full = aie.lock(%tile_3_4, 3) {init = 0 : i32, match.buffer = "in1", match.highest = 2 : i32, match.index = 3 : i32, match.state = "full", sym_name = "l_3_4_in1_full"}
    %l_3_4_out_empty = aie.lock(%tile_3_4, 4) {init = 2 : i32, match.buffer = "out", match.highest = 2 : i32, match.index = 4 : i32, match.state = "empty", sym_name = "l_3_4_out_empty"}
    %l_3_4_out_full = aie.lock(%tile_3_4, 5) {init = 0 : i32, match.buffer = "out", match.highest = 2 : i32, match.index = 5 : i32, match.state = "full", sym_name = "l_3_4_out_full"}
    %l_0_1_dense_x0_0_empty_0 = aie.lock(%tile_0_1, 0) {init = 2 : i32, match.buffer = "dense_x0_0", match.highest = 2 : i32, match.index = 0 : i32, match.state = "empty", sym_name = "l_0_1_dense_x0_0_empty_0"}
    %l_0_1_dense_x0_0_empty_1 = aie.lock(%tile_0_1, 1) {init = 2 : i32, match.buffer = "dense_x0_0", sym_name = "l_0_1_dense_x0_0_empty_1"}
    %l_0_1_dense_x0_0_full = aie.lock(%tile_0_1, 2) {init = 0 : i32, match.buffer = "dense_x0_0", match.highest = 2 : i32, match.index = 1 : i32, match.state = "full", sym_name = "l_0_1_dense_x0_0_full"}
    %l_0_1_dense_x0_0_read_1 = aie.lock(%tile_0_1, 3) {init = 0 : i32, match.buffer = "dense_x0_0", sym_name = "l_0_1_dense_x0_0_read_1"}
    %l_0_1_dense_w0_0_0_empty_0 = aie.lock(%tile_0_1, 4) {init = 2 : i32, match.buffer = "dense_w0_0_0", match.highest = 2 : i32, match.index = 2 : i32, match.state = "empty", sym_name = "l_0_1_dense_w0_0_0_empty_0"}
    %l_0_1_dense_w0_0_0_empty_1 = aie.lock(%tile_0_1, 5) {init = 2 : i32, match.buffer = "dense_w0_0_0", sym_name = "l_0_1_dense_w0_0_0_empty_1"}
    %l_0_1_dense_w0_0_0_full = aie.lock(%tile_0_1, 6) {init = 0 : i32, match.buffer = "dense_w0_0_0", match.highest = 2 : i32, match.index = 3 : i32, match.state = "full", sym_name = "l_0_1_dense_w0_0_0_full"}
    %l_0_1_dense_w0_0_0_read_1 = aie.lock(%tile_0_1, 7) {init = 0 : i32, match.buffer = "dense_w0_0_0", sym_name = "l_0_1_dense_w0_0_0_read_1"}
    %l_1_1_dense_x0_1_empty_0 = aie.lock(%tile_1_1, 0) {init = 2 : i32, match.buffer = "dense_x0_1", match.highest = 2 : i32, match.index = 0 : i32, match.state = "empty", sym_name = "l_1_1_dense_x0_1_empty_0"}
    %l_1_1_dense_x0_1_empty_1 = aie.lock(%tile_1_1, 1) {init = 2 : i32, match.buffer = "dense_x0_1", sym_name = "l_1_1_dense_x0_1_empty_1"}
    %l_1_1_dense_x0_1_full = aie.lock(%tile_1_1, 2) {init = 0 : i32, match.buffer = "dense_x0_1", match.highest = 2 : i32, match.index = 1 : i32, match.state = "full", sym_name = "l_1_1_dense_x0_1_full"}
    %l_1_1_dense_x0_1_read_1 = aie.lock(%tile_1_1, 3) {init = 0 : i32, match.buffer = "dense_x0_1", sym_name = "l_1_1_dense_x0_1_read_1"}
    %l_1_1_dense_w0_1_0_empty_0 = aie.lock(%tile_1_1, 4) {init = 2 : i32, match.buffer = "dense_w0_1_0", match.highest = 2 : i32, match.index = 2 : i32, match.state = "empty", sym_name = "l_1_1_dense_w0_1_0_empty_0"}
    %l_1_1_dense_w0_1_0_empty_1 = aie.lock(%tile_1_1, 5) {init = 2 : i32, match.buffer = "dense_w0_1_0", sym_name = "l_1_1_dense_w0_1_0_empty_1"}
    %l_1_1_dense_w0_1_0_full = aie.lock(%tile_1_1, 6) {init = 0 : i32, match.buffer = "dense_w0_1_0", match.highest = 2 : i32, match.index = 3 : i32, match.state = "full", sym_name = "l_1_1_dense_w0_1_0_full"}
    %l_1_1_dense_w0_1_0_read_1 = aie.lock(%tile_1_1, 7) {init = 0 : i32, match.buffer = "dense_w0_1_0", sym_name = "l_1_1_dense_w0_1_0_read_1"}
    %l_1_1_dense_y0_0_empty = aie.lock(%tile_1_1, 8) {init = 2 : i32, match.buffer = "dense_y0_0", match.highest = 2 : i32, match.index = 4 : i32, match.state = "empty", sym_name = "l_1_1_dense_y0_0_empty"}
    %l_1_1_dense_y0_0_full_0 = aie.lock(%tile_1_1, 9) {init = 0 : i32, match.buffer = "dense_y0_0", match.highest = 2 : i32, match.index = 5 : i32, match.state = "full", sym_name = "l_1_1_dense_y0_0_full_0"}
    %l_1_1_dense_y0_0_full_1 = aie.lock(%tile_1_1, 10) {init = 0 : i32, match.buffer = "dense_y0_0", sym_name = "l_1_1_dense_y0_0_full_1"}
    %l_1_1_dense_y0_0_write_1 = aie.lock(%tile_1_1, 11) {init = 0 : i32, match.buffer = "dense_y0_0", sym_name = "l_1_1_dense_y0_0_write_1"}
    %l_1_1_dense_y0_1_empty = aie.lock(%tile_1_1, 12) {init = 2 : i32, match.buffer = "dense_y0_1", match.highest = 2 : i32, match.index = 6 : i32, match.state = "empty", sym_name = "l_1_1_dense_y0_1_empty"}
    %l_1_1_dense_y0_1_full_0 = aie.lock(%tile_1_1, 13) {init = 0 : i32, match.buffer = "dense_y0_1", match.highest = 2 : i32, match.index = 7 : i32, match.state = "full", sym_name = "l_1_1_dense_y0_1_full_0"}
    %l_1_1_dense_y0_1_full_1 = aie.lock(%tile_1_1, 14) {init = 0 : i32, match.buffer = "dense_y0_1", sym_name = "l_1_1_dense_y0_1_full_1"}
    %l_1_1_dense_y0_1_write_1 = aie.lock(%tile_1_1, 15) {init = 0 : i32, match.buffer = "dense_y0_1", sym_name = "l_1_1_dense_y0_1_write_1"}
    %l_3_1_beside_q0_0_empty_0 = aie.lock(%tile_3_1, 0) {init = 3 : i32, match.buffer = "beside_q0_0", match.highest = 2 : i32, match.index = 0 : i32, match.state = "empty", sym_name = "l_3_1_beside_q0_0_empty_0"}
    %l_3_1_beside_q0_0_empty_1 = aie.lock(%tile_3_1, 1) {init = 3 : i32, match.buffer = "beside_q0_0", sym_name = "l_3_1_beside_q0_0_empty_1"}
    %l_3_1_beside_q0_0_full = aie.lock(%tile_3_1, 2) {init = 0 : i32, match.buffer = "beside_q0_0", match.highest = 2 : i32, match.index = 1 : i32, match.state = "full", sym_name = "l_3_1_beside_q0_0_full"}
    %l_3_1_beside_q0_0_read_1 = aie.lock(%tile_3_1, 3) {init = 0 : i32, match.buffer = "beside_q0_0", sym_name = "l_3_1_beside_q0_0_read_1"}
    %l_3_1_beside_q0_0_read_2 = aie.lock(%tile_3_1, 4) {init = 0 : i32, match.buffer = "beside_q0_0", sym_name = "l_3_1_beside_q0_0_read_2"}
    %l_3_1_beside_kv0_0_empty = aie.lock(%tile_3_1, 5) {init = 2 : i32, match.buffer = "beside_kv0_0", match.highest = 2 : i32, match.index = 2 : i32, match.state = "empty", sym_name = "l_3_1_beside_kv0_0_empty"}
    %l_3_1_beside_kv0_0_full_0 = aie.lock(%tile_3_1, 6) {init = 0 : i32, match.buffer = "beside_kv0_0", match.highest = 2 : i32, match.index = 3 : i32, match.state = "full", sym_name = "l_3_1_beside_kv0_0_full_0"}
    %l_3_1_beside_kv0_0_full_1 = aie.lock(%tile_3_1, 7) {init = 0 : i32, match.buffer = "beside_kv0_0", sym_name = "l_3_1_beside_kv0_0_full_1"}
    %l_3_1_beside_kv0_0_write_1 = aie.lock(%tile_3_1, 8) {init = 0 : i32, match.buffer = "beside_kv0_0", sym_name = "l_3_1_beside_kv0_0_write_1"}
    %l_3_1_beside_y0_0_empty = aie.lock(%tile_3_1, 9) {init = 2 : i32, match.buffer = "beside_y0_0", match.highest = 2 : i32, match.index = 4 : i32, match.state = "empty", sym_name = "l_3_1_beside_y0_0_empty"}
    %l_3_1_beside_y0_0_full_0 = aie.lock(%tile_3_1, 10) {init = 0 : i32, match.buffer = "beside_y0_0", match.highest = 2 : i32, match.index = 5 : i32, match.state = "full", sym_name = "l_3_1_beside_y0_0_full_0"}
    %l_3_1_beside_y0_0_full_1 = aie.lock(%tile_3_1, 11) {init = 0 : i32, match.buffer = "beside_y0_0", sym_name = "l_3_1_beside_y0_0_full_1"}
    %l_3_1_beside_y0_0_write_1 = aie.lock(%tile_3_1, 12) {init = 0 : i32, match.buffer = "beside_y0_0", sym_name = "l_3_1_beside_y0_0_write_1"}
    %l_3_1_beside_y0_0_write_2 = aie.lock(%tile_3_1, 13) {init = 0 : i32, match.buffer = "beside_y0_0", sym_name = "l_3_1_beside_y0_0_write_2"}
    %b_0_1_dense_x0_0_0 = aie.buffer(%tile_0_1) {address = 0 : i32, match.at = 60 : i32, match.banks = [], match.bytes = 2048 : i32, match.copy = 0 : i32, match.fills_each = array<i32: 1, 2, 1>, match.name = "dense_x0_0", match.role = "a", sym_name = "b_0_1_dense_x0_0_0"} : memref<512xi32>
    %b_0_1_dense_x0_0_1 = aie.buffer(%tile_0_1) {address = 2048 : i32, match.at = 60 : i32, match.banks = [], match.bytes = 2048 : i32, match.copy = 1 : i32, match.fills_each = array<i32: 1, 2, 1>, match.name = "dense_x0_0", match.role = "a", sym_name = "b_0_1_dense_x0_0_1"} : memref<512xi32>
    %b_0_1_dense_w0_0_0_0 = aie.buffer(%tile_0_1) {address = 4096 : i32, match.at = 61 : i32, match.banks = [], match.bytes = 1280 : i32, match.copy = 0 : i32, match.fills_each = array<i32: 8, 16, 8>, match.name = "dense_w0_0_0", match.role = "a", sym_name = "b_0_1_dense_w0_0_0_0"} : memref<320xi32>
    %b_0_1_dense_w0_0_0_1 = aie.buffer(%tile_0_1) {address = 5376 : i32, match.at = 61 : i32, match.banks = [], match.bytes = 1280 : i32, match.copy = 1 : i32, match.fills_each = array<i32: 8, 16, 8>, match.name = "dense_w0_0_0", match.role = "a", sym_name = "b_0_1_dense_w0_0_0_1"} : memref<320xi32>
    %b_0_2_turns_0 = aie.buffer(%tile_0_2) {address = 4064 : i32, match.scratch = 32 : i32, mem_bank = 0 : i32, sym_name = "b_0_2_turns_0"} : memref<8xi32>
    %b_0_2_sums_0 = aie.buffer(%tile_0_2) {address = 4096 : i32, match.at = 2 : i32, match.banks = [3], match.bytes = 512 : i32, match.copy = 0 : i32, match.fills = 0 : i32, match.name = "sums", match.role = "kept", mem_bank = 0 : i32, sym_name = "b_0_2_sums_0"} : memref<128xi32>
    %b_0_2_in0_0 = aie.buffer(%tile_0_2) {address = 16384 : i32, match.at = 0 : i32, match.banks = [0], match.bytes = 128 : i32, match.copy = 0 : i32, match.fills_each = array<i32: 16, 32, 16>, match.name = "in0", match.role = "a", mem_bank = 1 : i32, sym_name = "b_0_2_in0_0"} : memref<32xi32>
    %b_0_2_in0_1 = aie.buffer(%tile_0_2) {address = 16512 : i32, match.at = 0 : i32, match.banks = [0], match.bytes = 128 : i32, match.copy = 1 : i32, match.fills_each = array<i32: 16, 32, 16>, match.name = "in0", match.role = "a", mem_bank = 1 : i32, sym_name = "b_0_2_in0_1"} : memref<32xi32>
    %b_0_2_in1_0 = aie.buffer(%tile_0_2) {address = 32768 : i32, match.at = 1 : i32, match.banks = [1, 2], match.bytes = 320 : i32, match.copy = 0 : i32, match.fills_each = array<i32: 16, 32, 16>, match.name = "in1", match.role = "w", mem_bank = 2 : i32, sym_name = "b_0_2_in1_0"} : memref<80xi32>
    %b_0_2_in1_1 = aie.buffer(%tile_0_2) {address = 49152 : i32, match.at = 1 : i32, match.banks = [1, 2], match.bytes = 320 : i32, match.copy = 1 : i32, match.fills_each = array<i32: 16, 32, 16>, match.name = "in1", match.role = "w", mem_bank = 3 : i32, sym_name = "b_0_2_in1_1"} : memref<80xi32>
    %b_0_3_turns_0 = aie.buffer(%tile_0_3) {address = 4064 : i32, match.scratch = 32 : i32, mem_bank = 0 : i32, sym_name = "b_0_3_turns_0"} : memref<8xi32>
    %b_0_3_sums_0 = aie.buffer(%tile_0_3) {address = 4096 : i32, match.at = 11 : i32, match.banks = [3], match.bytes = 512 : i32, match.copy = 0 : i32, match.fills = 0 : i32, match.name = "sums", match.role = "kept", mem_bank = 0 : i32, sym_name = "b_0_3_sums_0"} : memref<128xi32>
    %b_0_3_in0_0 = aie.buffer(%tile_0_3) {address = 16384 : i32, match.at = 9 : i32, match.banks = [0], match.bytes = 128 : i32, match.copy = 0 : i32, match.fills_each = array<i32: 16, 32, 16>, match.name = "in0", match.role = "a", mem_bank = 1 : i32, sym_name = "b_0_3_in0_0"} : memref<32xi32>
    %b_0_3_in0_1 = aie.buffer(%tile_0_3) {address = 16512 : i32, match.at = 9 : i32, match.banks = [0], match.bytes = 128 : i32, match.copy = 1 : i32, match.fills_each = array<i32: 16, 32, 16>, match.name = "in0", match.role = "a", mem_bank = 1 : i32, sym_name = "b_0_3_in0_1"} : memref<32xi32>
    %b_0_3_in1_0 = aie.buffer(%tile_0_3) {address = 32768 : i32, match.at = 10 : i32, match.banks = [1, 2], match.bytes = 320 : i32, match.copy = 0 : i32, match.fills_each = array<i32: 16, 32, 16>, match.name = "in1", match.role = "w", mem_bank = 2 : i32, sym_name = "b_0_3_in1_0"} : memref<80xi32>
    %b_0_3_in1_1 = aie.buffer(%tile_0_3) {address = 49152 : i32, match.at = 10 : i32, match.banks = [1, 2], match.bytes = 320 : i32, match.copy = 1 : i32, match.fills_each = array<i32: 16, 32, 16>, match.name = "in1", match.role = "w", mem_bank = 3 : i32, sym_name = "b_0_3_in1_1"} : memref<80xi32>
    %b_0_4_turns_0 = aie.buffer(%tile_0_4) {address = 4064 : i32, match.scratch = 32 : i32, mem_bank = 0 : i32, sym_name = "b_0_4_turns_0"} : memref<8xi32>
    %b_0_4_sums_0 = aie.buffer(%tile_0_4) {address = 4096 : i32, match.at = 20 : i32, match.banks = [3], match.bytes = 512 : i32, match.copy = 0 : i32, match.fills = 0 : i32, match.name = "sums", match.role = "kept", mem_bank = 0 : i32, sym_name = "b_0_4_sums_0"} : memref<128xi32>
    %b_0_4_in0_0 = aie.buffer(%tile_0_4) {address = 16384 : i32, match.at = 18 : i32, match.banks = [0], match.bytes = 128 : i32, match.copy = 0 : i32, match.fills_each = array<i32: 16, 32, 16>, match.name = "in0", match.role = "a", mem_bank = 1 : i32, sym_name = "b_0_4_in0_0"} : memref<32xi32>
    %b_0_4_in0_1 = aie.buffer(%tile_0_4) {address = 16512 : i32, match.at = 18 : i32, match.banks = [0], match.bytes = 128 : i32, match.copy = 1 : i32, match.fills_each = array<i32: 16, 32, 16>, match.name = "in0", match.role = "a", mem_bank = 1 : i32, sym_name = "b_0_4_in0_1"} : memref<32xi32>
    %b_0_4_in1_0 = aie.buffer(%tile_0_4) {address = 32768 : i32, match.at = 19 : i32, match.banks = [1, 2], match.bytes = 320 : i32, match.copy = 0 : i32, match.fills_each = array<i32: 16, 32, 16>, match.name = "in1", match.role = "w", mem_bank = 2 : i32, sym_name = "b_0_4_in1_0"} : memref<80xi32>
    %b_0_4_in1_1 = aie.buffer(%tile_0_4) {address = 49152 : i32, match.at = 19 : i32, match.banks = [1, 2], match.bytes = 320 : i32, match.copy = 1 : i32, match.fills_each = array<i32: 16, 32, 16>, match.name = "in1", match.role = "w", mem_bank = 3 : i32, sym_name = "b_0_4_in1_1"} : memref<80xi32>
    %b_0_5_turns_0 = aie.buffer(%tile_0_5) {address = 4064 : i32, match.scratch = 32 : i32, mem_bank = 0 : i32, sym_name = "b_0_5_turns_0"} : memref<8xi32>
    %b_0_5_sums_0 = aie.buffer(%tile_0_5) {address = 4096 : i32, match.at = 29 : i32, match.banks = [3], match.bytes = 512 : i32, match.copy = 0 : i32, match.fills = 0 : i32, match.name = "sums", match.role = "kept", mem_bank = 0 : i32, sym_name = "b_0_5_sums_0"} : memref<128xi32>
    %b_0_5_in0_0 = aie.buffer(%tile_0_5) {address = 16384 : i32, match.at = 27 : i32, match.banks = [0], match.bytes = 128 : i32, match.copy = 0 : i32, match.fills_each = array<i32: 16, 32, 16>, match.name = "in0", match.role = "a", mem_bank = 1 : i32, sym_name = "b_0_5_in0_0"} : memref<32xi32>
    %b_0_5_in0_1 = aie.buffer(%tile_0_5) {address = 16512 : i32, match.at = 27 : i32, match.banks = [0], match.bytes = 128 : i32, match.copy = 1 : i32, match.fills_each = array<i32: 16, 32, 16>, match.name = "in0", match.role = "a", mem_bank = 1 : i32, sym_name = "b_0_5_in0_1"} : memref<32xi32>
    %b_0_5_in1_0 = aie.buffer(%tile_0_5) {address = 32768 : i32, match.at = 28 : i32, match.banks = [1, 2], match.bytes = 320 : i32, match.copy = 0 : i32, match.fills_each = array<i32: 16, 32, 16>, match.name = "in1", match.role = "w", mem_bank = 2 : i32, sym_name = "b_0_5_in1_0"} : memref<80xi32>
    %b_0_5_in1_1 = aie.buffer(%tile_0_5) {address = 49152 : i32, match.at = 28 : i32, match.banks = [1, 2], match.bytes = 320 : i32, match.copy = 1 : i32, match.fills_each = array<i32: 16, 32, 16>, match.name = "in1", match.role = "w", mem_bank = 3 : i32, sym_name = "b_0_5_in1_1"} : memref<80xi32>
    %b_1_1_dense_x0_1_0 = aie.buffer(%tile_1_1) {address = 0 : i32, match.at = 62 : i32, match.banks = [], match.bytes = 2048 : i32, match.copy = 0 : i32, match.fills_each = array<i32: 1, 2, 1>, match.name = "dense_x0_1", match.role = "a", sym_name = "b_1_1_dense_x0_1_0"} : memref<512xi32>
    %b_1_1_dense_x0_1_1 = aie.buffer(%tile_1_1) {address = 2048 : i32, match.at = 62 : i32, match.banks = [], match.bytes = 2048 : i32, match.copy = 1 : i32, match.fills_each = array<i32: 1, 2, 1>, match.name = "dense_x0_1", match.role = "a", sym_name = "b_1_1_dense_x0_1_1"} : memref<512xi32>
    %b_1_1_dense_w0_1_0_0 = aie.buffer(%tile_1_1) {address = 4096 : i32, match.at = 63 : i32, match.banks = [], match.bytes = 1536 : i32, match.copy = 0 : i32, match.fills_each = array<i32: 8, 16, 8>, match.name = "dense_w0_1_0", match.role = "a", sym_name = "b_1_1_dense_w0_1_0_0"} : memref<384xi32>
    %b_1_1_dense_w0_1_0_1 = aie.buffer(%tile_1_1) {address = 5632 : i32, match.at = 63 : i32, match.banks = [], match.bytes = 1536 : i32, match.copy = 1 : i32, match.fills_each = array<i32: 8, 16, 8>, match.name = "dense_w0_1_0", match.role = "a", sym_name = "b_1_1_dense_w0_1_0_1"} : memref<384xi32>
    %b_1_1_dense_y0_0_0 = aie.buffer(%tile_1_1) {address = 7168 : i32, match.at = 64 : i32, match.banks = [], match.bytes = 256 : i32, match.copy = 0 : i32, match.fills_each = array<i32: 8, 4, 8>, match.name = "dense_y0_0", match.role = "a", sym_name = "b_1_1_dense_y0_0_0"} : memref<64xi32>
    %b_1_1_dense_y0_0_1 = aie.buffer(%tile_1_1) {address = 7424 : i32, match.at = 64 : i32, match.banks = [], match.bytes = 256 : i32, match.copy = 1 : i32, match.fills_each = array<i32: 8, 4, 8>, match.name = "dense_y0_0", match.role = "a", sym_name = "b_1_1_dense_y0_0_1"} : memref<64xi32>
    %b_1_1_dense_y0_1_0 = aie.buffer(%tile_1_1) {address = 7680 : i32, match.at = 65 : i32, match.banks = [], match.bytes = 256 : i32, match.copy = 0 : i32, match.fills_each = array<i32: 8, 4, 8>, match.name = "dense_y0_1", match.role = "a", sym_name = "b_1_1_dense_y0_1_0"} : memref<64xi32>
    %b_1_1_dense_y0_1_1 = aie.buffer(%tile_1_1) {address = 7936 : i32, match.at = 65 : i32, match.banks = [], match.bytes = 256 : i32, match.copy = 1 : i32, match.fills_each = array<i32: 8, 4, 8>, match.name = "dense_y0_1", match.role = "a", sym_name = "b_1_1_dense_y0_1_1"} : memref<64xi32>
    %b_1_2_turns_0 = aie.buffer(%tile_1_2) {address = 4064 : i32, match.scratch = 32 : i32, mem_bank = 0 : i32, sym_name = "b_1_2_turns_0"} : memref<8xi32>
    %b_1_2_sums_0 = aie.buffer(%tile_1_2) {address = 4096 : i32, match.at = 6 : i32, match.banks = [3], match.bytes = 512 : i32, match.copy = 0 : i32, match.fills = 0 : i32, match.name = "sums", match.role = "kept", mem_bank = 0 : i32, sym_name = "b_1_2_sums_0"} : memref<128xi32>
    %b_1_2_out_0 = aie.buffer(%tile_1_2) {address = 4608 : i32, match.at = 7 : i32, match.banks = [3], match.bytes = 128 : i32, match.copy = 0 : i32, match.fills_each = array<i32: 8, 4, 8>, match.name = "out", match.role = "out", mem_bank = 0 : i32, sym_name = "b_1_2_out_0"} : memref<32xi32>
    %b_1_2_in0_0 = aie.buffer(%tile_1_2) {address = 16384 : i32, match.at = 4 : i32, match.banks = [0], match.bytes = 128 : i32, match.copy = 0 : i32, match.fills_each = array<i32: 16, 32, 16>, match.name = "in0", match.role = "a", mem_bank = 1 : i32, sym_name = "b_1_2_in0_0"} : memref<32xi32>
    %b_1_2_in0_1 = aie.buffer(%tile_1_2) {address = 16512 : i32, match.at = 4 : i32, match.banks = [0], match.bytes = 128 : i32, match.copy = 1 : i32, match.fills_each = array<i32: 16, 32, 16>, match.name = "in0", match.role = "a", mem_bank = 1 : i32, sym_name = "b_1_2_in0_1"} : memref<32xi32>
    %b_1_2_in1_0 = aie.buffer(%tile_1_2) {address = 32768 : i32, match.at = 5 : i32, match.banks = [1, 2], match.bytes = 384 : i32, match.copy = 0 : i32, match.fills_each = array<i32: 16, 32, 16>, match.name = "in1", match.role = "w", mem_bank = 2 : i32, sym_name = "b_1_2_in1_0"} : memref<96xi32>
    %b_1_2_in1_1 = aie.buffer(%tile_1_2) {address = 49152 : i32, match.at = 5 : i32, match.banks = [1, 2], match.bytes = 384 : i32, match.copy = 1 : i32, match.fills_each = array<i32: 16, 32, 16>, match.name = "in1", match.role = "w", mem_bank = 3 : i32, sym_name = "b_1_2_in1_1"} : memref<96xi32>
    %b_1_3_turns_0 = aie.buffer(%tile_1_3) {address = 4064 : i32, match.scratch = 32 : i32, mem_bank = 0 : i32, sym_name = "b_1_3_turns_0"} : memref<8xi32>
    %b_1_3_sums_0 = aie.buffer(%tile_1_3) {address = 4096 : i32, match.at = 15 : i32, match.banks = [3], match.bytes = 512 : i32, match.copy = 0 : i32, match.fills = 0 : i32, match.name = "sums", match.role = "kept", mem_bank = 0 : i32, sym_name = "b_1_3_sums_0"} : memref<128xi32>
    %b_1_3_out_0 = aie.buffer(%tile_1_3) {address = 4608 : i32, match.at = 16 : i32, match.banks = [3], match.bytes = 128 : i32, match.copy = 0 : i32, match.fills_each = array<i32: 8, 4, 8>, match.name = "out", match.role = "out", mem_bank = 0 : i32, sym_name = "b_1_3_out_0"} : memref<32xi32>
    %b_1_3_in0_0 = aie.buffer(%tile_1_3) {address = 16384 : i32, match.at = 13 : i32, match.banks = [0], match.bytes = 128 : i32, match.copy = 0 : i32, match.fills_each = array<i32: 16, 32, 16>, match.name = "in0", match.role = "a", mem_bank = 1 : i32, sym_name = "b_1_3_in0_0"} : memref<32xi32>
    %b_1_3_in0_1 = aie.buffer(%tile_1_3) {address = 16512 : i32, match.at = 13 : i32, match.banks = [0], match.bytes = 128 : i32, match.copy = 1 : i32, match.fills_each = array<i32: 16, 32, 16>, match.name = "in0", match.role = "a", mem_bank = 1 : i32, sym_name = "b_1_3_in0_1"} : memref<32xi32>
    %b_1_3_in1_0 = aie.buffer(%tile_1_3) {address = 32768 : i32, match.at = 14 : i32, match.banks = [1, 2], match.bytes = 384 : i32, match.copy = 0 : i32, match.fills_each = array<i32: 16, 32, 16>, match.name = "in1", match.role = "w", mem_bank = 2 : i32, sym_name = "b_1_3_in1_0"} : memref<96xi32>
    %b_1_3_in1_1 = aie.buffer(%tile_1_3) {address = 49152 : i32, match.at = 14 : i32, match.banks = [1, 2], match.bytes = 384 : i32, match.copy = 1 : i32, match.fills_each = array<i32: 16, 32, 16>, match.name = "in1", match.role = "w", mem_bank = 3 : i32, sym_name = "b_1_3_in1_1"} : memref<96xi32>
    %b_1_4_turns_0 = aie.buffer(%tile_1_4) {address = 4064 : i32, match.scratch = 32 : i32, mem_bank = 0 : i32, sym_name = "b_1_4_turns_0"} : memref<8xi32>
    %b_1_4_sums_0 = aie.buffer(%tile_1_4) {address = 4096 : i32, match.at = 24 : i32, match.banks = [3], match.bytes = 512 : i32, match.copy = 0 : i32, match.fills = 0 : i32, match.name = "sums", match.role = "kept", mem_bank = 0 : i32, sym_name = "b_1_4_sums_0"} : memref<128xi32>
    %b_1_4_out_0 = aie.buffer(%tile_1_4) {address = 4608 : i32, match.at = 25 : i32, match.banks = [3], match.bytes = 128 : i32, match.copy = 0 : i32, match.fills_each = array<i32: 8, 4, 8>, match.name = "out", match.role = "out", mem_bank = 0 : i32, sym_name = "b_1_4_out_0"} : memref<32xi32>
    %b_1_4_in0_0 = aie.buffer(%tile_1_4) {address = 16384 : i32, match.at = 22 : i32, match.banks = [0], match.bytes = 128 : i32, match.copy = 0 : i32, match.fills_each = array<i32: 16, 32, 16>, match.name = "in0", match.role = "a", mem_bank = 1 : i32, sym_name = "b_1_4_in0_0"} : memref<32xi32>
    %b_1_4_in0_1 = aie.buffer(%tile_1_4) {address = 16512 : i32, match.at = 22 : i32, match.banks = [0], match.bytes = 128 : i32, match.copy = 1 : i32, match.fills_each = array<i32: 16, 32, 16>, match.name = "in0", match.role = "a", mem_bank = 1 : i32, sym_name = "b_1_4_in0_1"} : memref<32xi32>
    %b_1_4_in1_0 = aie.buffer(%tile_1_4) {address = 32768 : i32, match.at = 23 : i32, match.banks = [1, 2], match.bytes = 384 : i32, match.copy = 0 : i32, match.fills_each = array<i32: 16, 32, 16>, match.name = "in1", match.role = "w", mem_bank = 2 : i32, sym_name = "b_1_4_in1_0"} : memref<96xi32>
    %b_1_4_in1_1 = aie.buffer(%tile_1_4) {address = 49152 : i32, match.at = 23 : i32, match.banks = [1, 2], match.bytes = 384 : i32, match.copy = 1 : i32, match.fills_each = array<i32: 16, 32, 16>, match.name = "in1", match.role = "w", mem_bank = 3 : i32, sym_name = "b_1_4_in1_1"} : memref<96xi32>
    %b_1_5_turns_0 = aie.buffer(%tile_1_5) {address = 4064 : i32, match.scratch = 32 : i32, mem_bank = 0 : i32, sym_name = "b_1_5_turns_0"} : memref<8xi32>
    %b_1_5_sums_0 = aie.buffer(%tile_1_5) {address = 4096 : i32, match.at = 33 : i32, match.banks = [3], match.bytes = 512 : i32, match.copy = 0 : i32, match.fills = 0 : i32, match.name = "sums", match.role = "kept", mem_bank = 0 : i32, sym_name = "b_1_5_sums_0"} : memref<128xi32>
    %b_1_5_out_0 = aie.buffer(%tile_1_5) {address = 4608 : i32, match.at = 34 : i32, match.banks = [3], match.bytes = 128 : i32, match.copy = 0 : i32, match.fills_each = array<i32: 8, 4, 8>, match.name = "out", match.role = "out", mem_bank = 0 : i32, sym_name = "b_1_5_out_0"} : memref<32xi32>
    %b_1_5_in0_0 = aie.buffer(%tile_1_5) {address = 16384 : i32, match.at = 31 : i32, match.banks = [0], match.bytes = 128 : i32, match.copy = 0 : i32, match.fills_each = array<i32: 16, 32, 16>, match.name = "in0", match.role = "a", mem_bank = 1 : i32, sym_name = "b_1_5_in0_0"} : memref<32xi32>
    %b_1_5_in0_1 = aie.buffer(%tile_1_5) {address = 16512 : i32, match.at = 31 : i32, match.banks = [0], match.bytes = 128 : i32, match.copy = 1 : i32, match.fills_each = array<i32: 16, 32, 16>, match.name = "in0", match.role = "a", mem_bank = 1 : i32, sym_name = "b_1_5_in0_1"} : memref<32xi32>
    %b_1_5_in1_0 = aie.buffer(%tile_1_5) {address = 32768 : i32, match.at = 32 : i32, match.banks = [1, 2], match.bytes = 384 : i32, match.copy = 0 : i32, match.fills_each = array<i32: 16, 32, 16>, match.name = "in1", match.role = "w", mem_bank = 2 : i32, sym_name = "b_1_5_in1_0"} : memref<96xi32>
    %b_1_5_in1_1 = aie.buffer(%tile_1_5) {address = 49152 : i32, match.at = 32 : i32, match.banks = [1, 2], match.bytes = 384 : i32, match.copy = 1 : i32, match.fills_each = array<i32: 16, 32, 16>, match.name = "in1", match.role = "w", mem_bank = 3 : i32, sym_name = "b_1_5_in1_1"} : memref<96xi32>
    %b_3_1_beside_q0_0_0 = aie.buffer(%tile_3_1) {address = 0 : i32, match.at = 66 : i32, match.banks = [], match.bytes = 768 : i32, match.copy = 0 : i32, match.fills = 1 : i32, match.name = "beside_q0_0", match.role = "a", sym_name = "b_3_1_beside_q0_0_0"} : memref<192xi32>
    %b_3_1_beside_q0_0_1 = aie.buffer(%tile_3_1) {address = 768 : i32, match.at = 66 : i32, match.banks = [], match.bytes = 768 : i32, match.copy = 1 : i32, match.fills = 1 : i32, match.name = "beside_q0_0", match.role = "a", sym_name = "b_3_1_beside_q0_0_1"} : memref<192xi32>
    %b_3_1_beside_kv0_0_0 = aie.buffer(%tile_3_1) {address = 1536 : i32, match.at = 67 : i32, match.banks = [], match.bytes = 10240 : i32, match.copy = 0 : i32, match.fills = 1 : i32, match.name = "beside_kv0_0", match.role = "a", sym_name = "b_3_1_beside_kv0_0_0"} : memref<2560xi32>
    %b_3_1_beside_kv0_0_1 = aie.buffer(%tile_3_1) {address = 11776 : i32, match.at = 67 : i32, match.banks = [], match.bytes = 10240 : i32, match.copy = 1 : i32, match.fills = 1 : i32, match.name = "beside_kv0_0", match.role = "a", sym_name = "b_3_1_beside_kv0_0_1"} : memref<2560xi32>
    %b_3_1_beside_y0_0_0 = aie.buffer(%tile_3_1) {address = 22016 : i32, match.at = 68 : i32, match.banks = [], match.bytes = 768 : i32, match.copy = 0 : i32, match.fills = 1 : i32, match.name = "beside_y0_0", match.role = "a", sym_name = "b_3_1_beside_y0_0_0"} : memref<192xi32>
    %b_3_1_beside_y0_0_1 = aie.buffer(%tile_3_1) {address = 22784 : i32, match.at = 68 : i32, match.banks = [], match.bytes = 768 : i32, match.copy = 1 : i32, match.fills = 1 : i32, match.name = "beside_y0_0", match.role = "a", sym_name = "b_3_1_beside_y0_0_1"} : memref<192xi32>
    %b_3_2_scratch_0 = aie.buffer(%tile_3_2) {address = 1024 : i32, match.scratch = 6464 : i32, mem_bank = 0 : i32, sym_name = "b_3_2_scratch_0"} : memref<1616xi32>
    %b_3_2_bias0_0 = aie.buffer(%tile_3_2) {address = 7488 : i32, match.at = 40 : i32, match.banks = [3], match.bytes = 320 : i32, match.copy = 0 : i32, match.dtype = "int32", match.fills = 0 : i32, match.name = "bias0", match.role = "bias", mem_bank = 0 : i32, sym_name = "b_3_2_bias0_0"} : memref<80xi32> = dense<"0x0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000">
    %b_3_2_in0_0 = aie.buffer(%tile_3_2) {address = 16384 : i32, match.at = 36 : i32, match.banks = [0], match.bytes = 256 : i32, match.copy = 0 : i32, match.fills = 1 : i32, match.name = "in0", match.role = "a", mem_bank = 1 : i32, sym_name = "b_3_2_in0_0"} : memref<64xi32>
    %b_3_2_in0_1 = aie.buffer(%tile_3_2) {address = 16640 : i32, match.at = 36 : i32, match.banks = [0], match.bytes = 256 : i32, match.copy = 1 : i32, match.fills = 1 : i32, match.name = "in0", match.role = "a", mem_bank = 1 : i32, sym_name = "b_3_2_in0_1"} : memref<64xi32>
    %b_3_2_bias1_0 = aie.buffer(%tile_3_2) {address = 16896 : i32, match.at = 41 : i32, match.banks = [0], match.bytes = 256 : i32, match.copy = 0 : i32, match.dtype = "int32", match.fills = 0 : i32, match.name = "bias1", match.role = "bias", mem_bank = 1 : i32, sym_name = "b_3_2_bias1_0"} : memref<64xi32> = dense<"0x00000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000">
    %b_3_2_out_0 = aie.buffer(%tile_3_2) {address = 17152 : i32, match.at = 42 : i32, match.banks = [0], match.bytes = 256 : i32, match.copy = 0 : i32, match.fills = 1 : i32, match.name = "out", match.role = "out", mem_bank = 1 : i32, sym_name = "b_3_2_out_0"} : memref<64xi32>
    %b_3_2_out_1 = aie.buffer(%tile_3_2) {address = 17408 : i32, match.at = 42 : i32, match.banks = [0], match.bytes = 256 : i32, match.copy = 1 : i32, match.fills = 1 : i32, match.name = "out", match.role = "out", mem_bank = 1 : i32, sym_name = "b_3_2_out_1"} : memref<64xi32>
    %b_3_2_in1_0 = aie.buffer(%tile_3_2) {address = 32768 : i32, match.at = 37 : i32, match.banks = [1, 2], match.bytes = 5120 : i32, match.copy = 0 : i32, match.fills = 2 : i32, match.name = "in1", match.role = "w", mem_bank = 2 : i32, sym_name = "b_3_2_in1_0"} : memref<1280xi32>
    %b_3_2_w_0 = aie.buffer(%tile_3_2) {address = 37888 : i32, match.at = 38 : i32, match.banks = [1], match.bytes = 2048 : i32, match.copy = 0 : i32, match.dtype = "int32", match.fills = 0 : i32, match.name = "w", match.role = "w", mem_bank = 2 : i32, sym_name = "b_3_2_w_0"} : memref<512xi32> = dense<"0x00008000BEAF6300CCA24D0082763C0000008000BEAF6300CCA24D0082763C00AC162F0030AC2400878F1C00393E1600AC162F0030AC2400878F1C00393E1600AB521100B97D0D00C3810A00CA2E0800AB521100B97D0D00C3810A00CA2E08006C5F06008EF6040082DD0300A10203006C5F06008EF6040082DD0300A10203002B58020069D30100056C0100801B01002B58020069D30100056C0100801B0100CADC0000F3AB0000EA8500004B680000CADC0000F3AB0000EA8500004B68000039510000423F0000443100005E26000039510000423F0000443100005E260000E11D000045170000201200001D0E0000E11D000045170000201200001D0E0000FE0A000090080000AB06000031050000FE0A000090080000AB060000310500000B0400002603000074020000E90100000B0400002603000074020000E90100007D01000029010000E7000000B40000007D01000029010000E7000000B40000008C0000006D00000055000000420000008C0000006D000000550000004200000034000000280000001F0000001800000034000000280000001F00000018000000130000000F0000000C00000009000000130000000F0000000C0000000900000007000000050000000400000003000000070000000500000004000000030000000300000002000000020000000100000003000000020000000200000001000000010000000100000001000000000000000100000001000000010000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000">
    %b_3_2_in1_1 = aie.buffer(%tile_3_2) {address = 49152 : i32, match.at = 37 : i32, match.banks = [1, 2], match.bytes = 5120 : i32, match.copy = 1 : i32, match.fills = 2 : i32, match.name = "in1", match.role = "w", mem_bank = 3 : i32, sym_name = "b_3_2_in1_1"} : memref<1280xi32>
    %b_3_2_cd_0 = aie.buffer(%tile_3_2) {address = 54272 : i32, match.at = 39 : i32, match.banks = [2], match.bytes = 2048 : i32, match.copy = 0 : i32, match.dtype = "int32", match.fills = 0 : i32, match.name = "cd", match.role = "bias", mem_bank = 3 : i32, sym_name = "b_3_2_cd_0"} : memref<512xi32> = dense<"0x00008000BEAF6300CCA24D0082763C0000008000BEAF6300CCA24D0082763C00AC162F0030AC2400878F1C00393E1600AC162F0030AC2400878F1C00393E1600AB521100B97D0D00C3810A00CA2E0800AB521100B97D0D00C3810A00CA2E08006C5F06008EF6040082DD0300A10203006C5F06008EF6040082DD0300A10203002B58020069D30100056C0100801B01002B58020069D30100056C0100801B0100CADC0000F3AB0000EA8500004B680000CADC0000F3AB0000EA8500004B68000039510000423F0000443100005E26000039510000423F0000443100005E260000E11D000045170000201200001D0E0000E11D000045170000201200001D0E0000FE0A000090080000AB06000031050000FE0A000090080000AB060000310500000B0400002603000074020000E90100000B0400002603000074020000E90100007D01000029010000E7000000B40000007D01000029010000E7000000B40000008C0000006D00000055000000420000008C0000006D000000550000004200000034000000280000001F0000001800000034000000280000001F00000018000000130000000F0000000C00000009000000130000000F0000000C0000000900000007000000050000000400000003000000070000000500000004000000030000000300000002000000020000000100000003000000020000000200000001000000010000000100000001000000000000000100000001000000010000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000">
    %b_3_3_scratch_0 = aie.buffer(%tile_3_3) {address = 1024 : i32, match.scratch = 6464 : i32, mem_bank = 0 : i32, sym_name = "b_3_3_scratch_0"} : memref<1616xi32>
    %b_3_3_bias0_0 = aie.buffer(%tile_3_3) {address = 7488 : i32, match.at = 48 : i32, match.banks = [3], match.bytes = 320 : i32, match.copy = 0 : i32, match.dtype = "int32", match.fills = 0 : i32, match.name = "bias0", match.role = "bias", mem_bank = 0 : i32, sym_name = "b_3_3_bias0_0"} : memref<80xi32> = dense<"0x0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000">
    %b_3_3_in0_0 = aie.buffer(%tile_3_3) {address = 16384 : i32, match.at = 44 : i32, match.banks = [0], match.bytes = 256 : i32, match.copy = 0 : i32, match.fills = 1 : i32, match.name = "in0", match.role = "a", mem_bank = 1 : i32, sym_name = "b_3_3_in0_0"} : memref<64xi32>
    %b_3_3_in0_1 = aie.buffer(%tile_3_3) {address = 16640 : i32, match.at = 44 : i32, match.banks = [0], match.bytes = 256 : i32, match.copy = 1 : i32, match.fills = 1 : i32, match.name = "in0", match.role = "a", mem_bank = 1 : i32, sym_name = "b_3_3_in0_1"} : memref<64xi32>
    %b_3_3_bias1_0 = aie.buffer(%tile_3_3) {address = 16896 : i32, match.at = 49 : i32, match.banks = [0], match.bytes = 256 : i32, match.copy = 0 : i32, match.dtype = "int32", match.fills = 0 : i32, match.name = "bias1", match.role = "bias", mem_bank = 1 : i32, sym_name = "b_3_3_bias1_0"} : memref<64xi32> = dense<"0x00000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000">
    %b_3_3_out_0 = aie.buffer(%tile_3_3) {address = 17152 : i32, match.at = 50 : i32, match.banks = [0], match.bytes = 256 : i32, match.copy = 0 : i32, match.fills = 1 : i32, match.name = "out", match.role = "out", mem_bank = 1 : i32, sym_name = "b_3_3_out_0"} : memref<64xi32>
    %b_3_3_out_1 = aie.buffer(%tile_3_3) {address = 17408 : i32, match.at = 50 : i32, match.banks = [0], match.bytes = 256 : i32, match.copy = 1 : i32, match.fills = 1 : i32, match.name = "out", match.role = "out", mem_bank = 1 : i32, sym_name = "b_3_3_out_1"} : memref<64xi32>
    %b_3_3_in1_0 = aie.buffer(%tile_3_3) {address = 32768 : i32, match.at = 45 : i32, match.banks = [1, 2], match.bytes = 5120 : i32, match.copy = 0 : i32, match.fills = 2 : i32, match.name = "in1", match.role = "w", mem_bank = 2 : i32, sym_name = "b_3_3_in1_0"} : memref<1280xi32>
    %b_3_3_w_0 = aie.buffer(%tile_3_3) {address = 37888 : i32, match.at = 46 : i32, match.banks = [1], match.bytes = 2048 : i32, match.copy = 0 : i32, match.dtype = "int32", match.fills = 0 : i32, match.name = "w", match.role = "w", mem_bank = 2 : i32, sym_name = "b_3_3_w_0"} : memref<512xi32> = dense<"0x00008000BEAF6300CCA24D0082763C0000008000BEAF6300CCA24D0082763C00AC162F0030AC2400878F1C00393E1600AC162F0030AC2400878F1C00393E1600AB521100B97D0D00C3810A00CA2E0800AB521100B97D0D00C3810A00CA2E08006C5F06008EF6040082DD0300A10203006C5F06008EF6040082DD0300A10203002B58020069D30100056C0100801B01002B58020069D30100056C0100801B0100CADC0000F3AB0000EA8500004B680000CADC0000F3AB0000EA8500004B68000039510000423F0000443100005E26000039510000423F0000443100005E260000E11D000045170000201200001D0E0000E11D000045170000201200001D0E0000FE0A000090080000AB06000031050000FE0A000090080000AB060000310500000B0400002603000074020000E90100000B0400002603000074020000E90100007D01000029010000E7000000B40000007D01000029010000E7000000B40000008C0000006D00000055000000420000008C0000006D000000550000004200000034000000280000001F0000001800000034000000280000001F00000018000000130000000F0000000C00000009000000130000000F0000000C0000000900000007000000050000000400000003000000070000000500000004000000030000000300000002000000020000000100000003000000020000000200000001000000010000000100000001000000000000000100000001000000010000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000">
    %b_3_3_in1_1 = aie.buffer(%tile_3_3) {address = 49152 : i32, match.at = 45 : i32, match.banks = [1, 2], match.bytes = 5120 : i32, match.copy = 1 : i32, match.fills = 2 : i32, match.name = "in1", match.role = "w", mem_bank = 3 : i32, sym_name = "b_3_3_in1_1"} : memref<1280xi32>
    %b_3_3_cd_0 = aie.buffer(%tile_3_3) {address = 54272 : i32, match.at = 47 : i32, match.banks = [2], match.bytes = 2048 : i32, match.copy = 0 : i32, match.dtype = "int32", match.fills = 0 : i32, match.name = "cd", match.role = "bias", mem_bank = 3 : i32, sym_name = "b_3_3_cd_0"} : memref<512xi32> = dense<"0x00008000BEAF6300CCA24D0082763C0000008000BEAF6300CCA24D0082763C00AC162F0030AC2400878F1C00393E1600AC162F0030AC2400878F1C00393E1600AB521100B97D0D00C3810A00CA2E0800AB521100B97D0D00C3810A00CA2E08006C5F06008EF6040082DD0300A10203006C5F06008EF6040082DD0300A10203002B58020069D30100056C0100801B01002B58020069D30100056C0100801B0100CADC0000F3AB0000EA8500004B680000CADC0000F3AB0000EA8500004B68000039510000423F0000443100005E26000039510000423F0000443100005E260000E11D000045170000201200001D0E0000E11D000045170000201200001D0E0000FE0A000090080000AB06000031050000FE0A000090080000AB060000310500000B0400002603000074020000E90100000B0400002603000074020000E90100007D01000029010000E7000000B40000007D01000029010000E7000000B40000008C0000006D00000055000000420000008C0000006D000000550000004200000034000000280000001F0000001800000034000000280000001F00000018000000130000000F0000000C00000009000000130000000F0000000C0000000900000007000000050000000400000003000000070000000500000004000000030000000300000002000000020000000100000003000000020000000200000001000000010000000100000001000000000000000100000001000000010000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000">
    %b_3_4_scratch_0 = aie.buffer(%tile_3_4) {address = 1024 : i32, match.scratch = 6464 : i32, mem_bank = 0 : i32, sym_name = "b_3_4_scratch_0"} : memref<1616xi32>
    %b_3_4_bias0_0 = aie.buffer(%tile_3_4) {address = 7488 : i32, match.at = 56 : i32, match.banks = [3], match.bytes = 320 : i32, match.copy = 0 : i32, match.dtype = "int32", match.fills = 0 : i32, match.name = "bias0", match.role = "bias", mem_bank = 0 : i32, sym_name = "b_3_4_bias0_0"} : memref<80xi32> = dense<"0x0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000">
    %b_3_4_in0_0 = aie.buffer(%tile_3_4) {address = 16384 : i32, match.at = 52 : i32, match.banks = [0], match.bytes = 256 : i32, match.copy = 0 : i32, match.fills = 1 : i32, match.name = "in0", match.role = "a", mem_bank = 1 : i32, sym_name = "b_3_4_in0_0"} : memref<64xi32>
    %b_3_4_in0_1 = aie.buffer(%tile_3_4) {address = 16640 : i32, match.at = 52 : i32, match.banks = [0], match.bytes = 256 : i32, match.copy = 1 : i32, match.fills = 1 : i32, match.name = "in0", match.role = "a", mem_bank = 1 : i32, sym_name = "b_3_4_in0_1"} : memref<64xi32>
    %b_3_4_bias1_0 = aie.buffer(%tile_3_4) {address = 16896 : i32, match.at = 57 : i32, match.banks = [0], match.bytes = 256 : i32, match.copy = 0 : i32, match.dtype = "int32", match.fills = 0 : i32, match.name = "bias1", match.role = "bias", mem_bank = 1 : i32, sym_name = "b_3_4_bias1_0"} : memref<64xi32> = dense<"0x00000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000">
    %b_3_4_out_0 = aie.buffer(%tile_3_4) {address = 17152 : i32, match.at = 58 : i32, match.banks = [0], match.bytes = 256 : i32, match.copy = 0 : i32, match.fills = 1 : i32, match.name = "out", match.role = "out", mem_bank = 1 : i32, sym_name = "b_3_4_out_0"} : memref<64xi32>
    %b_3_4_out_1 = aie.buffer(%tile_3_4) {address = 17408 : i32, match.at = 58 : i32, match.banks = [0], match.bytes = 256 : i32, match.copy = 1 : i32, match.fills = 1 : i32, match.name = "out", match.role = "out", mem_bank = 1 : i32, sym_name = "b_3_4_out_1"} : memref<64xi32>
    %b_3_4_in1_0 = aie.buffer(%tile_3_4) {address = 32768 : i32, match.at = 53 : i32, match.banks = [1, 2], match.bytes = 5120 : i32, match.copy = 0 : i32, match.fills = 2 : i32, match.name = "in1", match.role = "w", mem_bank = 2 : i32, sym_name = "b_3_4_in1_0"} : memref<1280xi32>
    %b_3_4_w_0 = aie.buffer(%tile_3_4) {address = 37888 : i32, match.at = 54 : i32, match.banks = [1], match.bytes = 2048 : i32, match.copy = 0 : i32, match.dtype = "int32", match.fills = 0 : i32, match.name = "w", match.role = "w", mem_bank = 2 : i32, sym_name = "b_3_4_w_0"} : memref<512xi32> = dense<"0x00008000BEAF6300CCA24D0082763C0000008000BEAF6300CCA24D0082763C00AC162F0030AC2400878F1C00393E1600AC162F0030AC2400878F1C00393E1600AB521100B97D0D00C3810A00CA2E0800AB521100B97D0D00C3810A00CA2E08006C5F06008EF6040082DD0300A10203006C5F06008EF6040082DD0300A10203002B58020069D30100056C0100801B01002B58020069D30100056C0100801B0100CADC0000F3AB0000EA8500004B680000CADC0000F3AB0000EA8500004B68000039510000423F0000443100005E26000039510000423F0000443100005E260000E11D000045170000201200001D0E0000E11D000045170000201200001D0E0000FE0A000090080000AB06000031050000FE0A000090080000AB060000310500000B0400002603000074020000E90100000B0400002603000074020000E90100007D01000029010000E7000000B40000007D01000029010000E7000000B40000008C0000006D00000055000000420000008C0000006D000000550000004200000034000000280000001F0000001800000034000000280000001F00000018000000130000000F0000000C00000009000000130000000F0000000C0000000900000007000000050000000400000003000000070000000500000004000000030000000300000002000000020000000100000003000000020000000200000001000000010000000100000001000000000000000100000001000000010000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000">
    %b_3_4_in1_1 = aie.buffer(%tile_3_4) {address = 49152 : i32, match.at = 53 : i32, match.banks = [1, 2], match.bytes = 5120 : i32, match.copy = 1 : i32, match.fills = 2 : i32, match.name = "in1", match.role = "w", mem_bank = 3 : i32, sym_name = "b_3_4_in1_1"} : memref<1280xi32>
    %b_3_4_cd_0 = aie.buffer(%tile_3_4) {address = 54272 : i32, match.at = 55 : i32, match.banks = [2], match.bytes = 2048 : i32, match.copy = 0 : i32, match.dtype = "int32", match.fills = 0 : i32, match.name = "cd", match.role = "bias", mem_bank = 3 : i32, sym_name = "b_3_4_cd_0"} : memref<512xi32> = dense<"0x00008000BEAF6300CCA24D0082763C0000008000BEAF6300CCA24D0082763C00AC162F0030AC2400878F1C00393E1600AC162F0030AC2400878F1C00393E1600AB521100B97D0D00C3810A00CA2E0800AB521100B97D0D00C3810A00CA2E08006C5F06008EF6040082DD0300A10203006C5F06008EF6040082DD0300A10203002B58020069D30100056C0100801B01002B58020069D30100056C0100801B0100CADC0000F3AB0000EA8500004B680000CADC0000F3AB0000EA8500004B68000039510000423F0000443100005E26000039510000423F0000443100005E260000E11D000045170000201200001D0E0000E11D000045170000201200001D0E0000FE0A000090080000AB06000031050000FE0A000090080000AB060000310500000B0400002603000074020000E90100000B0400002603000074020000E90100007D01000029010000E7000000B40000007D01000029010000E7000000B40000008C0000006D00000055000000420000008C0000006D000000550000004200000034000000280000001F0000001800000034000000280000001F00000018000000130000000F0000000C00000009000000130000000F0000000C0000000900000007000000050000000400000003000000070000000500000004000000030000000300000002000000020000000100000003000000020000000200000001000000010000000100000001000000000000000100000001000000010000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000">
    aie.flow(%tile_0_0, DMA : 0, %tile_0_1, DMA : 0) {match.bytes = 2048 : i64, match.name = "0 dense_x_way0 to dense_x0_0", match.role = "a", match.sends_each = array<i64: 1, 2, 1>}
    aie.flow(%tile_0_1, DMA : 1, %tile_0_2, DMA : 0) {match.bytes = 128 : i64, match.name = "1 dense_x0_0 to in0 in0", match.role = "a", match.sends_each = array<i64: 16, 32, 16>}
    aie.flow(%tile_0_1, DMA : 1, %tile_0_3, DMA : 0)
    aie.flow(%tile_0_1, DMA : 0, %tile_0_4, DMA : 0) {match.bytes = 128 : i64, match.name = "2 dense_x0_0 to in0 in0", match.role = "a", match.sends_each = array<i64: 16, 32, 16>}
    aie.flow(%tile_0_1, DMA : 0, %tile_0_5, DMA : 0)
    aie.flow(%tile_0_0, DMA : 1, %tile_0_1, DMA : 1) {match.bytes = 1280 : i64, match.name = "3 dense_w_way0 to dense_w0_0_0", match.role = "a", match.sends_each = array<i64: 8, 16, 8>}
    aie.flow(%tile_0_1, DMA : 2, %tile_0_2, DMA : 1) {match.bytes = 320 : i64, match.name = "4 dense_w0_0_0 to in1 in1", match.role = "a", match.sends_each = array<i64: 16, 32, 16>}
    aie.flow(%tile_0_1, DMA : 2, %tile_0_4, DMA : 1)
    aie.flow(%tile_0_1, DMA : 3, %tile_0_3, DMA : 1) {match.bytes = 320 : i64, match.name = "5 dense_w0_0_0 to in1 in1", match.role = "a", match.sends_each = array<i64: 16, 32, 16>}
    aie.flow(%tile_0_1, DMA : 3, %tile_0_5, DMA : 1)
    aie.flow(%tile_1_0, DMA : 0, %tile_1_1, DMA : 0) {match.bytes = 2048 : i64, match.name = "6 dense_x_way1 to dense_x0_1", match.role = "a", match.sends_each = array<i64: 1, 2, 1>}
    aie.flow(%tile_1_1, DMA : 1, %tile_1_2, DMA : 0) {match.bytes = 128 : i64, match.name = "7 dense_x0_1 to in0 in0", match.role = "a", match.sends_each = array<i64: 16, 32, 16>}
    aie.flow(%tile_1_1, DMA : 1, %tile_1_3, DMA : 0)
    aie.flow(%tile_1_1, DMA : 0, %tile_1_4, DMA : 0) {match.bytes = 128 : i64, match.name = "8 dense_x0_1 to in0 in0", match.role = "a", match.sends_each = array<i64: 16, 32, 16>}
    aie.flow(%tile_1_1, DMA : 0, %tile_1_5, DMA : 0)
    aie.flow(%tile_1_0, DMA : 1, %tile_1_1, DMA : 1) {match.bytes = 1536 : i64, match.name = "9 dense_w_way1 to dense_w0_1_0", match.role = "a", match.sends_each = array<i64: 8, 16, 8>}
    aie.flow(%tile_1_1, DMA : 2, %tile_1_2, DMA : 1) {match.bytes = 384 : i64, match.name = "10 dense_w0_1_0 to in1 in1", match.role = "a", match.sends_each = array<i64: 16, 32, 16>}
    aie.flow(%tile_1_1, DMA : 2, %tile_1_4, DMA : 1)
    aie.flow(%tile_1_1, DMA : 3, %tile_1_3, DMA : 1) {match.bytes = 384 : i64, match.name = "11 dense_w0_1_0 to in1 in1", match.role = "a", match.sends_each = array<i64: 16, 32, 16>}
    aie.flow(%tile_1_1, DMA : 3, %tile_1_5, DMA : 1)
    aie.flow(%tile_1_2, DMA : 0, %tile_1_1, DMA : 2) {match.bytes = 128 : i64, match.name = "12 out to dense_y0_0", match.role = "out", match.sends_each = array<i64: 8, 4, 8>}
    aie.flow(%tile_1_3, DMA : 0, %tile_1_1, DMA : 3) {match.bytes = 128 : i64, match.name = "13 out to dense_y0_0", match.role = "out", match.sends_each = array<i64: 8, 4, 8>}
    aie.flow(%tile_1_1, DMA : 4, %tile_1_0, DMA : 0) {match.bytes = 256 : i64, match.name = "14 dense_y0_0 to dense_y_way0", match.role = "a", match.sends_each = array<i64: 8, 4, 8>}
    aie.flow(%tile_1_4, DMA : 0, %tile_1_1, DMA : 5) {match.bytes = 128 : i64, match.name = "15 out to dense_y0_1", match.role = "out", match.sends_each = array<i64: 8, 4, 8>}
    aie.flow(%tile_1_5, DMA : 0, %tile_1_1, DMA : 4) {match.bytes = 128 : i64, match.name = "16 out to dense_y0_1", match.role = "out", match.sends_each = array<i64: 8, 4, 8>}
    aie.flow(%tile_1_1, DMA : 5, %tile_1_0, DMA : 1) {match.bytes = 256 : i64, match.name = "17 dense_y0_1 to dense_y_way1", match.role = "a", match.sends_each = array<i64: 8, 4, 8>}
    aie.flow(%tile_3_0, DMA : 0, %tile_3_1, DMA : 0) {match.bytes = 768 : i64, match.name = "18 beside_x_0 to beside_q0_0", match.role = "a", match.sends = 1 : i64}
    aie.flow(%tile_3_1, DMA : 1, %tile_3_2, DMA : 0) {match.bytes = 256 : i64, match.name = "19 beside_q0_0 to in0", match.role = "a", match.sends = 1 : i64}
    aie.flow(%tile_3_1, DMA : 0, %tile_3_3, DMA : 0) {match.bytes = 256 : i64, match.name = "20 beside_q0_0 to in0", match.role = "a", match.sends = 1 : i64}
    aie.flow(%tile_3_1, DMA : 3, %tile_3_4, DMA : 0) {match.bytes = 256 : i64, match.name = "21 beside_q0_0 to in0", match.role = "a", match.sends = 1 : i64}
    aie.flow(%tile_3_0, DMA : 1, %tile_3_1, DMA : 1) {match.bytes = 5120 : i64, match.name = "22 beside_x1_0 to beside_kv0_0", match.role = "a", match.sends = 1 : i64}
    aie.flow(%tile_2_0, DMA : 0, %tile_3_1, DMA : 2) {match.bytes = 5120 : i64, match.name = "23 beside_x2_0 to beside_kv0_0", match.role = "a", match.sends = 1 : i64}
    aie.flow(%tile_3_1, DMA : 2, %tile_3_2, DMA : 1) {match.bytes = 5120 : i64, match.name = "24 beside_kv0_0 to in1 in1", match.role = "a", match.sends = 2 : i64}
    aie.flow(%tile_3_1, DMA : 2, %tile_3_3, DMA : 1)
    aie.flow(%tile_3_1, DMA : 2, %tile_3_4, DMA : 1)
    aie.flow(%tile_3_2, DMA : 0, %tile_3_1, DMA : 3) {match.bytes = 256 : i64, match.name = "25 out to beside_y0_0", match.role = "out", match.sends = 1 : i64}
    aie.flow(%tile_3_3, DMA : 0, %tile_3_1, DMA : 4) {match.bytes = 256 : i64, match.name = "26 out to beside_y0_0", match.role = "out", match.sends = 1 : i64}
    aie.flow(%tile_3_4, DMA : 0, %tile_3_1, DMA : 5) {match.bytes = 256 : i64, match.name = "27 out to beside_y0_0", match.role = "out", match.sends = 1 : i64}
    aie.flow(%tile_3_1, DMA : 4, %tile_3_0, DMA : 0) {match.bytes = 768 : i64, match.name = "28 beside_y0_0 to beside_y_0", match.role = "a", match.sends = 1 : i64}
    aie.cascade_flow(%tile_0_2, %tile_1_2)
    aie.cascade_flow(%tile_0_3, %tile_1_3)
    aie.cascade_flow(%tile_0_4, %tile_1_4)
    aie.cascade_flow(%tile_0_5, %tile_1_5)
    %memtile_dma_0_1 = aie.memtile_dma(%tile_0_1) {
      %0 = aie.dma_start(S2MM, 0, ^bd0, ^dma1)
    ^bd0:
      aie.use_lock(%l_0_1_dense_x0_0_empty_0, AcquireGreaterEqual, 2)
      aie.dma_bd(%b_0_1_dense_x0_0_0 : memref<512xi32>, 0, 512) {bd_id = 0 : i32, match.at = 0 : i32}
      aie.use_lock(%l_0_1_dense_x0_0_full, Release, 1)
      aie.next_bd ^bd1
    ^bd1:
      aie.use_lock(%l_0_1_dense_x0_0_empty_1, AcquireGreaterEqual, 2)
      aie.dma_bd(%b_0_1_dense_x0_0_1 : memref<512xi32>, 0, 512) {bd_id = 1 : i32, match.at = 1 : i32}
      aie.use_lock(%l_0_1_dense_x0_0_full, Release, 1)
      aie.next_bd ^bd0
    ^dma1:
      %1 = aie.dma_start(MM2S, 1, ^bd2, ^dma2)
    ^bd2:
      aie.use_lock(%l_0_1_dense_x0_0_full, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_0_1_dense_x0_0_0 : memref<512xi32>, 0, 256, [<size = 16, stride = 16>, <size = 2, stride = 2>, <size = 4, stride = 4>, <size = 2, stride = 1>]) {bd_id = 24 : i32, match.at = 2 : i32}
      aie.use_lock(%l_0_1_dense_x0_0_read_1, Release, 1)
      aie.next_bd ^bd3
    ^bd3:
      aie.dma_bd(%b_0_1_dense_x0_0_0 : memref<512xi32>, 0, 256, [<size = 16, stride = 16>, <size = 2, stride = 2>, <size = 4, stride = 4>, <size = 2, stride = 1>]) {bd_id = 25 : i32, match.at = 3 : i32}
      aie.use_lock(%l_0_1_dense_x0_0_empty_0, Release, 1)
      aie.next_bd ^bd4
    ^bd4:
      aie.use_lock(%l_0_1_dense_x0_0_full, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_0_1_dense_x0_0_1 : memref<512xi32>, 0, 256, [<size = 16, stride = 16>, <size = 2, stride = 2>, <size = 4, stride = 4>, <size = 2, stride = 1>]) {bd_id = 26 : i32, match.at = 4 : i32}
      aie.use_lock(%l_0_1_dense_x0_0_read_1, Release, 1)
      aie.next_bd ^bd5
    ^bd5:
      aie.dma_bd(%b_0_1_dense_x0_0_1 : memref<512xi32>, 0, 256, [<size = 16, stride = 16>, <size = 2, stride = 2>, <size = 4, stride = 4>, <size = 2, stride = 1>]) {bd_id = 27 : i32, match.at = 5 : i32}
      aie.use_lock(%l_0_1_dense_x0_0_empty_1, Release, 1)
      aie.next_bd ^bd2
    ^dma2:
      %2 = aie.dma_start(MM2S, 0, ^bd6, ^dma3)
    ^bd6:
      aie.use_lock(%l_0_1_dense_x0_0_read_1, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_0_1_dense_x0_0_0 : memref<512xi32>, 256, 256, [<size = 16, stride = 16>, <size = 2, stride = 2>, <size = 4, stride = 4>, <size = 2, stride = 1>]) {bd_id = 2 : i32, match.at = 10 : i32}
      aie.next_bd ^bd7
    ^bd7:
      aie.dma_bd(%b_0_1_dense_x0_0_0 : memref<512xi32>, 256, 256, [<size = 16, stride = 16>, <size = 2, stride = 2>, <size = 4, stride = 4>, <size = 2, stride = 1>]) {bd_id = 3 : i32, match.at = 11 : i32}
      aie.use_lock(%l_0_1_dense_x0_0_empty_0, Release, 1)
      aie.next_bd ^bd8
    ^bd8:
      aie.use_lock(%l_0_1_dense_x0_0_read_1, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_0_1_dense_x0_0_1 : memref<512xi32>, 256, 256, [<size = 16, stride = 16>, <size = 2, stride = 2>, <size = 4, stride = 4>, <size = 2, stride = 1>]) {bd_id = 4 : i32, match.at = 12 : i32}
      aie.next_bd ^bd9
    ^bd9:
      aie.dma_bd(%b_0_1_dense_x0_0_1 : memref<512xi32>, 256, 256, [<size = 16, stride = 16>, <size = 2, stride = 2>, <size = 4, stride = 4>, <size = 2, stride = 1>]) {bd_id = 5 : i32, match.at = 13 : i32}
      aie.use_lock(%l_0_1_dense_x0_0_empty_1, Release, 1)
      aie.next_bd ^bd6
    ^dma3:
      %3 = aie.dma_start(S2MM, 1, ^bd10, ^dma4)
    ^bd10:
      aie.use_lock(%l_0_1_dense_w0_0_0_empty_0, AcquireGreaterEqual, 2)
      aie.dma_bd(%b_0_1_dense_w0_0_0_0 : memref<320xi32>, 0, 320) {bd_id = 28 : i32, match.at = 18 : i32}
      aie.use_lock(%l_0_1_dense_w0_0_0_full, Release, 1)
      aie.next_bd ^bd11
    ^bd11:
      aie.use_lock(%l_0_1_dense_w0_0_0_empty_1, AcquireGreaterEqual, 2)
      aie.dma_bd(%b_0_1_dense_w0_0_0_1 : memref<320xi32>, 0, 320) {bd_id = 29 : i32, match.at = 19 : i32}
      aie.use_lock(%l_0_1_dense_w0_0_0_full, Release, 1)
      aie.next_bd ^bd10
    ^dma4:
      %4 = aie.dma_start(MM2S, 2, ^bd12, ^dma5)
    ^bd12:
      aie.use_lock(%l_0_1_dense_w0_0_0_full, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_0_1_dense_w0_0_0_0 : memref<320xi32>, 0, 16) {bd_id = 6 : i32, match.at = 20 : i32}
      aie.use_lock(%l_0_1_dense_w0_0_0_read_1, Release, 1)
      aie.next_bd ^bd13
    ^bd13:
      aie.dma_bd(%b_0_1_dense_w0_0_0_0 : memref<320xi32>, 16, 144) {bd_id = 8 : i32, match.rest = 20 : i32, match.split = 0 : i32}
      aie.use_lock(%l_0_1_dense_w0_0_0_empty_0, Release, 1)
      aie.next_bd ^bd14
    ^bd14:
      aie.use_lock(%l_0_1_dense_w0_0_0_full, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_0_1_dense_w0_0_0_1 : memref<320xi32>, 0, 16) {bd_id = 7 : i32, match.at = 21 : i32}
      aie.use_lock(%l_0_1_dense_w0_0_0_read_1, Release, 1)
      aie.next_bd ^bd15
    ^bd15:
      aie.dma_bd(%b_0_1_dense_w0_0_0_1 : memref<320xi32>, 16, 144) {bd_id = 9 : i32, match.rest = 21 : i32, match.split = 0 : i32}
      aie.use_lock(%l_0_1_dense_w0_0_0_empty_1, Release, 1)
      aie.next_bd ^bd12
    ^dma5:
      %5 = aie.dma_start(MM2S, 3, ^bd16, ^end)
    ^bd16:
      aie.use_lock(%l_0_1_dense_w0_0_0_read_1, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_0_1_dense_w0_0_0_0 : memref<320xi32>, 160, 160) {bd_id = 30 : i32, match.at = 26 : i32}
      aie.use_lock(%l_0_1_dense_w0_0_0_empty_0, Release, 1)
      aie.next_bd ^bd17
    ^bd17:
      aie.use_lock(%l_0_1_dense_w0_0_0_read_1, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_0_1_dense_w0_0_0_1 : memref<320xi32>, 160, 160) {bd_id = 31 : i32, match.at = 27 : i32}
      aie.use_lock(%l_0_1_dense_w0_0_0_empty_1, Release, 1)
      aie.next_bd ^bd16
    ^end:
      aie.end
    }
    %mem_0_2 = aie.mem(%tile_0_2) {
      %0 = aie.dma_start(S2MM, 0, ^bd0, ^dma1)
    ^bd0:
      aie.use_lock(%l_0_2_in0_empty, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_0_2_in0_0 : memref<32xi32>, 0, 32) {bd_id = 0 : i32, match.at = 6 : i32}
      aie.use_lock(%l_0_2_in0_full, Release, 1)
      aie.next_bd ^bd1
    ^bd1:
      aie.use_lock(%l_0_2_in0_empty, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_0_2_in0_1 : memref<32xi32>, 0, 32) {bd_id = 1 : i32, match.at = 7 : i32}
      aie.use_lock(%l_0_2_in0_full, Release, 1)
      aie.next_bd ^bd0
    ^dma1:
      %1 = aie.dma_start(S2MM, 1, ^bd2, ^end)
    ^bd2:
      aie.use_lock(%l_0_2_in1_empty, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_0_2_in1_0 : memref<80xi32>, 0, 80) {bd_id = 2 : i32, match.at = 22 : i32}
      aie.use_lock(%l_0_2_in1_full, Release, 1)
      aie.next_bd ^bd3
    ^bd3:
      aie.use_lock(%l_0_2_in1_empty, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_0_2_in1_1 : memref<80xi32>, 0, 80) {bd_id = 3 : i32, match.at = 23 : i32}
      aie.use_lock(%l_0_2_in1_full, Release, 1)
      aie.next_bd ^bd2
    ^end:
      aie.end
    }
    %mem_0_3 = aie.mem(%tile_0_3) {
      %0 = aie.dma_start(S2MM, 0, ^bd0, ^dma1)
    ^bd0:
      aie.use_lock(%l_0_3_in0_empty, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_0_3_in0_0 : memref<32xi32>, 0, 32) {bd_id = 0 : i32, match.at = 8 : i32}
      aie.use_lock(%l_0_3_in0_full, Release, 1)
      aie.next_bd ^bd1
    ^bd1:
      aie.use_lock(%l_0_3_in0_empty, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_0_3_in0_1 : memref<32xi32>, 0, 32) {bd_id = 1 : i32, match.at = 9 : i32}
      aie.use_lock(%l_0_3_in0_full, Release, 1)
      aie.next_bd ^bd0
    ^dma1:
      %1 = aie.dma_start(S2MM, 1, ^bd2, ^end)
    ^bd2:
      aie.use_lock(%l_0_3_in1_empty, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_0_3_in1_0 : memref<80xi32>, 0, 80) {bd_id = 2 : i32, match.at = 28 : i32}
      aie.use_lock(%l_0_3_in1_full, Release, 1)
      aie.next_bd ^bd3
    ^bd3:
      aie.use_lock(%l_0_3_in1_empty, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_0_3_in1_1 : memref<80xi32>, 0, 80) {bd_id = 3 : i32, match.at = 29 : i32}
      aie.use_lock(%l_0_3_in1_full, Release, 1)
      aie.next_bd ^bd2
    ^end:
      aie.end
    }
    %mem_0_4 = aie.mem(%tile_0_4) {
      %0 = aie.dma_start(S2MM, 0, ^bd0, ^dma1)
    ^bd0:
      aie.use_lock(%l_0_4_in0_empty, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_0_4_in0_0 : memref<32xi32>, 0, 32) {bd_id = 0 : i32, match.at = 14 : i32}
      aie.use_lock(%l_0_4_in0_full, Release, 1)
      aie.next_bd ^bd1
    ^bd1:
      aie.use_lock(%l_0_4_in0_empty, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_0_4_in0_1 : memref<32xi32>, 0, 32) {bd_id = 1 : i32, match.at = 15 : i32}
      aie.use_lock(%l_0_4_in0_full, Release, 1)
      aie.next_bd ^bd0
    ^dma1:
      %1 = aie.dma_start(S2MM, 1, ^bd2, ^end)
    ^bd2:
      aie.use_lock(%l_0_4_in1_empty, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_0_4_in1_0 : memref<80xi32>, 0, 80) {bd_id = 2 : i32, match.at = 24 : i32}
      aie.use_lock(%l_0_4_in1_full, Release, 1)
      aie.next_bd ^bd3
    ^bd3:
      aie.use_lock(%l_0_4_in1_empty, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_0_4_in1_1 : memref<80xi32>, 0, 80) {bd_id = 3 : i32, match.at = 25 : i32}
      aie.use_lock(%l_0_4_in1_full, Release, 1)
      aie.next_bd ^bd2
    ^end:
      aie.end
    }
    %mem_0_5 = aie.mem(%tile_0_5) {
      %0 = aie.dma_start(S2MM, 0, ^bd0, ^dma1)
    ^bd0:
      aie.use_lock(%l_0_5_in0_empty, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_0_5_in0_0 : memref<32xi32>, 0, 32) {bd_id = 0 : i32, match.at = 16 : i32}
      aie.use_lock(%l_0_5_in0_full, Release, 1)
      aie.next_bd ^bd1
    ^bd1:
      aie.use_lock(%l_0_5_in0_empty, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_0_5_in0_1 : memref<32xi32>, 0, 32) {bd_id = 1 : i32, match.at = 17 : i32}
      aie.use_lock(%l_0_5_in0_full, Release, 1)
      aie.next_bd ^bd0
    ^dma1:
      %1 = aie.dma_start(S2MM, 1, ^bd2, ^end)
    ^bd2:
      aie.use_lock(%l_0_5_in1_empty, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_0_5_in1_0 : memref<80xi32>, 0, 80) {bd_id = 2 : i32, match.at = 30 : i32}
      aie.use_lock(%l_0_5_in1_full, Release, 1)
      aie.next_bd ^bd3
    ^bd3:
      aie.use_lock(%l_0_5_in1_empty, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_0_5_in1_1 : memref<80xi32>, 0, 80) {bd_id = 3 : i32, match.at = 31 : i32}
      aie.use_lock(%l_0_5_in1_full, Release, 1)
      aie.next_bd ^bd2
    ^end:
      aie.end
    }
    %memtile_dma_1_1 = aie.memtile_dma(%tile_1_1) {
      %0 = aie.dma_start(S2MM, 0, ^bd0, ^dma1)
    ^bd0:
      aie.use_lock(%l_1_1_dense_x0_1_empty_0, AcquireGreaterEqual, 2)
      aie.dma_bd(%b_1_1_dense_x0_1_0 : memref<512xi32>, 0, 512) {bd_id = 0 : i32, match.at = 32 : i32}
      aie.use_lock(%l_1_1_dense_x0_1_full, Release, 1)
      aie.next_bd ^bd1
    ^bd1:
      aie.use_lock(%l_1_1_dense_x0_1_empty_1, AcquireGreaterEqual, 2)
      aie.dma_bd(%b_1_1_dense_x0_1_1 : memref<512xi32>, 0, 512) {bd_id = 1 : i32, match.at = 33 : i32}
      aie.use_lock(%l_1_1_dense_x0_1_full, Release, 1)
      aie.next_bd ^bd0
    ^dma1:
      %1 = aie.dma_start(MM2S, 1, ^bd2, ^dma2)
    ^bd2:
      aie.use_lock(%l_1_1_dense_x0_1_full, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_1_1_dense_x0_1_0 : memref<512xi32>, 0, 256, [<size = 16, stride = 16>, <size = 2, stride = 2>, <size = 4, stride = 4>, <size = 2, stride = 1>]) {bd_id = 24 : i32, match.at = 34 : i32}
      aie.use_lock(%l_1_1_dense_x0_1_read_1, Release, 1)
      aie.next_bd ^bd3
    ^bd3:
      aie.dma_bd(%b_1_1_dense_x0_1_0 : memref<512xi32>, 0, 256, [<size = 16, stride = 16>, <size = 2, stride = 2>, <size = 4, stride = 4>, <size = 2, stride = 1>]) {bd_id = 25 : i32, match.at = 35 : i32}
      aie.use_lock(%l_1_1_dense_x0_1_empty_0, Release, 1)
      aie.next_bd ^bd4
    ^bd4:
      aie.use_lock(%l_1_1_dense_x0_1_full, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_1_1_dense_x0_1_1 : memref<512xi32>, 0, 256, [<size = 16, stride = 16>, <size = 2, stride = 2>, <size = 4, stride = 4>, <size = 2, stride = 1>]) {bd_id = 26 : i32, match.at = 36 : i32}
      aie.use_lock(%l_1_1_dense_x0_1_read_1, Release, 1)
      aie.next_bd ^bd5
    ^bd5:
      aie.dma_bd(%b_1_1_dense_x0_1_1 : memref<512xi32>, 0, 256, [<size = 16, stride = 16>, <size = 2, stride = 2>, <size = 4, stride = 4>, <size = 2, stride = 1>]) {bd_id = 27 : i32, match.at = 37 : i32}
      aie.use_lock(%l_1_1_dense_x0_1_empty_1, Release, 1)
      aie.next_bd ^bd2
    ^dma2:
      %2 = aie.dma_start(MM2S, 0, ^bd6, ^dma3)
    ^bd6:
      aie.use_lock(%l_1_1_dense_x0_1_read_1, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_1_1_dense_x0_1_0 : memref<512xi32>, 256, 256, [<size = 16, stride = 16>, <size = 2, stride = 2>, <size = 4, stride = 4>, <size = 2, stride = 1>]) {bd_id = 2 : i32, match.at = 42 : i32}
      aie.next_bd ^bd7
    ^bd7:
      aie.dma_bd(%b_1_1_dense_x0_1_0 : memref<512xi32>, 256, 256, [<size = 16, stride = 16>, <size = 2, stride = 2>, <size = 4, stride = 4>, <size = 2, stride = 1>]) {bd_id = 3 : i32, match.at = 43 : i32}
      aie.use_lock(%l_1_1_dense_x0_1_empty_0, Release, 1)
      aie.next_bd ^bd8
    ^bd8:
      aie.use_lock(%l_1_1_dense_x0_1_read_1, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_1_1_dense_x0_1_1 : memref<512xi32>, 256, 256, [<size = 16, stride = 16>, <size = 2, stride = 2>, <size = 4, stride = 4>, <size = 2, stride = 1>]) {bd_id = 4 : i32, match.at = 44 : i32}
      aie.next_bd ^bd9
    ^bd9:
      aie.dma_bd(%b_1_1_dense_x0_1_1 : memref<512xi32>, 256, 256, [<size = 16, stride = 16>, <size = 2, stride = 2>, <size = 4, stride = 4>, <size = 2, stride = 1>]) {bd_id = 5 : i32, match.at = 45 : i32}
      aie.use_lock(%l_1_1_dense_x0_1_empty_1, Release, 1)
      aie.next_bd ^bd6
    ^dma3:
      %3 = aie.dma_start(S2MM, 1, ^bd10, ^dma4)
    ^bd10:
      aie.use_lock(%l_1_1_dense_w0_1_0_empty_0, AcquireGreaterEqual, 2)
      aie.dma_bd(%b_1_1_dense_w0_1_0_0 : memref<384xi32>, 0, 384) {bd_id = 28 : i32, match.at = 50 : i32}
      aie.use_lock(%l_1_1_dense_w0_1_0_full, Release, 1)
      aie.next_bd ^bd11
    ^bd11:
      aie.use_lock(%l_1_1_dense_w0_1_0_empty_1, AcquireGreaterEqual, 2)
      aie.dma_bd(%b_1_1_dense_w0_1_0_1 : memref<384xi32>, 0, 384) {bd_id = 29 : i32, match.at = 51 : i32}
      aie.use_lock(%l_1_1_dense_w0_1_0_full, Release, 1)
      aie.next_bd ^bd10
    ^dma4:
      %4 = aie.dma_start(MM2S, 2, ^bd12, ^dma5)
    ^bd12:
      aie.use_lock(%l_1_1_dense_w0_1_0_full, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_1_1_dense_w0_1_0_0 : memref<384xi32>, 0, 16) {bd_id = 6 : i32, match.at = 52 : i32}
      aie.use_lock(%l_1_1_dense_w0_1_0_read_1, Release, 1)
      aie.next_bd ^bd13
    ^bd13:
      aie.dma_bd(%b_1_1_dense_w0_1_0_0 : memref<384xi32>, 16, 176) {bd_id = 14 : i32, match.rest = 52 : i32, match.split = 0 : i32}
      aie.use_lock(%l_1_1_dense_w0_1_0_empty_0, Release, 1)
      aie.next_bd ^bd14
    ^bd14:
      aie.use_lock(%l_1_1_dense_w0_1_0_full, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_1_1_dense_w0_1_0_1 : memref<384xi32>, 0, 16) {bd_id = 7 : i32, match.at = 53 : i32}
      aie.use_lock(%l_1_1_dense_w0_1_0_read_1, Release, 1)
      aie.next_bd ^bd15
    ^bd15:
      aie.dma_bd(%b_1_1_dense_w0_1_0_1 : memref<384xi32>, 16, 176) {bd_id = 15 : i32, match.rest = 53 : i32, match.split = 0 : i32}
      aie.use_lock(%l_1_1_dense_w0_1_0_empty_1, Release, 1)
      aie.next_bd ^bd12
    ^dma5:
      %5 = aie.dma_start(MM2S, 3, ^bd16, ^dma6)
    ^bd16:
      aie.use_lock(%l_1_1_dense_w0_1_0_read_1, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_1_1_dense_w0_1_0_0 : memref<384xi32>, 192, 192) {bd_id = 30 : i32, match.at = 58 : i32}
      aie.use_lock(%l_1_1_dense_w0_1_0_empty_0, Release, 1)
      aie.next_bd ^bd17
    ^bd17:
      aie.use_lock(%l_1_1_dense_w0_1_0_read_1, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_1_1_dense_w0_1_0_1 : memref<384xi32>, 192, 192) {bd_id = 31 : i32, match.at = 59 : i32}
      aie.use_lock(%l_1_1_dense_w0_1_0_empty_1, Release, 1)
      aie.next_bd ^bd16
    ^dma6:
      %6 = aie.dma_start(S2MM, 2, ^bd18, ^dma7)
    ^bd18:
      aie.use_lock(%l_1_1_dense_y0_0_empty, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_1_1_dense_y0_0_0 : memref<64xi32>, 0, 16, [<size = 1, stride = 32>, <size = 2, stride = 2>, <size = 4, stride = 8>, <size = 2, stride = 1>]) {bd_id = 8 : i32, match.at = 65 : i32}
      aie.use_lock(%l_1_1_dense_y0_0_write_1, Release, 1)
      aie.next_bd ^bd19
    ^bd19:
      aie.dma_bd(%b_1_1_dense_y0_0_0 : memref<64xi32>, 32, 16, [<size = 1, stride = 32>, <size = 2, stride = 2>, <size = 4, stride = 8>, <size = 2, stride = 1>]) {bd_id = 16 : i32, match.rest = 65 : i32, match.split = 3 : i32}
      aie.use_lock(%l_1_1_dense_y0_0_full_0, Release, 1)
      aie.next_bd ^bd20
    ^bd20:
      aie.use_lock(%l_1_1_dense_y0_0_empty, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_1_1_dense_y0_0_1 : memref<64xi32>, 0, 16, [<size = 1, stride = 32>, <size = 2, stride = 2>, <size = 4, stride = 8>, <size = 2, stride = 1>]) {bd_id = 9 : i32, match.at = 66 : i32}
      aie.use_lock(%l_1_1_dense_y0_0_write_1, Release, 1)
      aie.next_bd ^bd21
    ^bd21:
      aie.dma_bd(%b_1_1_dense_y0_0_1 : memref<64xi32>, 32, 16, [<size = 1, stride = 32>, <size = 2, stride = 2>, <size = 4, stride = 8>, <size = 2, stride = 1>]) {bd_id = 17 : i32, match.rest = 66 : i32, match.split = 3 : i32}
      aie.use_lock(%l_1_1_dense_y0_0_full_1, Release, 1)
      aie.next_bd ^bd18
    ^dma7:
      %7 = aie.dma_start(S2MM, 3, ^bd22, ^dma8)
    ^bd22:
      aie.use_lock(%l_1_1_dense_y0_0_write_1, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_1_1_dense_y0_0_0 : memref<64xi32>, 4, 32, [<size = 2, stride = 32>, <size = 2, stride = 2>, <size = 4, stride = 8>, <size = 2, stride = 1>]) {bd_id = 32 : i32, match.at = 68 : i32}
      aie.use_lock(%l_1_1_dense_y0_0_full_0, Release, 1)
      aie.next_bd ^bd23
    ^bd23:
      aie.use_lock(%l_1_1_dense_y0_0_write_1, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_1_1_dense_y0_0_1 : memref<64xi32>, 4, 32, [<size = 2, stride = 32>, <size = 2, stride = 2>, <size = 4, stride = 8>, <size = 2, stride = 1>]) {bd_id = 33 : i32, match.at = 69 : i32}
      aie.use_lock(%l_1_1_dense_y0_0_full_1, Release, 1)
      aie.next_bd ^bd22
    ^dma8:
      %8 = aie.dma_start(MM2S, 4, ^bd24, ^dma9)
    ^bd24:
      aie.use_lock(%l_1_1_dense_y0_0_full_0, AcquireGreaterEqual, 2)
      aie.dma_bd(%b_1_1_dense_y0_0_0 : memref<64xi32>, 0, 64) {bd_id = 10 : i32, match.at = 70 : i32}
      aie.use_lock(%l_1_1_dense_y0_0_empty, Release, 1)
      aie.next_bd ^bd25
    ^bd25:
      aie.use_lock(%l_1_1_dense_y0_0_full_1, AcquireGreaterEqual, 2)
      aie.dma_bd(%b_1_1_dense_y0_0_1 : memref<64xi32>, 0, 64) {bd_id = 11 : i32, match.at = 71 : i32}
      aie.use_lock(%l_1_1_dense_y0_0_empty, Release, 1)
      aie.next_bd ^bd24
    ^dma9:
      %9 = aie.dma_start(S2MM, 5, ^bd26, ^dma10)
    ^bd26:
      aie.use_lock(%l_1_1_dense_y0_1_empty, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_1_1_dense_y0_1_0 : memref<64xi32>, 0, 16, [<size = 1, stride = 32>, <size = 2, stride = 2>, <size = 4, stride = 8>, <size = 2, stride = 1>]) {bd_id = 34 : i32, match.at = 73 : i32}
      aie.use_lock(%l_1_1_dense_y0_1_write_1, Release, 1)
      aie.next_bd ^bd27
    ^bd27:
      aie.dma_bd(%b_1_1_dense_y0_1_0 : memref<64xi32>, 32, 16, [<size = 1, stride = 32>, <size = 2, stride = 2>, <size = 4, stride = 8>, <size = 2, stride = 1>]) {bd_id = 38 : i32, match.rest = 73 : i32, match.split = 3 : i32}
      aie.use_lock(%l_1_1_dense_y0_1_full_0, Release, 1)
      aie.next_bd ^bd28
    ^bd28:
      aie.use_lock(%l_1_1_dense_y0_1_empty, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_1_1_dense_y0_1_1 : memref<64xi32>, 0, 16, [<size = 1, stride = 32>, <size = 2, stride = 2>, <size = 4, stride = 8>, <size = 2, stride = 1>]) {bd_id = 35 : i32, match.at = 74 : i32}
      aie.use_lock(%l_1_1_dense_y0_1_write_1, Release, 1)
      aie.next_bd ^bd29
    ^bd29:
      aie.dma_bd(%b_1_1_dense_y0_1_1 : memref<64xi32>, 32, 16, [<size = 1, stride = 32>, <size = 2, stride = 2>, <size = 4, stride = 8>, <size = 2, stride = 1>]) {bd_id = 39 : i32, match.rest = 74 : i32, match.split = 3 : i32}
      aie.use_lock(%l_1_1_dense_y0_1_full_1, Release, 1)
      aie.next_bd ^bd26
    ^dma10:
      %10 = aie.dma_start(S2MM, 4, ^bd30, ^dma11)
    ^bd30:
      aie.use_lock(%l_1_1_dense_y0_1_write_1, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_1_1_dense_y0_1_0 : memref<64xi32>, 4, 32, [<size = 2, stride = 32>, <size = 2, stride = 2>, <size = 4, stride = 8>, <size = 2, stride = 1>]) {bd_id = 12 : i32, match.at = 76 : i32}
      aie.use_lock(%l_1_1_dense_y0_1_full_0, Release, 1)
      aie.next_bd ^bd31
    ^bd31:
      aie.use_lock(%l_1_1_dense_y0_1_write_1, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_1_1_dense_y0_1_1 : memref<64xi32>, 4, 32, [<size = 2, stride = 32>, <size = 2, stride = 2>, <size = 4, stride = 8>, <size = 2, stride = 1>]) {bd_id = 13 : i32, match.at = 77 : i32}
      aie.use_lock(%l_1_1_dense_y0_1_full_1, Release, 1)
      aie.next_bd ^bd30
    ^dma11:
      %11 = aie.dma_start(MM2S, 5, ^bd32, ^end)
    ^bd32:
      aie.use_lock(%l_1_1_dense_y0_1_full_0, AcquireGreaterEqual, 2)
      aie.dma_bd(%b_1_1_dense_y0_1_0 : memref<64xi32>, 0, 64) {bd_id = 36 : i32, match.at = 78 : i32}
      aie.use_lock(%l_1_1_dense_y0_1_empty, Release, 1)
      aie.next_bd ^bd33
    ^bd33:
      aie.use_lock(%l_1_1_dense_y0_1_full_1, AcquireGreaterEqual, 2)
      aie.dma_bd(%b_1_1_dense_y0_1_1 : memref<64xi32>, 0, 64) {bd_id = 37 : i32, match.at = 79 : i32}
      aie.use_lock(%l_1_1_dense_y0_1_empty, Release, 1)
      aie.next_bd ^bd32
    ^end:
      aie.end
    }
    %mem_1_2 = aie.mem(%tile_1_2) {
      %0 = aie.dma_start(S2MM, 0, ^bd0, ^dma1)
    ^bd0:
      aie.use_lock(%l_1_2_in0_empty, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_1_2_in0_0 : memref<32xi32>, 0, 32) {bd_id = 0 : i32, match.at = 38 : i32}
      aie.use_lock(%l_1_2_in0_full, Release, 1)
      aie.next_bd ^bd1
    ^bd1:
      aie.use_lock(%l_1_2_in0_empty, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_1_2_in0_1 : memref<32xi32>, 0, 32) {bd_id = 1 : i32, match.at = 39 : i32}
      aie.use_lock(%l_1_2_in0_full, Release, 1)
      aie.next_bd ^bd0
    ^dma1:
      %1 = aie.dma_start(S2MM, 1, ^bd2, ^dma2)
    ^bd2:
      aie.use_lock(%l_1_2_in1_empty, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_1_2_in1_0 : memref<96xi32>, 0, 96) {bd_id = 2 : i32, match.at = 54 : i32}
      aie.use_lock(%l_1_2_in1_full, Release, 1)
      aie.next_bd ^bd3
    ^bd3:
      aie.use_lock(%l_1_2_in1_empty, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_1_2_in1_1 : memref<96xi32>, 0, 96) {bd_id = 3 : i32, match.at = 55 : i32}
      aie.use_lock(%l_1_2_in1_full, Release, 1)
      aie.next_bd ^bd2
    ^dma2:
      %2 = aie.dma_start(MM2S, 0, ^bd4, ^end)
    ^bd4:
      aie.use_lock(%l_1_2_out_full, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_1_2_out_0 : memref<32xi32>, 0, 32) {bd_id = 4 : i32, match.at = 64 : i32}
      aie.use_lock(%l_1_2_out_empty, Release, 1)
      aie.next_bd ^bd4
    ^end:
      aie.end
    }
    %mem_1_3 = aie.mem(%tile_1_3) {
      %0 = aie.dma_start(S2MM, 0, ^bd0, ^dma1)
    ^bd0:
      aie.use_lock(%l_1_3_in0_empty, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_1_3_in0_0 : memref<32xi32>, 0, 32) {bd_id = 0 : i32, match.at = 40 : i32}
      aie.use_lock(%l_1_3_in0_full, Release, 1)
      aie.next_bd ^bd1
    ^bd1:
      aie.use_lock(%l_1_3_in0_empty, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_1_3_in0_1 : memref<32xi32>, 0, 32) {bd_id = 1 : i32, match.at = 41 : i32}
      aie.use_lock(%l_1_3_in0_full, Release, 1)
      aie.next_bd ^bd0
    ^dma1:
      %1 = aie.dma_start(S2MM, 1, ^bd2, ^dma2)
    ^bd2:
      aie.use_lock(%l_1_3_in1_empty, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_1_3_in1_0 : memref<96xi32>, 0, 96) {bd_id = 2 : i32, match.at = 60 : i32}
      aie.use_lock(%l_1_3_in1_full, Release, 1)
      aie.next_bd ^bd3
    ^bd3:
      aie.use_lock(%l_1_3_in1_empty, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_1_3_in1_1 : memref<96xi32>, 0, 96) {bd_id = 3 : i32, match.at = 61 : i32}
      aie.use_lock(%l_1_3_in1_full, Release, 1)
      aie.next_bd ^bd2
    ^dma2:
      %2 = aie.dma_start(MM2S, 0, ^bd4, ^end)
    ^bd4:
      aie.use_lock(%l_1_3_out_full, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_1_3_out_0 : memref<32xi32>, 0, 32) {bd_id = 4 : i32, match.at = 67 : i32}
      aie.use_lock(%l_1_3_out_empty, Release, 1)
      aie.next_bd ^bd4
    ^end:
      aie.end
    }
    %mem_1_4 = aie.mem(%tile_1_4) {
      %0 = aie.dma_start(S2MM, 0, ^bd0, ^dma1)
    ^bd0:
      aie.use_lock(%l_1_4_in0_empty, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_1_4_in0_0 : memref<32xi32>, 0, 32) {bd_id = 0 : i32, match.at = 46 : i32}
      aie.use_lock(%l_1_4_in0_full, Release, 1)
      aie.next_bd ^bd1
    ^bd1:
      aie.use_lock(%l_1_4_in0_empty, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_1_4_in0_1 : memref<32xi32>, 0, 32) {bd_id = 1 : i32, match.at = 47 : i32}
      aie.use_lock(%l_1_4_in0_full, Release, 1)
      aie.next_bd ^bd0
    ^dma1:
      %1 = aie.dma_start(S2MM, 1, ^bd2, ^dma2)
    ^bd2:
      aie.use_lock(%l_1_4_in1_empty, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_1_4_in1_0 : memref<96xi32>, 0, 96) {bd_id = 2 : i32, match.at = 56 : i32}
      aie.use_lock(%l_1_4_in1_full, Release, 1)
      aie.next_bd ^bd3
    ^bd3:
      aie.use_lock(%l_1_4_in1_empty, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_1_4_in1_1 : memref<96xi32>, 0, 96) {bd_id = 3 : i32, match.at = 57 : i32}
      aie.use_lock(%l_1_4_in1_full, Release, 1)
      aie.next_bd ^bd2
    ^dma2:
      %2 = aie.dma_start(MM2S, 0, ^bd4, ^end)
    ^bd4:
      aie.use_lock(%l_1_4_out_full, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_1_4_out_0 : memref<32xi32>, 0, 32) {bd_id = 4 : i32, match.at = 72 : i32}
      aie.use_lock(%l_1_4_out_empty, Release, 1)
      aie.next_bd ^bd4
    ^end:
      aie.end
    }
    %mem_1_5 = aie.mem(%tile_1_5) {
      %0 = aie.dma_start(S2MM, 0, ^bd0, ^dma1)
    ^bd0:
      aie.use_lock(%l_1_5_in0_empty, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_1_5_in0_0 : memref<32xi32>, 0, 32) {bd_id = 0 : i32, match.at = 48 : i32}
      aie.use_lock(%l_1_5_in0_full, Release, 1)
      aie.next_bd ^bd1
    ^bd1:
      aie.use_lock(%l_1_5_in0_empty, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_1_5_in0_1 : memref<32xi32>, 0, 32) {bd_id = 1 : i32, match.at = 49 : i32}
      aie.use_lock(%l_1_5_in0_full, Release, 1)
      aie.next_bd ^bd0
    ^dma1:
      %1 = aie.dma_start(S2MM, 1, ^bd2, ^dma2)
    ^bd2:
      aie.use_lock(%l_1_5_in1_empty, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_1_5_in1_0 : memref<96xi32>, 0, 96) {bd_id = 2 : i32, match.at = 62 : i32}
      aie.use_lock(%l_1_5_in1_full, Release, 1)
      aie.next_bd ^bd3
    ^bd3:
      aie.use_lock(%l_1_5_in1_empty, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_1_5_in1_1 : memref<96xi32>, 0, 96) {bd_id = 3 : i32, match.at = 63 : i32}
      aie.use_lock(%l_1_5_in1_full, Release, 1)
      aie.next_bd ^bd2
    ^dma2:
      %2 = aie.dma_start(MM2S, 0, ^bd4, ^end)
    ^bd4:
      aie.use_lock(%l_1_5_out_full, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_1_5_out_0 : memref<32xi32>, 0, 32) {bd_id = 4 : i32, match.at = 75 : i32}
      aie.use_lock(%l_1_5_out_empty, Release, 1)
      aie.next_bd ^bd4
    ^end:
      aie.end
    }
    %memtile_dma_3_1 = aie.memtile_dma(%tile_3_1) {
      %0 = aie.dma_start(S2MM, 0, ^bd0, ^dma1)
    ^bd0:
      aie.use_lock(%l_3_1_beside_q0_0_empty_0, AcquireGreaterEqual, 3)
      aie.dma_bd(%b_3_1_beside_q0_0_0 : memref<192xi32>, 0, 192) {bd_id = 0 : i32, match.at = 80 : i32}
      aie.use_lock(%l_3_1_beside_q0_0_full, Release, 1)
      aie.next_bd ^bd1
    ^bd1:
      aie.use_lock(%l_3_1_beside_q0_0_empty_1, AcquireGreaterEqual, 3)
      aie.dma_bd(%b_3_1_beside_q0_0_1 : memref<192xi32>, 0, 192) {bd_id = 1 : i32, match.at = 81 : i32}
      aie.use_lock(%l_3_1_beside_q0_0_full, Release, 1)
      aie.next_bd ^bd0
    ^dma1:
      %1 = aie.dma_start(MM2S, 1, ^bd2, ^dma2)
    ^bd2:
      aie.use_lock(%l_3_1_beside_q0_0_full, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_3_1_beside_q0_0_0 : memref<192xi32>, 0, 8, [<size = 1, stride = 2>, <size = 4, stride = 16>, <size = 2, stride = 1>]) {bd_id = 24 : i32, match.at = 82 : i32}
      aie.use_lock(%l_3_1_beside_q0_0_read_1, Release, 1)
      aie.next_bd ^bd3
    ^bd3:
      aie.dma_bd(%b_3_1_beside_q0_0_0 : memref<192xi32>, 2, 56, [<size = 7, stride = 2>, <size = 4, stride = 16>, <size = 2, stride = 1>]) {bd_id = 34 : i32, match.rest = 82 : i32, match.split = 2 : i32}
      aie.use_lock(%l_3_1_beside_q0_0_empty_0, Release, 1)
      aie.next_bd ^bd4
    ^bd4:
      aie.use_lock(%l_3_1_beside_q0_0_full, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_3_1_beside_q0_0_1 : memref<192xi32>, 0, 8, [<size = 1, stride = 2>, <size = 4, stride = 16>, <size = 2, stride = 1>]) {bd_id = 25 : i32, match.at = 83 : i32}
      aie.use_lock(%l_3_1_beside_q0_0_read_1, Release, 1)
      aie.next_bd ^bd5
    ^bd5:
      aie.dma_bd(%b_3_1_beside_q0_0_1 : memref<192xi32>, 2, 56, [<size = 7, stride = 2>, <size = 4, stride = 16>, <size = 2, stride = 1>]) {bd_id = 35 : i32, match.rest = 83 : i32, match.split = 2 : i32}
      aie.use_lock(%l_3_1_beside_q0_0_empty_1, Release, 1)
      aie.next_bd ^bd2
    ^dma2:
      %2 = aie.dma_start(MM2S, 0, ^bd6, ^dma3)
    ^bd6:
      aie.use_lock(%l_3_1_beside_q0_0_read_1, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_3_1_beside_q0_0_0 : memref<192xi32>, 64, 8, [<size = 1, stride = 2>, <size = 4, stride = 16>, <size = 2, stride = 1>]) {bd_id = 2 : i32, match.at = 86 : i32}
      aie.use_lock(%l_3_1_beside_q0_0_read_2, Release, 1)
      aie.next_bd ^bd7
    ^bd7:
      aie.dma_bd(%b_3_1_beside_q0_0_0 : memref<192xi32>, 66, 56, [<size = 7, stride = 2>, <size = 4, stride = 16>, <size = 2, stride = 1>]) {bd_id = 12 : i32, match.rest = 86 : i32, match.split = 2 : i32}
      aie.use_lock(%l_3_1_beside_q0_0_empty_0, Release, 1)
      aie.next_bd ^bd8
    ^bd8:
      aie.use_lock(%l_3_1_beside_q0_0_read_1, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_3_1_beside_q0_0_1 : memref<192xi32>, 64, 8, [<size = 1, stride = 2>, <size = 4, stride = 16>, <size = 2, stride = 1>]) {bd_id = 3 : i32, match.at = 87 : i32}
      aie.use_lock(%l_3_1_beside_q0_0_read_2, Release, 1)
      aie.next_bd ^bd9
    ^bd9:
      aie.dma_bd(%b_3_1_beside_q0_0_1 : memref<192xi32>, 66, 56, [<size = 7, stride = 2>, <size = 4, stride = 16>, <size = 2, stride = 1>]) {bd_id = 13 : i32, match.rest = 87 : i32, match.split = 2 : i32}
      aie.use_lock(%l_3_1_beside_q0_0_empty_1, Release, 1)
      aie.next_bd ^bd6
    ^dma3:
      %3 = aie.dma_start(MM2S, 3, ^bd10, ^dma4)
    ^bd10:
      aie.use_lock(%l_3_1_beside_q0_0_read_2, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_3_1_beside_q0_0_0 : memref<192xi32>, 128, 64, [<size = 8, stride = 2>, <size = 4, stride = 16>, <size = 2, stride = 1>]) {bd_id = 26 : i32, match.at = 90 : i32}
      aie.use_lock(%l_3_1_beside_q0_0_empty_0, Release, 1)
      aie.next_bd ^bd11
    ^bd11:
      aie.use_lock(%l_3_1_beside_q0_0_read_2, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_3_1_beside_q0_0_1 : memref<192xi32>, 128, 64, [<size = 8, stride = 2>, <size = 4, stride = 16>, <size = 2, stride = 1>]) {bd_id = 27 : i32, match.at = 91 : i32}
      aie.use_lock(%l_3_1_beside_q0_0_empty_1, Release, 1)
      aie.next_bd ^bd10
    ^dma4:
      %4 = aie.dma_start(S2MM, 1, ^bd12, ^dma5)
    ^bd12:
      aie.use_lock(%l_3_1_beside_kv0_0_empty, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_3_1_beside_kv0_0_0 : memref<2560xi32>, 0, 160, [<size = 1, stride = 160>, <size = 8, stride = 2>, <size = 10, stride = 16>, <size = 2, stride = 1>]) {bd_id = 28 : i32, match.at = 94 : i32}
      aie.use_lock(%l_3_1_beside_kv0_0_write_1, Release, 1)
      aie.next_bd ^bd13
    ^bd13:
      aie.dma_bd(%b_3_1_beside_kv0_0_0 : memref<2560xi32>, 160, 1120, [<size = 7, stride = 160>, <size = 8, stride = 2>, <size = 10, stride = 16>, <size = 2, stride = 1>]) {bd_id = 36 : i32, match.rest = 94 : i32, match.split = 3 : i32}
      aie.use_lock(%l_3_1_beside_kv0_0_full_0, Release, 1)
      aie.next_bd ^bd14
    ^bd14:
      aie.use_lock(%l_3_1_beside_kv0_0_empty, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_3_1_beside_kv0_0_1 : memref<2560xi32>, 0, 160, [<size = 1, stride = 160>, <size = 8, stride = 2>, <size = 10, stride = 16>, <size = 2, stride = 1>]) {bd_id = 29 : i32, match.at = 95 : i32}
      aie.use_lock(%l_3_1_beside_kv0_0_write_1, Release, 1)
      aie.next_bd ^bd15
    ^bd15:
      aie.dma_bd(%b_3_1_beside_kv0_0_1 : memref<2560xi32>, 160, 1120, [<size = 7, stride = 160>, <size = 8, stride = 2>, <size = 10, stride = 16>, <size = 2, stride = 1>]) {bd_id = 37 : i32, match.rest = 95 : i32, match.split = 3 : i32}
      aie.use_lock(%l_3_1_beside_kv0_0_full_1, Release, 1)
      aie.next_bd ^bd12
    ^dma5:
      %5 = aie.dma_start(S2MM, 2, ^bd16, ^dma6)
    ^bd16:
      aie.use_lock(%l_3_1_beside_kv0_0_write_1, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_3_1_beside_kv0_0_0 : memref<2560xi32>, 1280, 1280, [<size = 10, stride = 128>, <size = 8, stride = 2>, <size = 8, stride = 16>, <size = 2, stride = 1>]) {bd_id = 4 : i32, match.at = 96 : i32}
      aie.use_lock(%l_3_1_beside_kv0_0_full_0, Release, 1)
      aie.next_bd ^bd17
    ^bd17:
      aie.use_lock(%l_3_1_beside_kv0_0_write_1, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_3_1_beside_kv0_0_1 : memref<2560xi32>, 1280, 1280, [<size = 10, stride = 128>, <size = 8, stride = 2>, <size = 8, stride = 16>, <size = 2, stride = 1>]) {bd_id = 5 : i32, match.at = 97 : i32}
      aie.use_lock(%l_3_1_beside_kv0_0_full_1, Release, 1)
      aie.next_bd ^bd16
    ^dma6:
      %6 = aie.dma_start(MM2S, 2, ^bd18, ^dma7)
    ^bd18:
      aie.use_lock(%l_3_1_beside_kv0_0_full_0, AcquireGreaterEqual, 2)
      aie.dma_bd(%b_3_1_beside_kv0_0_0 : memref<2560xi32>, 0, 2560) {bd_id = 6 : i32, match.at = 98 : i32}
      aie.use_lock(%l_3_1_beside_kv0_0_empty, Release, 1)
      aie.next_bd ^bd19
    ^bd19:
      aie.use_lock(%l_3_1_beside_kv0_0_full_1, AcquireGreaterEqual, 2)
      aie.dma_bd(%b_3_1_beside_kv0_0_1 : memref<2560xi32>, 0, 2560) {bd_id = 7 : i32, match.at = 99 : i32}
      aie.use_lock(%l_3_1_beside_kv0_0_empty, Release, 1)
      aie.next_bd ^bd18
    ^dma7:
      %7 = aie.dma_start(S2MM, 3, ^bd20, ^dma8)
    ^bd20:
      aie.use_lock(%l_3_1_beside_y0_0_empty, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_3_1_beside_y0_0_0 : memref<192xi32>, 0, 8, [<size = 1, stride = 2>, <size = 4, stride = 16>, <size = 2, stride = 1>]) {bd_id = 30 : i32, match.at = 108 : i32}
      aie.use_lock(%l_3_1_beside_y0_0_write_1, Release, 1)
      aie.next_bd ^bd21
    ^bd21:
      aie.dma_bd(%b_3_1_beside_y0_0_0 : memref<192xi32>, 2, 56, [<size = 7, stride = 2>, <size = 4, stride = 16>, <size = 2, stride = 1>]) {bd_id = 38 : i32, match.rest = 108 : i32, match.split = 2 : i32}
      aie.use_lock(%l_3_1_beside_y0_0_full_0, Release, 1)
      aie.next_bd ^bd22
    ^bd22:
      aie.use_lock(%l_3_1_beside_y0_0_empty, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_3_1_beside_y0_0_1 : memref<192xi32>, 0, 8, [<size = 1, stride = 2>, <size = 4, stride = 16>, <size = 2, stride = 1>]) {bd_id = 31 : i32, match.at = 109 : i32}
      aie.use_lock(%l_3_1_beside_y0_0_write_1, Release, 1)
      aie.next_bd ^bd23
    ^bd23:
      aie.dma_bd(%b_3_1_beside_y0_0_1 : memref<192xi32>, 2, 56, [<size = 7, stride = 2>, <size = 4, stride = 16>, <size = 2, stride = 1>]) {bd_id = 39 : i32, match.rest = 109 : i32, match.split = 2 : i32}
      aie.use_lock(%l_3_1_beside_y0_0_full_1, Release, 1)
      aie.next_bd ^bd20
    ^dma8:
      %8 = aie.dma_start(S2MM, 4, ^bd24, ^dma9)
    ^bd24:
      aie.use_lock(%l_3_1_beside_y0_0_write_1, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_3_1_beside_y0_0_0 : memref<192xi32>, 64, 8, [<size = 1, stride = 2>, <size = 4, stride = 16>, <size = 2, stride = 1>]) {bd_id = 8 : i32, match.at = 112 : i32}
      aie.use_lock(%l_3_1_beside_y0_0_write_2, Release, 1)
      aie.next_bd ^bd25
    ^bd25:
      aie.dma_bd(%b_3_1_beside_y0_0_0 : memref<192xi32>, 66, 56, [<size = 7, stride = 2>, <size = 4, stride = 16>, <size = 2, stride = 1>]) {bd_id = 14 : i32, match.rest = 112 : i32, match.split = 2 : i32}
      aie.use_lock(%l_3_1_beside_y0_0_full_0, Release, 1)
      aie.next_bd ^bd26
    ^bd26:
      aie.use_lock(%l_3_1_beside_y0_0_write_1, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_3_1_beside_y0_0_1 : memref<192xi32>, 64, 8, [<size = 1, stride = 2>, <size = 4, stride = 16>, <size = 2, stride = 1>]) {bd_id = 9 : i32, match.at = 113 : i32}
      aie.use_lock(%l_3_1_beside_y0_0_write_2, Release, 1)
      aie.next_bd ^bd27
    ^bd27:
      aie.dma_bd(%b_3_1_beside_y0_0_1 : memref<192xi32>, 66, 56, [<size = 7, stride = 2>, <size = 4, stride = 16>, <size = 2, stride = 1>]) {bd_id = 15 : i32, match.rest = 113 : i32, match.split = 2 : i32}
      aie.use_lock(%l_3_1_beside_y0_0_full_1, Release, 1)
      aie.next_bd ^bd24
    ^dma9:
      %9 = aie.dma_start(S2MM, 5, ^bd28, ^dma10)
    ^bd28:
      aie.use_lock(%l_3_1_beside_y0_0_write_2, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_3_1_beside_y0_0_0 : memref<192xi32>, 128, 64, [<size = 8, stride = 2>, <size = 4, stride = 16>, <size = 2, stride = 1>]) {bd_id = 32 : i32, match.at = 116 : i32}
      aie.use_lock(%l_3_1_beside_y0_0_full_0, Release, 1)
      aie.next_bd ^bd29
    ^bd29:
      aie.use_lock(%l_3_1_beside_y0_0_write_2, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_3_1_beside_y0_0_1 : memref<192xi32>, 128, 64, [<size = 8, stride = 2>, <size = 4, stride = 16>, <size = 2, stride = 1>]) {bd_id = 33 : i32, match.at = 117 : i32}
      aie.use_lock(%l_3_1_beside_y0_0_full_1, Release, 1)
      aie.next_bd ^bd28
    ^dma10:
      %10 = aie.dma_start(MM2S, 4, ^bd30, ^end)
    ^bd30:
      aie.use_lock(%l_3_1_beside_y0_0_full_0, AcquireGreaterEqual, 3)
      aie.dma_bd(%b_3_1_beside_y0_0_0 : memref<192xi32>, 0, 192) {bd_id = 10 : i32, match.at = 118 : i32}
      aie.use_lock(%l_3_1_beside_y0_0_empty, Release, 1)
      aie.next_bd ^bd31
    ^bd31:
      aie.use_lock(%l_3_1_beside_y0_0_full_1, AcquireGreaterEqual, 3)
      aie.dma_bd(%b_3_1_beside_y0_0_1 : memref<192xi32>, 0, 192) {bd_id = 11 : i32, match.at = 119 : i32}
      aie.use_lock(%l_3_1_beside_y0_0_empty, Release, 1)
      aie.next_bd ^bd30
    ^end:
      aie.end
    }
    %mem_3_2 = aie.mem(%tile_3_2) {
      %0 = aie.dma_start(S2MM, 0, ^bd0, ^dma1)
    ^bd0:
      aie.use_lock(%l_3_2_in0_empty, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_3_2_in0_0 : memref<64xi32>, 0, 64) {bd_id = 0 : i32, match.at = 84 : i32}
      aie.use_lock(%l_3_2_in0_full, Release, 1)
      aie.next_bd ^bd1
    ^bd1:
      aie.use_lock(%l_3_2_in0_empty, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_3_2_in0_1 : memref<64xi32>, 0, 64) {bd_id = 1 : i32, match.at = 85 : i32}
      aie.use_lock(%l_3_2_in0_full, Release, 1)
      aie.next_bd ^bd0
    ^dma1:
      %1 = aie.dma_start(S2MM, 1, ^bd2, ^dma2)
    ^bd2:
      aie.use_lock(%l_3_2_in1_empty, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_3_2_in1_0 : memref<1280xi32>, 0, 1280) {bd_id = 2 : i32, match.at = 100 : i32}
      aie.use_lock(%l_3_2_in1_full, Release, 1)
      aie.next_bd ^bd3
    ^bd3:
      aie.use_lock(%l_3_2_in1_empty, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_3_2_in1_1 : memref<1280xi32>, 0, 1280) {bd_id = 3 : i32, match.at = 101 : i32}
      aie.use_lock(%l_3_2_in1_full, Release, 1)
      aie.next_bd ^bd2
    ^dma2:
      %2 = aie.dma_start(MM2S, 0, ^bd4, ^end)
    ^bd4:
      aie.use_lock(%l_3_2_out_full, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_3_2_out_0 : memref<64xi32>, 0, 64) {bd_id = 4 : i32, match.at = 106 : i32}
      aie.use_lock(%l_3_2_out_empty, Release, 1)
      aie.next_bd ^bd5
    ^bd5:
      aie.use_lock(%l_3_2_out_full, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_3_2_out_1 : memref<64xi32>, 0, 64) {bd_id = 5 : i32, match.at = 107 : i32}
      aie.use_lock(%l_3_2_out_empty, Release, 1)
      aie.next_bd ^bd4
    ^end:
      aie.end
    }
    %mem_3_3 = aie.mem(%tile_3_3) {
      %0 = aie.dma_start(S2MM, 0, ^bd0, ^dma1)
    ^bd0:
      aie.use_lock(%l_3_3_in0_empty, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_3_3_in0_0 : memref<64xi32>, 0, 64) {bd_id = 0 : i32, match.at = 88 : i32}
      aie.use_lock(%l_3_3_in0_full, Release, 1)
      aie.next_bd ^bd1
    ^bd1:
      aie.use_lock(%l_3_3_in0_empty, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_3_3_in0_1 : memref<64xi32>, 0, 64) {bd_id = 1 : i32, match.at = 89 : i32}
      aie.use_lock(%l_3_3_in0_full, Release, 1)
      aie.next_bd ^bd0
    ^dma1:
      %1 = aie.dma_start(S2MM, 1, ^bd2, ^dma2)
    ^bd2:
      aie.use_lock(%l_3_3_in1_empty, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_3_3_in1_0 : memref<1280xi32>, 0, 1280) {bd_id = 2 : i32, match.at = 102 : i32}
      aie.use_lock(%l_3_3_in1_full, Release, 1)
      aie.next_bd ^bd3
    ^bd3:
      aie.use_lock(%l_3_3_in1_empty, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_3_3_in1_1 : memref<1280xi32>, 0, 1280) {bd_id = 3 : i32, match.at = 103 : i32}
      aie.use_lock(%l_3_3_in1_full, Release, 1)
      aie.next_bd ^bd2
    ^dma2:
      %2 = aie.dma_start(MM2S, 0, ^bd4, ^end)
    ^bd4:
      aie.use_lock(%l_3_3_out_full, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_3_3_out_0 : memref<64xi32>, 0, 64) {bd_id = 4 : i32, match.at = 110 : i32}
      aie.use_lock(%l_3_3_out_empty, Release, 1)
      aie.next_bd ^bd5
    ^bd5:
      aie.use_lock(%l_3_3_out_full, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_3_3_out_1 : memref<64xi32>, 0, 64) {bd_id = 5 : i32, match.at = 111 : i32}
      aie.use_lock(%l_3_3_out_empty, Release, 1)
      aie.next_bd ^bd4
    ^end:
      aie.end
    }
    %mem_3_4 = aie.mem(%tile_3_4) {
      %0 = aie.dma_start(S2MM, 0, ^bd0, ^dma1)
    ^bd0:
      aie.use_lock(%l_3_4_in0_empty, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_3_4_in0_0 : memref<64xi32>, 0, 64) {bd_id = 0 : i32, match.at = 92 : i32}
      aie.use_lock(%l_3_4_in0_full, Release, 1)
      aie.next_bd ^bd1
    ^bd1:
      aie.use_lock(%l_3_4_in0_empty, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_3_4_in0_1 : memref<64xi32>, 0, 64) {bd_id = 1 : i32, match.at = 93 : i32}
      aie.use_lock(%l_3_4_in0_full, Release, 1)
      aie.next_bd ^bd0
    ^dma1:
      %1 = aie.dma_start(S2MM, 1, ^bd2, ^dma2)
    ^bd2:
      aie.use_lock(%l_3_4_in1_empty, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_3_4_in1_0 : memref<1280xi32>, 0, 1280) {bd_id = 2 : i32, match.at = 104 : i32}
      aie.use_lock(%l_3_4_in1_full, Release, 1)
      aie.next_bd ^bd3
    ^bd3:
      aie.use_lock(%l_3_4_in1_empty, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_3_4_in1_1 : memref<1280xi32>, 0, 1280) {bd_id = 3 : i32, match.at = 105 : i32}
      aie.use_lock(%l_3_4_in1_full, Release, 1)
      aie.next_bd ^bd2
    ^dma2:
      %2 = aie.dma_start(MM2S, 0, ^bd4, ^end)
    ^bd4:
      aie.use_lock(%l_3_4_out_full, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_3_4_out_0 : memref<64xi32>, 0, 64) {bd_id = 4 : i32, match.at = 114 : i32}
      aie.use_lock(%l_3_4_out_empty, Release, 1)
      aie.next_bd ^bd5
    ^bd5:
      aie.use_lock(%l_3_4_out_full, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_3_4_out_1 : memref<64xi32>, 0, 64) {bd_id = 5 : i32, match.at = 115 : i32}
      aie.use_lock(%l_3_4_out_empty, Release, 1)
      aie.next_bd ^bd4
    ^end:
      aie.end
    }
    %core_0_2 = aie.core(%tile_0_2) {
      %first = arith.constant 0 : index
      %step = arith.constant 1 : index
      %forever = arith.constant 4294967295 : index
      %at0 = arith.constant 0 : i32
      scf.for %run = %first to %forever step %step {
        aie.use_lock(%l_0_2_in0_full, AcquireGreaterEqual, 1)
        aie.use_lock(%l_0_2_in1_full, AcquireGreaterEqual, 1)
        func.call @dense_first_begins(%b_0_2_in0_0, %b_0_2_in1_0, %b_0_2_sums_0, %at0) : (memref<32xi32>, memref<80xi32>, memref<128xi32>, i32) -> ()
        aie.use_lock(%l_0_2_in0_empty, Release, 1)
        aie.use_lock(%l_0_2_in1_empty, Release, 1)
        %pairs = memref.load %b_0_2_turns_0[%first] : memref<8xi32>
        %turns = arith.index_cast %pairs : i32 to index
        scf.for %turn = %first to %turns step %step {
          aie.use_lock(%l_0_2_in0_full, AcquireGreaterEqual, 1)
          aie.use_lock(%l_0_2_in1_full, AcquireGreaterEqual, 1)
          func.call @dense_first_goes_on(%b_0_2_in0_1, %b_0_2_in1_1, %b_0_2_sums_0, %at0) : (memref<32xi32>, memref<80xi32>, memref<128xi32>, i32) -> ()
          aie.use_lock(%l_0_2_in0_empty, Release, 1)
          aie.use_lock(%l_0_2_in1_empty, Release, 1)
          aie.use_lock(%l_0_2_in0_full, AcquireGreaterEqual, 1)
          aie.use_lock(%l_0_2_in1_full, AcquireGreaterEqual, 1)
          func.call @dense_first_goes_on(%b_0_2_in0_0, %b_0_2_in1_0, %b_0_2_sums_0, %at0) : (memref<32xi32>, memref<80xi32>, memref<128xi32>, i32) -> ()
          aie.use_lock(%l_0_2_in0_empty, Release, 1)
          aie.use_lock(%l_0_2_in1_empty, Release, 1)
        }
        aie.use_lock(%l_0_2_in0_full, AcquireGreaterEqual, 1)
        aie.use_lock(%l_0_2_in1_full, AcquireGreaterEqual, 1)
        func.call @dense_first_ends(%b_0_2_in0_1, %b_0_2_in1_1, %b_0_2_sums_0, %at0) : (memref<32xi32>, memref<80xi32>, memref<128xi32>, i32) -> ()
        aie.use_lock(%l_0_2_in0_empty, Release, 1)
        aie.use_lock(%l_0_2_in1_empty, Release, 1)
      }
      aie.end
    } {link_with = "dense_first.o", match.at = 3 : i32, match.banks = [3], match.bytes = 1024 : i32, match.name = "stack", match.blocks_each = array<i32: 8, 4, 8>, match.firings_each = array<i32: 1, 2, 1>, stack_size = 4064 : i32}
    %core_1_2 = aie.core(%tile_1_2) {
      %first = arith.constant 0 : index
      %step = arith.constant 1 : index
      %forever = arith.constant 4294967295 : index
      %at0 = arith.constant 0 : i32
      scf.for %run = %first to %forever step %step {
        aie.use_lock(%l_1_2_in0_full, AcquireGreaterEqual, 1)
        aie.use_lock(%l_1_2_in1_full, AcquireGreaterEqual, 1)
        func.call @dense_last_begins(%b_1_2_in0_0, %b_1_2_in1_0, %b_1_2_sums_0, %b_1_2_out_0, %at0) : (memref<32xi32>, memref<96xi32>, memref<128xi32>, memref<32xi32>, i32) -> ()
        aie.use_lock(%l_1_2_in0_empty, Release, 1)
        aie.use_lock(%l_1_2_in1_empty, Release, 1)
        %pairs = memref.load %b_1_2_turns_0[%first] : memref<8xi32>
        %turns = arith.index_cast %pairs : i32 to index
        scf.for %turn = %first to %turns step %step {
          aie.use_lock(%l_1_2_in0_full, AcquireGreaterEqual, 1)
          aie.use_lock(%l_1_2_in1_full, AcquireGreaterEqual, 1)
          func.call @dense_last_goes_on(%b_1_2_in0_1, %b_1_2_in1_1, %b_1_2_sums_0, %b_1_2_out_0, %at0) : (memref<32xi32>, memref<96xi32>, memref<128xi32>, memref<32xi32>, i32) -> ()
          aie.use_lock(%l_1_2_in0_empty, Release, 1)
          aie.use_lock(%l_1_2_in1_empty, Release, 1)
          aie.use_lock(%l_1_2_in0_full, AcquireGreaterEqual, 1)
          aie.use_lock(%l_1_2_in1_full, AcquireGreaterEqual, 1)
          func.call @dense_last_goes_on(%b_1_2_in0_0, %b_1_2_in1_0, %b_1_2_sums_0, %b_1_2_out_0, %at0) : (memref<32xi32>, memref<96xi32>, memref<128xi32>, memref<32xi32>, i32) -> ()
          aie.use_lock(%l_1_2_in0_empty, Release, 1)
          aie.use_lock(%l_1_2_in1_empty, Release, 1)
        }
        %shift = memref.load %b_1_2_turns_0[%step] : memref<8xi32>
        aie.use_lock(%l_1_2_in0_full, AcquireGreaterEqual, 1)
        aie.use_lock(%l_1_2_in1_full, AcquireGreaterEqual, 1)
        aie.use_lock(%l_1_2_out_empty, AcquireGreaterEqual, 1)
        func.call @dense_last_ends(%b_1_2_in0_1, %b_1_2_in1_1, %b_1_2_sums_0, %b_1_2_out_0, %at0, %shift) : (memref<32xi32>, memref<96xi32>, memref<128xi32>, memref<32xi32>, i32, i32) -> ()
        aie.use_lock(%l_1_2_in0_empty, Release, 1)
        aie.use_lock(%l_1_2_in1_empty, Release, 1)
        aie.use_lock(%l_1_2_out_full, Release, 1)
      }
      aie.end
    } {link_with = "dense_last.o", match.at = 8 : i32, match.banks = [3], match.bytes = 1024 : i32, match.name = "stack", match.blocks_each = array<i32: 8, 4, 8>, match.firings_each = array<i32: 1, 2, 1>, stack_size = 4064 : i32}
    %core_0_3 = aie.core(%tile_0_3) {
      %first = arith.constant 0 : index
      %step = arith.constant 1 : index
      %forever = arith.constant 4294967295 : index
      %at0 = arith.constant 0 : i32
      scf.for %run = %first to %forever step %step {
        aie.use_lock(%l_0_3_in0_full, AcquireGreaterEqual, 1)
        aie.use_lock(%l_0_3_in1_full, AcquireGreaterEqual, 1)
        func.call @dense_first_begins(%b_0_3_in0_0, %b_0_3_in1_0, %b_0_3_sums_0, %at0) : (memref<32xi32>, memref<80xi32>, memref<128xi32>, i32) -> ()
        aie.use_lock(%l_0_3_in0_empty, Release, 1)
        aie.use_lock(%l_0_3_in1_empty, Release, 1)
        %pairs = memref.load %b_0_3_turns_0[%first] : memref<8xi32>
        %turns = arith.index_cast %pairs : i32 to index
        scf.for %turn = %first to %turns step %step {
          aie.use_lock(%l_0_3_in0_full, AcquireGreaterEqual, 1)
          aie.use_lock(%l_0_3_in1_full, AcquireGreaterEqual, 1)
          func.call @dense_first_goes_on(%b_0_3_in0_1, %b_0_3_in1_1, %b_0_3_sums_0, %at0) : (memref<32xi32>, memref<80xi32>, memref<128xi32>, i32) -> ()
          aie.use_lock(%l_0_3_in0_empty, Release, 1)
          aie.use_lock(%l_0_3_in1_empty, Release, 1)
          aie.use_lock(%l_0_3_in0_full, AcquireGreaterEqual, 1)
          aie.use_lock(%l_0_3_in1_full, AcquireGreaterEqual, 1)
          func.call @dense_first_goes_on(%b_0_3_in0_0, %b_0_3_in1_0, %b_0_3_sums_0, %at0) : (memref<32xi32>, memref<80xi32>, memref<128xi32>, i32) -> ()
          aie.use_lock(%l_0_3_in0_empty, Release, 1)
          aie.use_lock(%l_0_3_in1_empty, Release, 1)
        }
        aie.use_lock(%l_0_3_in0_full, AcquireGreaterEqual, 1)
        aie.use_lock(%l_0_3_in1_full, AcquireGreaterEqual, 1)
        func.call @dense_first_ends(%b_0_3_in0_1, %b_0_3_in1_1, %b_0_3_sums_0, %at0) : (memref<32xi32>, memref<80xi32>, memref<128xi32>, i32) -> ()
        aie.use_lock(%l_0_3_in0_empty, Release, 1)
        aie.use_lock(%l_0_3_in1_empty, Release, 1)
      }
      aie.end
    } {link_with = "dense_first.o", match.at = 12 : i32, match.banks = [3], match.bytes = 1024 : i32, match.name = "stack", match.blocks_each = array<i32: 8, 4, 8>, match.firings_each = array<i32: 1, 2, 1>, stack_size = 4064 : i32}
    %core_1_3 = aie.core(%tile_1_3) {
      %first = arith.constant 0 : index
      %step = arith.constant 1 : index
      %forever = arith.constant 4294967295 : index
      %at0 = arith.constant 0 : i32
      scf.for %run = %first to %forever step %step {
        aie.use_lock(%l_1_3_in0_full, AcquireGreaterEqual, 1)
        aie.use_lock(%l_1_3_in1_full, AcquireGreaterEqual, 1)
        func.call @dense_last_begins(%b_1_3_in0_0, %b_1_3_in1_0, %b_1_3_sums_0, %b_1_3_out_0, %at0) : (memref<32xi32>, memref<96xi32>, memref<128xi32>, memref<32xi32>, i32) -> ()
        aie.use_lock(%l_1_3_in0_empty, Release, 1)
        aie.use_lock(%l_1_3_in1_empty, Release, 1)
        %pairs = memref.load %b_1_3_turns_0[%first] : memref<8xi32>
        %turns = arith.index_cast %pairs : i32 to index
        scf.for %turn = %first to %turns step %step {
          aie.use_lock(%l_1_3_in0_full, AcquireGreaterEqual, 1)
          aie.use_lock(%l_1_3_in1_full, AcquireGreaterEqual, 1)
          func.call @dense_last_goes_on(%b_1_3_in0_1, %b_1_3_in1_1, %b_1_3_sums_0, %b_1_3_out_0, %at0) : (memref<32xi32>, memref<96xi32>, memref<128xi32>, memref<32xi32>, i32) -> ()
          aie.use_lock(%l_1_3_in0_empty, Release, 1)
          aie.use_lock(%l_1_3_in1_empty, Release, 1)
          aie.use_lock(%l_1_3_in0_full, AcquireGreaterEqual, 1)
          aie.use_lock(%l_1_3_in1_full, AcquireGreaterEqual, 1)
          func.call @dense_last_goes_on(%b_1_3_in0_0, %b_1_3_in1_0, %b_1_3_sums_0, %b_1_3_out_0, %at0) : (memref<32xi32>, memref<96xi32>, memref<128xi32>, memref<32xi32>, i32) -> ()
          aie.use_lock(%l_1_3_in0_empty, Release, 1)
          aie.use_lock(%l_1_3_in1_empty, Release, 1)
        }
        %shift = memref.load %b_1_3_turns_0[%step] : memref<8xi32>
        aie.use_lock(%l_1_3_in0_full, AcquireGreaterEqual, 1)
        aie.use_lock(%l_1_3_in1_full, AcquireGreaterEqual, 1)
        aie.use_lock(%l_1_3_out_empty, AcquireGreaterEqual, 1)
        func.call @dense_last_ends(%b_1_3_in0_1, %b_1_3_in1_1, %b_1_3_sums_0, %b_1_3_out_0, %at0, %shift) : (memref<32xi32>, memref<96xi32>, memref<128xi32>, memref<32xi32>, i32, i32) -> ()
        aie.use_lock(%l_1_3_in0_empty, Release, 1)
        aie.use_lock(%l_1_3_in1_empty, Release, 1)
        aie.use_lock(%l_1_3_out_full, Release, 1)
      }
      aie.end
    } {link_with = "dense_last.o", match.at = 17 : i32, match.banks = [3], match.bytes = 1024 : i32, match.name = "stack", match.blocks_each = array<i32: 8, 4, 8>, match.firings_each = array<i32: 1, 2, 1>, stack_size = 4064 : i32}
    %core_0_4 = aie.core(%tile_0_4) {
      %first = arith.constant 0 : index
      %step = arith.constant 1 : index
      %forever = arith.constant 4294967295 : index
      %at0 = arith.constant 0 : i32
      scf.for %run = %first to %forever step %step {
        aie.use_lock(%l_0_4_in0_full, AcquireGreaterEqual, 1)
        aie.use_lock(%l_0_4_in1_full, AcquireGreaterEqual, 1)
        func.call @dense_first_begins(%b_0_4_in0_0, %b_0_4_in1_0, %b_0_4_sums_0, %at0) : (memref<32xi32>, memref<80xi32>, memref<128xi32>, i32) -> ()
        aie.use_lock(%l_0_4_in0_empty, Release, 1)
        aie.use_lock(%l_0_4_in1_empty, Release, 1)
        %pairs = memref.load %b_0_4_turns_0[%first] : memref<8xi32>
        %turns = arith.index_cast %pairs : i32 to index
        scf.for %turn = %first to %turns step %step {
          aie.use_lock(%l_0_4_in0_full, AcquireGreaterEqual, 1)
          aie.use_lock(%l_0_4_in1_full, AcquireGreaterEqual, 1)
          func.call @dense_first_goes_on(%b_0_4_in0_1, %b_0_4_in1_1, %b_0_4_sums_0, %at0) : (memref<32xi32>, memref<80xi32>, memref<128xi32>, i32) -> ()
          aie.use_lock(%l_0_4_in0_empty, Release, 1)
          aie.use_lock(%l_0_4_in1_empty, Release, 1)
          aie.use_lock(%l_0_4_in0_full, AcquireGreaterEqual, 1)
          aie.use_lock(%l_0_4_in1_full, AcquireGreaterEqual, 1)
          func.call @dense_first_goes_on(%b_0_4_in0_0, %b_0_4_in1_0, %b_0_4_sums_0, %at0) : (memref<32xi32>, memref<80xi32>, memref<128xi32>, i32) -> ()
          aie.use_lock(%l_0_4_in0_empty, Release, 1)
          aie.use_lock(%l_0_4_in1_empty, Release, 1)
        }
        aie.use_lock(%l_0_4_in0_full, AcquireGreaterEqual, 1)
        aie.use_lock(%l_0_4_in1_full, AcquireGreaterEqual, 1)
        func.call @dense_first_ends(%b_0_4_in0_1, %b_0_4_in1_1, %b_0_4_sums_0, %at0) : (memref<32xi32>, memref<80xi32>, memref<128xi32>, i32) -> ()
        aie.use_lock(%l_0_4_in0_empty, Release, 1)
        aie.use_lock(%l_0_4_in1_empty, Release, 1)
      }
      aie.end
    } {link_with = "dense_first.o", match.at = 21 : i32, match.banks = [3], match.bytes = 1024 : i32, match.name = "stack", match.blocks_each = array<i32: 8, 4, 8>, match.firings_each = array<i32: 1, 2, 1>, stack_size = 4064 : i32}
    %core_1_4 = aie.core(%tile_1_4) {
      %first = arith.constant 0 : index
      %step = arith.constant 1 : index
      %forever = arith.constant 4294967295 : index
      %at0 = arith.constant 0 : i32
      scf.for %run = %first to %forever step %step {
        aie.use_lock(%l_1_4_in0_full, AcquireGreaterEqual, 1)
        aie.use_lock(%l_1_4_in1_full, AcquireGreaterEqual, 1)
        func.call @dense_last_begins(%b_1_4_in0_0, %b_1_4_in1_0, %b_1_4_sums_0, %b_1_4_out_0, %at0) : (memref<32xi32>, memref<96xi32>, memref<128xi32>, memref<32xi32>, i32) -> ()
        aie.use_lock(%l_1_4_in0_empty, Release, 1)
        aie.use_lock(%l_1_4_in1_empty, Release, 1)
        %pairs = memref.load %b_1_4_turns_0[%first] : memref<8xi32>
        %turns = arith.index_cast %pairs : i32 to index
        scf.for %turn = %first to %turns step %step {
          aie.use_lock(%l_1_4_in0_full, AcquireGreaterEqual, 1)
          aie.use_lock(%l_1_4_in1_full, AcquireGreaterEqual, 1)
          func.call @dense_last_goes_on(%b_1_4_in0_1, %b_1_4_in1_1, %b_1_4_sums_0, %b_1_4_out_0, %at0) : (memref<32xi32>, memref<96xi32>, memref<128xi32>, memref<32xi32>, i32) -> ()
          aie.use_lock(%l_1_4_in0_empty, Release, 1)
          aie.use_lock(%l_1_4_in1_empty, Release, 1)
          aie.use_lock(%l_1_4_in0_full, AcquireGreaterEqual, 1)
          aie.use_lock(%l_1_4_in1_full, AcquireGreaterEqual, 1)
          func.call @dense_last_goes_on(%b_1_4_in0_0, %b_1_4_in1_0, %b_1_4_sums_0, %b_1_4_out_0, %at0) : (memref<32xi32>, memref<96xi32>, memref<128xi32>, memref<32xi32>, i32) -> ()
          aie.use_lock(%l_1_4_in0_empty, Release, 1)
          aie.use_lock(%l_1_4_in1_empty, Release, 1)
        }
        %shift = memref.load %b_1_4_turns_0[%step] : memref<8xi32>
        aie.use_lock(%l_1_4_in0_full, AcquireGreaterEqual, 1)
        aie.use_lock(%l_1_4_in1_full, AcquireGreaterEqual, 1)
        aie.use_lock(%l_1_4_out_empty, AcquireGreaterEqual, 1)
        func.call @dense_last_ends(%b_1_4_in0_1, %b_1_4_in1_1, %b_1_4_sums_0, %b_1_4_out_0, %at0, %shift) : (memref<32xi32>, memref<96xi32>, memref<128xi32>, memref<32xi32>, i32, i32) -> ()
        aie.use_lock(%l_1_4_in0_empty, Release, 1)
        aie.use_lock(%l_1_4_in1_empty, Release, 1)
        aie.use_lock(%l_1_4_out_full, Release, 1)
      }
      aie.end
    } {link_with = "dense_last.o", match.at = 26 : i32, match.banks = [3], match.bytes = 1024 : i32, match.name = "stack", match.blocks_each = array<i32: 8, 4, 8>, match.firings_each = array<i32: 1, 2, 1>, stack_size = 4064 : i32}
    %core_0_5 = aie.core(%tile_0_5) {
      %first = arith.constant 0 : index
      %step = arith.constant 1 : index
      %forever = arith.constant 4294967295 : index
      %at0 = arith.constant 0 : i32
      scf.for %run = %first to %forever step %step {
        aie.use_lock(%l_0_5_in0_full, AcquireGreaterEqual, 1)
        aie.use_lock(%l_0_5_in1_full, AcquireGreaterEqual, 1)
        func.call @dense_first_begins(%b_0_5_in0_0, %b_0_5_in1_0, %b_0_5_sums_0, %at0) : (memref<32xi32>, memref<80xi32>, memref<128xi32>, i32) -> ()
        aie.use_lock(%l_0_5_in0_empty, Release, 1)
        aie.use_lock(%l_0_5_in1_empty, Release, 1)
        %pairs = memref.load %b_0_5_turns_0[%first] : memref<8xi32>
        %turns = arith.index_cast %pairs : i32 to index
        scf.for %turn = %first to %turns step %step {
          aie.use_lock(%l_0_5_in0_full, AcquireGreaterEqual, 1)
          aie.use_lock(%l_0_5_in1_full, AcquireGreaterEqual, 1)
          func.call @dense_first_goes_on(%b_0_5_in0_1, %b_0_5_in1_1, %b_0_5_sums_0, %at0) : (memref<32xi32>, memref<80xi32>, memref<128xi32>, i32) -> ()
          aie.use_lock(%l_0_5_in0_empty, Release, 1)
          aie.use_lock(%l_0_5_in1_empty, Release, 1)
          aie.use_lock(%l_0_5_in0_full, AcquireGreaterEqual, 1)
          aie.use_lock(%l_0_5_in1_full, AcquireGreaterEqual, 1)
          func.call @dense_first_goes_on(%b_0_5_in0_0, %b_0_5_in1_0, %b_0_5_sums_0, %at0) : (memref<32xi32>, memref<80xi32>, memref<128xi32>, i32) -> ()
          aie.use_lock(%l_0_5_in0_empty, Release, 1)
          aie.use_lock(%l_0_5_in1_empty, Release, 1)
        }
        aie.use_lock(%l_0_5_in0_full, AcquireGreaterEqual, 1)
        aie.use_lock(%l_0_5_in1_full, AcquireGreaterEqual, 1)
        func.call @dense_first_ends(%b_0_5_in0_1, %b_0_5_in1_1, %b_0_5_sums_0, %at0) : (memref<32xi32>, memref<80xi32>, memref<128xi32>, i32) -> ()
        aie.use_lock(%l_0_5_in0_empty, Release, 1)
        aie.use_lock(%l_0_5_in1_empty, Release, 1)
      }
      aie.end
    } {link_with = "dense_first.o", match.at = 30 : i32, match.banks = [3], match.bytes = 1024 : i32, match.name = "stack", match.blocks_each = array<i32: 8, 4, 8>, match.firings_each = array<i32: 1, 2, 1>, stack_size = 4064 : i32}
    %core_1_5 = aie.core(%tile_1_5) {
      %first = arith.constant 0 : index
      %step = arith.constant 1 : index
      %forever = arith.constant 4294967295 : index
      %at0 = arith.constant 0 : i32
      scf.for %run = %first to %forever step %step {
        aie.use_lock(%l_1_5_in0_full, AcquireGreaterEqual, 1)
        aie.use_lock(%l_1_5_in1_full, AcquireGreaterEqual, 1)
        func.call @dense_last_begins(%b_1_5_in0_0, %b_1_5_in1_0, %b_1_5_sums_0, %b_1_5_out_0, %at0) : (memref<32xi32>, memref<96xi32>, memref<128xi32>, memref<32xi32>, i32) -> ()
        aie.use_lock(%l_1_5_in0_empty, Release, 1)
        aie.use_lock(%l_1_5_in1_empty, Release, 1)
        %pairs = memref.load %b_1_5_turns_0[%first] : memref<8xi32>
        %turns = arith.index_cast %pairs : i32 to index
        scf.for %turn = %first to %turns step %step {
          aie.use_lock(%l_1_5_in0_full, AcquireGreaterEqual, 1)
          aie.use_lock(%l_1_5_in1_full, AcquireGreaterEqual, 1)
          func.call @dense_last_goes_on(%b_1_5_in0_1, %b_1_5_in1_1, %b_1_5_sums_0, %b_1_5_out_0, %at0) : (memref<32xi32>, memref<96xi32>, memref<128xi32>, memref<32xi32>, i32) -> ()
          aie.use_lock(%l_1_5_in0_empty, Release, 1)
          aie.use_lock(%l_1_5_in1_empty, Release, 1)
          aie.use_lock(%l_1_5_in0_full, AcquireGreaterEqual, 1)
          aie.use_lock(%l_1_5_in1_full, AcquireGreaterEqual, 1)
          func.call @dense_last_goes_on(%b_1_5_in0_0, %b_1_5_in1_0, %b_1_5_sums_0, %b_1_5_out_0, %at0) : (memref<32xi32>, memref<96xi32>, memref<128xi32>, memref<32xi32>, i32) -> ()
          aie.use_lock(%l_1_5_in0_empty, Release, 1)
          aie.use_lock(%l_1_5_in1_empty, Release, 1)
        }
        %shift = memref.load %b_1_5_turns_0[%step] : memref<8xi32>
        aie.use_lock(%l_1_5_in0_full, AcquireGreaterEqual, 1)
        aie.use_lock(%l_1_5_in1_full, AcquireGreaterEqual, 1)
        aie.use_lock(%l_1_5_out_empty, AcquireGreaterEqual, 1)
        func.call @dense_last_ends(%b_1_5_in0_1, %b_1_5_in1_1, %b_1_5_sums_0, %b_1_5_out_0, %at0, %shift) : (memref<32xi32>, memref<96xi32>, memref<128xi32>, memref<32xi32>, i32, i32) -> ()
        aie.use_lock(%l_1_5_in0_empty, Release, 1)
        aie.use_lock(%l_1_5_in1_empty, Release, 1)
        aie.use_lock(%l_1_5_out_full, Release, 1)
      }
      aie.end
    } {link_with = "dense_last.o", match.at = 35 : i32, match.banks = [3], match.bytes = 1024 : i32, match.name = "stack", match.blocks_each = array<i32: 8, 4, 8>, match.firings_each = array<i32: 1, 2, 1>, stack_size = 4064 : i32}
    %core_3_2 = aie.core(%tile_3_2) {
      %first = arith.constant 0 : index
      %step = arith.constant 1 : index
      %forever = arith.constant 4294967295 : index
      %at0 = arith.constant 0 : i32
      %at1 = arith.constant 1 : i32
      %at2 = arith.constant 2 : i32
      scf.for %run = %first to %forever step %step {
        aie.use_lock(%l_3_2_in0_full, AcquireGreaterEqual, 1)
        aie.use_lock(%l_3_2_in1_full, AcquireGreaterEqual, 1)
        func.call @scores_attention_0(%b_3_2_in0_0, %b_3_2_in1_0, %b_3_2_w_0, %b_3_2_cd_0, %b_3_2_bias0_0, %b_3_2_bias1_0, %b_3_2_out_0, %b_3_2_scratch_0, %at0) : (memref<64xi32>, memref<1280xi32>, memref<512xi32>, memref<512xi32>, memref<80xi32>, memref<64xi32>, memref<64xi32>, memref<1616xi32>, i32) -> ()
        aie.use_lock(%l_3_2_in1_empty, Release, 1)
        func.call @scores_attention_1(%b_3_2_in0_0, %b_3_2_in1_0, %b_3_2_w_0, %b_3_2_cd_0, %b_3_2_bias0_0, %b_3_2_bias1_0, %b_3_2_out_0, %b_3_2_scratch_0, %at1) : (memref<64xi32>, memref<1280xi32>, memref<512xi32>, memref<512xi32>, memref<80xi32>, memref<64xi32>, memref<64xi32>, memref<1616xi32>, i32) -> ()
        aie.use_lock(%l_3_2_in1_full, AcquireGreaterEqual, 1)
        aie.use_lock(%l_3_2_out_empty, AcquireGreaterEqual, 1)
        func.call @scores_attention_2(%b_3_2_in0_0, %b_3_2_in1_1, %b_3_2_w_0, %b_3_2_cd_0, %b_3_2_bias0_0, %b_3_2_bias1_0, %b_3_2_out_0, %b_3_2_scratch_0, %at2) : (memref<64xi32>, memref<1280xi32>, memref<512xi32>, memref<512xi32>, memref<80xi32>, memref<64xi32>, memref<64xi32>, memref<1616xi32>, i32) -> ()
        aie.use_lock(%l_3_2_in0_empty, Release, 1)
        aie.use_lock(%l_3_2_in1_empty, Release, 1)
        aie.use_lock(%l_3_2_out_full, Release, 1)
        aie.use_lock(%l_3_2_in0_full, AcquireGreaterEqual, 1)
        aie.use_lock(%l_3_2_in1_full, AcquireGreaterEqual, 1)
        func.call @scores_attention_0(%b_3_2_in0_1, %b_3_2_in1_0, %b_3_2_w_0, %b_3_2_cd_0, %b_3_2_bias0_0, %b_3_2_bias1_0, %b_3_2_out_0, %b_3_2_scratch_0, %at0) : (memref<64xi32>, memref<1280xi32>, memref<512xi32>, memref<512xi32>, memref<80xi32>, memref<64xi32>, memref<64xi32>, memref<1616xi32>, i32) -> ()
        aie.use_lock(%l_3_2_in1_empty, Release, 1)
        func.call @scores_attention_1(%b_3_2_in0_1, %b_3_2_in1_0, %b_3_2_w_0, %b_3_2_cd_0, %b_3_2_bias0_0, %b_3_2_bias1_0, %b_3_2_out_0, %b_3_2_scratch_0, %at1) : (memref<64xi32>, memref<1280xi32>, memref<512xi32>, memref<512xi32>, memref<80xi32>, memref<64xi32>, memref<64xi32>, memref<1616xi32>, i32) -> ()
        aie.use_lock(%l_3_2_in1_full, AcquireGreaterEqual, 1)
        aie.use_lock(%l_3_2_out_empty, AcquireGreaterEqual, 1)
        func.call @scores_attention_2(%b_3_2_in0_1, %b_3_2_in1_1, %b_3_2_w_0, %b_3_2_cd_0, %b_3_2_bias0_0, %b_3_2_bias1_0, %b_3_2_out_1, %b_3_2_scratch_0, %at2) : (memref<64xi32>, memref<1280xi32>, memref<512xi32>, memref<512xi32>, memref<80xi32>, memref<64xi32>, memref<64xi32>, memref<1616xi32>, i32) -> ()
        aie.use_lock(%l_3_2_in0_empty, Release, 1)
        aie.use_lock(%l_3_2_in1_empty, Release, 1)
        aie.use_lock(%l_3_2_out_full, Release, 1)
      }
      aie.end
    } {link_with = "scores_attention.o", match.at = 43 : i32, match.banks = [3], match.bytes = 7488 : i32, match.name = "stack", match.runs = 2 : i32, stack_size = 1024 : i32}
    %core_3_3 = aie.core(%tile_3_3) {
      %first = arith.constant 0 : index
      %step = arith.constant 1 : index
      %forever = arith.constant 4294967295 : index
      %at0 = arith.constant 0 : i32
      %at1 = arith.constant 1 : i32
      %at2 = arith.constant 2 : i32
      scf.for %run = %first to %forever step %step {
        aie.use_lock(%l_3_3_in0_full, AcquireGreaterEqual, 1)
        aie.use_lock(%l_3_3_in1_full, AcquireGreaterEqual, 1)
        func.call @scores_attention_0(%b_3_3_in0_0, %b_3_3_in1_0, %b_3_3_w_0, %b_3_3_cd_0, %b_3_3_bias0_0, %b_3_3_bias1_0, %b_3_3_out_0, %b_3_3_scratch_0, %at0) : (memref<64xi32>, memref<1280xi32>, memref<512xi32>, memref<512xi32>, memref<80xi32>, memref<64xi32>, memref<64xi32>, memref<1616xi32>, i32) -> ()
        aie.use_lock(%l_3_3_in1_empty, Release, 1)
        func.call @scores_attention_1(%b_3_3_in0_0, %b_3_3_in1_0, %b_3_3_w_0, %b_3_3_cd_0, %b_3_3_bias0_0, %b_3_3_bias1_0, %b_3_3_out_0, %b_3_3_scratch_0, %at1) : (memref<64xi32>, memref<1280xi32>, memref<512xi32>, memref<512xi32>, memref<80xi32>, memref<64xi32>, memref<64xi32>, memref<1616xi32>, i32) -> ()
        aie.use_lock(%l_3_3_in1_full, AcquireGreaterEqual, 1)
        aie.use_lock(%l_3_3_out_empty, AcquireGreaterEqual, 1)
        func.call @scores_attention_2(%b_3_3_in0_0, %b_3_3_in1_1, %b_3_3_w_0, %b_3_3_cd_0, %b_3_3_bias0_0, %b_3_3_bias1_0, %b_3_3_out_0, %b_3_3_scratch_0, %at2) : (memref<64xi32>, memref<1280xi32>, memref<512xi32>, memref<512xi32>, memref<80xi32>, memref<64xi32>, memref<64xi32>, memref<1616xi32>, i32) -> ()
        aie.use_lock(%l_3_3_in0_empty, Release, 1)
        aie.use_lock(%l_3_3_in1_empty, Release, 1)
        aie.use_lock(%l_3_3_out_full, Release, 1)
        aie.use_lock(%l_3_3_in0_full, AcquireGreaterEqual, 1)
        aie.use_lock(%l_3_3_in1_full, AcquireGreaterEqual, 1)
        func.call @scores_attention_0(%b_3_3_in0_1, %b_3_3_in1_0, %b_3_3_w_0, %b_3_3_cd_0, %b_3_3_bias0_0, %b_3_3_bias1_0, %b_3_3_out_0, %b_3_3_scratch_0, %at0) : (memref<64xi32>, memref<1280xi32>, memref<512xi32>, memref<512xi32>, memref<80xi32>, memref<64xi32>, memref<64xi32>, memref<1616xi32>, i32) -> ()
        aie.use_lock(%l_3_3_in1_empty, Release, 1)
        func.call @scores_attention_1(%b_3_3_in0_1, %b_3_3_in1_0, %b_3_3_w_0, %b_3_3_cd_0, %b_3_3_bias0_0, %b_3_3_bias1_0, %b_3_3_out_0, %b_3_3_scratch_0, %at1) : (memref<64xi32>, memref<1280xi32>, memref<512xi32>, memref<512xi32>, memref<80xi32>, memref<64xi32>, memref<64xi32>, memref<1616xi32>, i32) -> ()
        aie.use_lock(%l_3_3_in1_full, AcquireGreaterEqual, 1)
        aie.use_lock(%l_3_3_out_empty, AcquireGreaterEqual, 1)
        func.call @scores_attention_2(%b_3_3_in0_1, %b_3_3_in1_1, %b_3_3_w_0, %b_3_3_cd_0, %b_3_3_bias0_0, %b_3_3_bias1_0, %b_3_3_out_1, %b_3_3_scratch_0, %at2) : (memref<64xi32>, memref<1280xi32>, memref<512xi32>, memref<512xi32>, memref<80xi32>, memref<64xi32>, memref<64xi32>, memref<1616xi32>, i32) -> ()
        aie.use_lock(%l_3_3_in0_empty, Release, 1)
        aie.use_lock(%l_3_3_in1_empty, Release, 1)
        aie.use_lock(%l_3_3_out_full, Release, 1)
      }
      aie.end
    } {link_with = "scores_attention.o", match.at = 51 : i32, match.banks = [3], match.bytes = 7488 : i32, match.name = "stack", match.runs = 2 : i32, stack_size = 1024 : i32}
    %core_3_4 = aie.core(%tile_3_4) {
      %first = arith.constant 0 : index
      %step = arith.constant 1 : index
      %forever = arith.constant 4294967295 : index
      %at0 = arith.constant 0 : i32
      %at1 = arith.constant 1 : i32
      %at2 = arith.constant 2 : i32
      scf.for %run = %first to %forever step %step {
        aie.use_lock(%l_3_4_in0_full, AcquireGreaterEqual, 1)
        aie.use_lock(%l_3_4_in1_full, AcquireGreaterEqual, 1)
        func.call @scores_attention_0(%b_3_4_in0_0, %b_3_4_in1_0, %b_3_4_w_0, %b_3_4_cd_0, %b_3_4_bias0_0, %b_3_4_bias1_0, %b_3_4_out_0, %b_3_4_scratch_0, %at0) : (memref<64xi32>, memref<1280xi32>, memref<512xi32>, memref<512xi32>, memref<80xi32>, memref<64xi32>, memref<64xi32>, memref<1616xi32>, i32) -> ()
        aie.use_lock(%l_3_4_in1_empty, Release, 1)
        func.call @scores_attention_1(%b_3_4_in0_0, %b_3_4_in1_0, %b_3_4_w_0, %b_3_4_cd_0, %b_3_4_bias0_0, %b_3_4_bias1_0, %b_3_4_out_0, %b_3_4_scratch_0, %at1) : (memref<64xi32>, memref<1280xi32>, memref<512xi32>, memref<512xi32>, memref<80xi32>, memref<64xi32>, memref<64xi32>, memref<1616xi32>, i32) -> ()
        aie.use_lock(%l_3_4_in1_full, AcquireGreaterEqual, 1)
        aie.use_lock(%l_3_4_out_empty, AcquireGreaterEqual, 1)
        func.call @scores_attention_2(%b_3_4_in0_0, %b_3_4_in1_1, %b_3_4_w_0, %b_3_4_cd_0, %b_3_4_bias0_0, %b_3_4_bias1_0, %b_3_4_out_0, %b_3_4_scratch_0, %at2) : (memref<64xi32>, memref<1280xi32>, memref<512xi32>, memref<512xi32>, memref<80xi32>, memref<64xi32>, memref<64xi32>, memref<1616xi32>, i32) -> ()
        aie.use_lock(%l_3_4_in0_empty, Release, 1)
        aie.use_lock(%l_3_4_in1_empty, Release, 1)
        aie.use_lock(%l_3_4_out_full, Release, 1)
        aie.use_lock(%l_3_4_in0_full, AcquireGreaterEqual, 1)
        aie.use_lock(%l_3_4_in1_full, AcquireGreaterEqual, 1)
        func.call @scores_attention_0(%b_3_4_in0_1, %b_3_4_in1_0, %b_3_4_w_0, %b_3_4_cd_0, %b_3_4_bias0_0, %b_3_4_bias1_0, %b_3_4_out_0, %b_3_4_scratch_0, %at0) : (memref<64xi32>, memref<1280xi32>, memref<512xi32>, memref<512xi32>, memref<80xi32>, memref<64xi32>, memref<64xi32>, memref<1616xi32>, i32) -> ()
        aie.use_lock(%l_3_4_in1_empty, Release, 1)
        func.call @scores_attention_1(%b_3_4_in0_1, %b_3_4_in1_0, %b_3_4_w_0, %b_3_4_cd_0, %b_3_4_bias0_0, %b_3_4_bias1_0, %b_3_4_out_0, %b_3_4_scratch_0, %at1) : (memref<64xi32>, memref<1280xi32>, memref<512xi32>, memref<512xi32>, memref<80xi32>, memref<64xi32>, memref<64xi32>, memref<1616xi32>, i32) -> ()
        aie.use_lock(%l_3_4_in1_full, AcquireGreaterEqual, 1)
        aie.use_lock(%l_3_4_out_empty, AcquireGreaterEqual, 1)
        func.call @scores_attention_2(%b_3_4_in0_1, %b_3_4_in1_1, %b_3_4_w_0, %b_3_4_cd_0, %b_3_4_bias0_0, %b_3_4_bias1_0, %b_3_4_out_1, %b_3_4_scratch_0, %at2) : (memref<64xi32>, memref<1280xi32>, memref<512xi32>, memref<512xi32>, memref<80xi32>, memref<64xi32>, memref<64xi32>, memref<1616xi32>, i32) -> ()
        aie.use_lock(%l_3_4_in0_empty, Release, 1)
        aie.use_lock(%l_3_4_in1_empty, Release, 1)
        aie.use_lock(%l_3_4_out_full, Release, 1)
      }
      aie.end
    } {link_with = "scores_attention.o", match.at = 59 : i32, match.banks = [3], match.bytes = 7488 : i32, match.name = "stack", match.runs = 2 : i32, stack_size = 1024 : i32}
    aie.shim_dma_allocation @dense_x_way0 (%tile_0_0, MM2S, 0)
    aie.shim_dma_allocation @dense_w_way0 (%tile_0_0, MM2S, 1)
    aie.shim_dma_allocation @dense_x_way1 (%tile_1_0, MM2S, 0)
    aie.shim_dma_allocation @dense_w_way1 (%tile_1_0, MM2S, 1)
    aie.shim_dma_allocation @dense_y_way0 (%tile_1_0, S2MM, 0)
    aie.shim_dma_allocation @dense_y_way1 (%tile_1_0, S2MM, 1)
    aie.shim_dma_allocation @beside_x_0 (%tile_3_0, MM2S, 0)
    aie.shim_dma_allocation @beside_x1_0 (%tile_3_0, MM2S, 1)
    aie.shim_dma_allocation @beside_x2_0 (%tile_2_0, MM2S, 0)
    aie.shim_dma_allocation @beside_y_0 (%tile_3_0, S2MM, 0)
    aie.runtime_sequence @short(%inputs: memref<1024xi32>, %constants: memref<5632xi32>, %outputs: memref<1024xi32>) {
      aiex.npu.rtp_write(@b_0_2_turns_0, 0, 0)
      aiex.npu.rtp_write(@b_1_2_turns_0, 0, 0)
      aiex.npu.rtp_write(@b_1_2_turns_0, 1, 28)
      aiex.npu.rtp_write(@b_0_3_turns_0, 0, 0)
      aiex.npu.rtp_write(@b_1_3_turns_0, 0, 0)
      aiex.npu.rtp_write(@b_1_3_turns_0, 1, 28)
      aiex.npu.rtp_write(@b_0_4_turns_0, 0, 0)
      aiex.npu.rtp_write(@b_1_4_turns_0, 0, 0)
      aiex.npu.rtp_write(@b_1_4_turns_0, 1, 28)
      aiex.npu.rtp_write(@b_0_5_turns_0, 0, 0)
      aiex.npu.rtp_write(@b_1_5_turns_0, 0, 0)
      aiex.npu.rtp_write(@b_1_5_turns_0, 1, 28)
      aiex.npu.dma_memcpy_nd(%inputs[0, 0, 0, 0][8, 2, 8, 4][128, 4, 16, 1]) {id = 0 : i64, metadata = @dense_x_way0} : memref<1024xi32>
      aiex.npu.dma_memcpy_nd(%constants[0, 0, 0, 0][1, 1, 1, 2560][0, 0, 0, 1]) {id = 1 : i64, metadata = @dense_w_way0} : memref<5632xi32>
      aiex.npu.dma_memcpy_nd(%inputs[0, 0, 0, 8][8, 2, 8, 4][128, 4, 16, 1]) {id = 0 : i64, metadata = @dense_x_way1} : memref<1024xi32>
      aiex.npu.dma_memcpy_nd(%constants[0, 0, 0, 2560][1, 1, 1, 3072][0, 0, 0, 1]) {id = 1 : i64, metadata = @dense_w_way1} : memref<5632xi32>
      aiex.npu.dma_memcpy_nd(%outputs[0, 0, 0, 0][1, 2, 32, 8][0, 8, 16, 1]) {id = 2 : i64, issue_token = true, metadata = @dense_y_way0} : memref<1024xi32>
      aiex.npu.dma_memcpy_nd(%outputs[0, 0, 0, 512][1, 2, 32, 8][0, 8, 16, 1]) {id = 3 : i64, issue_token = true, metadata = @dense_y_way1} : memref<1024xi32>
      aiex.npu.dma_wait {symbol = @dense_y_way0}
      aiex.npu.dma_wait {symbol = @dense_y_way1}
    }
    aie.runtime_sequence @long(%inputs: memref<2048xi32>, %constants: memref<5632xi32>, %outputs: memref<512xi32>) {
      aiex.npu.rtp_write(@b_0_2_turns_0, 0, 3)
      aiex.npu.rtp_write(@b_1_2_turns_0, 0, 3)
      aiex.npu.rtp_write(@b_1_2_turns_0, 1, 28)
      aiex.npu.rtp_write(@b_0_3_turns_0, 0, 3)
      aiex.npu.rtp_write(@b_1_3_turns_0, 0, 3)
      aiex.npu.rtp_write(@b_1_3_turns_0, 1, 28)
      aiex.npu.rtp_write(@b_0_4_turns_0, 0, 3)
      aiex.npu.rtp_write(@b_1_4_turns_0, 0, 3)
      aiex.npu.rtp_write(@b_1_4_turns_0, 1, 28)
      aiex.npu.rtp_write(@b_0_5_turns_0, 0, 3)
      aiex.npu.rtp_write(@b_1_5_turns_0, 0, 3)
      aiex.npu.rtp_write(@b_1_5_turns_0, 1, 28)
      aiex.npu.dma_memcpy_nd(%inputs[0, 0, 0, 0][4, 8, 8, 4][512, 4, 64, 1]) {id = 0 : i64, metadata = @dense_x_way0} : memref<2048xi32>
      aiex.npu.dma_memcpy_nd(%constants[0, 0, 0, 0][2, 1, 1, 2560][0, 0, 0, 1]) {id = 1 : i64, metadata = @dense_w_way0} : memref<5632xi32>
      aiex.npu.dma_memcpy_nd(%inputs[0, 0, 0, 32][4, 8, 8, 4][512, 4, 64, 1]) {id = 0 : i64, metadata = @dense_x_way1} : memref<2048xi32>
      aiex.npu.dma_memcpy_nd(%constants[0, 0, 0, 2560][2, 1, 1, 3072][0, 0, 0, 1]) {id = 1 : i64, metadata = @dense_w_way1} : memref<5632xi32>
      aiex.npu.dma_memcpy_nd(%outputs[0, 0, 0, 0][2, 2, 8, 8][256, 8, 16, 1]) {id = 2 : i64, issue_token = true, metadata = @dense_y_way0} : memref<512xi32>
      aiex.npu.dma_memcpy_nd(%outputs[0, 0, 0, 128][2, 2, 8, 8][256, 8, 16, 1]) {id = 3 : i64, issue_token = true, metadata = @dense_y_way1} : memref<512xi32>
      aiex.npu.dma_wait {symbol = @dense_y_way0}
      aiex.npu.dma_wait {symbol = @dense_y_way1}
    }
    aie.runtime_sequence @scores(%inputs: memref<2752xi32>, %outputs: memref<192xi32>) {
      aiex.npu.rtp_write(@b_0_2_turns_0, 0, 0)
      aiex.npu.rtp_write(@b_1_2_turns_0, 0, 0)
      aiex.npu.rtp_write(@b_1_2_turns_0, 1, 28)
      aiex.npu.rtp_write(@b_0_3_turns_0, 0, 0)
      aiex.npu.rtp_write(@b_1_3_turns_0, 0, 0)
      aiex.npu.rtp_write(@b_1_3_turns_0, 1, 28)
      aiex.npu.rtp_write(@b_0_4_turns_0, 0, 0)
      aiex.npu.rtp_write(@b_1_4_turns_0, 0, 0)
      aiex.npu.rtp_write(@b_1_4_turns_0, 1, 28)
      aiex.npu.rtp_write(@b_0_5_turns_0, 0, 0)
      aiex.npu.rtp_write(@b_1_5_turns_0, 0, 0)
      aiex.npu.rtp_write(@b_1_5_turns_0, 1, 28)
      aiex.npu.dma_memcpy_nd(%inputs[0, 0, 0, 0][1, 1, 1, 192][0, 0, 0, 1]) {id = 0 : i64, metadata = @beside_x_0} : memref<2752xi32>
      aiex.npu.dma_memcpy_nd(%inputs[0, 0, 0, 192][1, 1, 1, 1280][0, 0, 0, 1]) {id = 1 : i64, metadata = @beside_x1_0} : memref<2752xi32>
      aiex.npu.dma_memcpy_nd(%inputs[0, 0, 0, 1472][1, 1, 1, 1280][0, 0, 0, 1]) {id = 0 : i64, metadata = @beside_x2_0} : memref<2752xi32>
      aiex.npu.dma_memcpy_nd(%outputs[0, 0, 0, 0][1, 1, 1, 192][0, 0, 0, 1]) {id = 2 : i64, issue_token = true, metadata = @beside_y_0} : memref<192xi32>
      aiex.npu.dma_wait {symbol = @beside_y_0}
    }
  } {match.core_macs = 1 : i64, match.macs = 0 : i64}
}
