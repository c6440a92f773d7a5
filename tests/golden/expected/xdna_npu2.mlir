module attributes {match.mlir = "2026-03"} {
  aie.device(npu2) {
    func.func private @dense_chain_layer0_only_0(memref<32xi32>, memref<32xi32>, memref<8xi32>, memref<16xi32>, i32)
    %tile_0_0 = aie.tile(0, 0)
    %tile_0_1 = aie.tile(0, 1)
    %tile_0_2 = aie.tile(0, 2)
    %tile_0_3 = aie.tile(0, 3)
    %tile_0_4 = aie.tile(0, 4)
    %tile_0_5 = aie.tile(0, 5)
    %l_0_2_in0_empty = aie.lock(%tile_0_2, 0) {init = 2 : i32, match.buffer = "in0", match.highest = 2 : i32, match.index = 0 : i32, match.state = "empty", sym_name = "l_0_2_in0_empty"}
    %l_0_2_in0_full = aie.lock(%tile_0_2, 1) {init = 0 : i32, match.buffer = "in0", match.highest = 2 : i32, match.index = 1 : i32, match.state = "full", sym_name = "l_0_2_in0_full"}
    %l_0_2_out_empty = aie.lock(%tile_0_2, 2) {init = 2 : i32, match.buffer = "out", match.highest = 2 : i32, match.index = 2 : i32, match.state = "empty", sym_name = "l_0_2_out_empty"}
    %l_0_2_out_full = aie.lock(%tile_0_2, 3) {init = 0 : i32, match.buffer = "out", match.highest = 2 : i32, match.index = 3 : i32, match.state = "full", sym_name = "l_0_2_out_full"}
    %l_0_3_in0_empty = aie.lock(%tile_0_3, 0) {init = 2 : i32, match.buffer = "in0", match.highest = 2 : i32, match.index = 0 : i32, match.state = "empty", sym_name = "l_0_3_in0_empty"}
    %l_0_3_in0_full = aie.lock(%tile_0_3, 1) {init = 0 : i32, match.buffer = "in0", match.highest = 2 : i32, match.index = 1 : i32, match.state = "full", sym_name = "l_0_3_in0_full"}
    %l_0_3_out_empty = aie.lock(%tile_0_3, 2) {init = 2 : i32, match.buffer = "out", match.highest = 2 : i32, match.index = 2 : i32, match.state = "empty", sym_name = "l_0_3_out_empty"}
    %l_0_3_out_full = aie.lock(%tile_0_3, 3) {init = 0 : i32, match.buffer = "out", match.highest = 2 : i32, match.index = 3 : i32, match.state = "full", sym_name = "l_0_3_out_full"}
    %l_0_4_in0_empty = aie.lock(%tile_0_4, 0) {init = 2 : i32, match.buffer = "in0", match.highest = 2 : i32, match.index = 0 : i32, match.state = "empty", sym_name = "l_0_4_in0_empty"}
    %l_0_4_in0_full = aie.lock(%tile_0_4, 1) {init = 0 : i32, match.buffer = "in0", match.highest = 2 : i32, match.index = 1 : i32, match.state = "full", sym_name = "l_0_4_in0_full"}
    %l_0_4_out_empty = aie.lock(%tile_0_4, 2) {init = 2 : i32, match.buffer = "out", match.highest = 2 : i32, match.index = 2 : i32, match.state = "empty", sym_name = "l_0_4_out_empty"}
    %l_0_4_out_full = aie.lock(%tile_0_4, 3) {init = 0 : i32, match.buffer = "out", match.highest = 2 : i32, match.index = 3 : i32, match.state = "full", sym_name = "l_0_4_out_full"}
    %l_0_5_in0_empty = aie.lock(%tile_0_5, 0) {init = 2 : i32, match.buffer = "in0", match.highest = 2 : i32, match.index = 0 : i32, match.state = "empty", sym_name = "l_0_5_in0_empty"}
    %l_0_5_in0_full = aie.lock(%tile_0_5, 1) {init = 0 : i32, match.buffer = "in0", match.highest = 2 : i32, match.index = 1 : i32, match.state = "full", sym_name = "l_0_5_in0_full"}
    %l_0_5_out_empty = aie.lock(%tile_0_5, 2) {init = 2 : i32, match.buffer = "out", match.highest = 2 : i32, match.index = 2 : i32, match.state = "empty", sym_name = "l_0_5_out_empty"}
    %l_0_5_out_full = aie.lock(%tile_0_5, 3) {init = 0 : i32, match.buffer = "out", match.highest = 2 : i32, match.index = 3 : i32, match.state = "full", sym_name = "l_0_5_out_full"}
    %l_0_1_x0_empty_0 = aie.lock(%tile_0_1, 0) {init = 2 : i32, match.buffer = "x0", match.highest = 2 : i32, match.index = 0 : i32, match.state = "empty", sym_name = "l_0_1_x0_empty_0"}
    %l_0_1_x0_empty_1 = aie.lock(%tile_0_1, 1) {init = 2 : i32, match.buffer = "x0", sym_name = "l_0_1_x0_empty_1"}
    %l_0_1_x0_full = aie.lock(%tile_0_1, 2) {init = 0 : i32, match.buffer = "x0", match.highest = 2 : i32, match.index = 1 : i32, match.state = "full", sym_name = "l_0_1_x0_full"}
    %l_0_1_x0_read_1 = aie.lock(%tile_0_1, 3) {init = 0 : i32, match.buffer = "x0", sym_name = "l_0_1_x0_read_1"}
    %l_0_1_y0_empty = aie.lock(%tile_0_1, 4) {init = 2 : i32, match.buffer = "y0", match.highest = 2 : i32, match.index = 2 : i32, match.state = "empty", sym_name = "l_0_1_y0_empty"}
    %l_0_1_y0_full_0 = aie.lock(%tile_0_1, 5) {init = 0 : i32, match.buffer = "y0", match.highest = 2 : i32, match.index = 3 : i32, match.state = "full", sym_name = "l_0_1_y0_full_0"}
    %l_0_1_y0_full_1 = aie.lock(%tile_0_1, 6) {init = 0 : i32, match.buffer = "y0", sym_name = "l_0_1_y0_full_1"}
    %l_0_1_y0_write_1 = aie.lock(%tile_0_1, 7) {init = 0 : i32, match.buffer = "y0", sym_name = "l_0_1_y0_write_1"}
    %l_0_1_y0_write_2 = aie.lock(%tile_0_1, 8) {init = 0 : i32, match.buffer = "y0", sym_name = "l_0_1_y0_write_2"}
    %l_0_1_y0_write_3 = aie.lock(%tile_0_1, 9) {init = 0 : i32, match.buffer = "y0", sym_name = "l_0_1_y0_write_3"}
    %b_0_1_x0_0 = aie.buffer(%tile_0_1) {address = 0 : i32, match.at = 20 : i32, match.banks = [], match.bytes = 256 : i32, match.copy = 0 : i32, match.fills = 1 : i32, match.name = "x0", match.role = "a", sym_name = "b_0_1_x0_0"} : memref<64xi32>
    %b_0_1_x0_1 = aie.buffer(%tile_0_1) {address = 256 : i32, match.at = 20 : i32, match.banks = [], match.bytes = 256 : i32, match.copy = 1 : i32, match.fills = 1 : i32, match.name = "x0", match.role = "a", sym_name = "b_0_1_x0_1"} : memref<64xi32>
    %b_0_1_y0_0 = aie.buffer(%tile_0_1) {address = 512 : i32, match.at = 21 : i32, match.banks = [], match.bytes = 256 : i32, match.copy = 0 : i32, match.fills = 1 : i32, match.name = "y0", match.role = "a", sym_name = "b_0_1_y0_0"} : memref<64xi32>
    %b_0_1_y0_1 = aie.buffer(%tile_0_1) {address = 768 : i32, match.at = 21 : i32, match.banks = [], match.bytes = 256 : i32, match.copy = 1 : i32, match.fills = 1 : i32, match.name = "y0", match.role = "a", sym_name = "b_0_1_y0_1"} : memref<64xi32>
    %b_0_2_bias_0 = aie.buffer(%tile_0_2) {address = 4096 : i32, match.at = 2 : i32, match.banks = [3], match.bytes = 32 : i32, match.copy = 0 : i32, match.dtype = "int32", match.fills = 0 : i32, match.name = "bias", match.role = "bias", mem_bank = 0 : i32, sym_name = "b_0_2_bias_0"} : memref<8xi32> = dense<"0x65F3FFFFBDF5FFFFA2FCFFFF12FBFFFFECF9FFFF570E0000BA0B000058020000">
    %b_0_2_out_0 = aie.buffer(%tile_0_2) {address = 4160 : i32, match.at = 3 : i32, match.banks = [3], match.bytes = 64 : i32, match.copy = 0 : i32, match.fills = 1 : i32, match.name = "out", match.role = "out", mem_bank = 0 : i32, sym_name = "b_0_2_out_0"} : memref<16xi32>
    %b_0_2_out_1 = aie.buffer(%tile_0_2) {address = 4224 : i32, match.at = 3 : i32, match.banks = [3], match.bytes = 64 : i32, match.copy = 1 : i32, match.fills = 1 : i32, match.name = "out", match.role = "out", mem_bank = 0 : i32, sym_name = "b_0_2_out_1"} : memref<16xi32>
    %b_0_2_in0_0 = aie.buffer(%tile_0_2) {address = 16384 : i32, match.at = 0 : i32, match.banks = [0, 1], match.bytes = 128 : i32, match.copy = 0 : i32, match.fills = 1 : i32, match.name = "in0", match.role = "a", mem_bank = 1 : i32, sym_name = "b_0_2_in0_0"} : memref<32xi32>
    %b_0_2_in0_1 = aie.buffer(%tile_0_2) {address = 32768 : i32, match.at = 0 : i32, match.banks = [0, 1], match.bytes = 128 : i32, match.copy = 1 : i32, match.fills = 1 : i32, match.name = "in0", match.role = "a", mem_bank = 2 : i32, sym_name = "b_0_2_in0_1"} : memref<32xi32>
    %b_0_2_w_0 = aie.buffer(%tile_0_2) {address = 49152 : i32, match.at = 1 : i32, match.banks = [2], match.bytes = 128 : i32, match.copy = 0 : i32, match.dtype = "int8", match.fills = 0 : i32, match.name = "w", match.role = "w", mem_bank = 3 : i32, sym_name = "b_0_2_w_0"} : memref<32xi32> = dense<"0x71202F65144655BAA24C9FF851CED8C7027E4E4B331FD77DF28AA50478F74F6A7E8499B2783161B409C57761B00270593A021D5F2FDD2519E251E7E1137AE51710F1DCBE8EE75399FF5F982908A2585810B2406DBF0D8DAF7BE9B7BE368A78608F8738DF4D8868A0EF5F2ED88F17C82F7FA7EA6FCF82134178845D21FC4B7303">
    %b_0_3_bias_0 = aie.buffer(%tile_0_3) {address = 4096 : i32, match.at = 7 : i32, match.banks = [3], match.bytes = 32 : i32, match.copy = 0 : i32, match.dtype = "int32", match.fills = 0 : i32, match.name = "bias", match.role = "bias", mem_bank = 0 : i32, sym_name = "b_0_3_bias_0"} : memref<8xi32> = dense<"0x900F0000E1FAFFFF66F4FFFFB0F8FFFFDBF2FFFF770E000001F7FFFF39FEFFFF">
    %b_0_3_out_0 = aie.buffer(%tile_0_3) {address = 4160 : i32, match.at = 8 : i32, match.banks = [3], match.bytes = 64 : i32, match.copy = 0 : i32, match.fills = 1 : i32, match.name = "out", match.role = "out", mem_bank = 0 : i32, sym_name = "b_0_3_out_0"} : memref<16xi32>
    %b_0_3_out_1 = aie.buffer(%tile_0_3) {address = 4224 : i32, match.at = 8 : i32, match.banks = [3], match.bytes = 64 : i32, match.copy = 1 : i32, match.fills = 1 : i32, match.name = "out", match.role = "out", mem_bank = 0 : i32, sym_name = "b_0_3_out_1"} : memref<16xi32>
    %b_0_3_in0_0 = aie.buffer(%tile_0_3) {address = 16384 : i32, match.at = 5 : i32, match.banks = [0, 1], match.bytes = 128 : i32, match.copy = 0 : i32, match.fills = 1 : i32, match.name = "in0", match.role = "a", mem_bank = 1 : i32, sym_name = "b_0_3_in0_0"} : memref<32xi32>
    %b_0_3_in0_1 = aie.buffer(%tile_0_3) {address = 32768 : i32, match.at = 5 : i32, match.banks = [0, 1], match.bytes = 128 : i32, match.copy = 1 : i32, match.fills = 1 : i32, match.name = "in0", match.role = "a", mem_bank = 2 : i32, sym_name = "b_0_3_in0_1"} : memref<32xi32>
    %b_0_3_w_0 = aie.buffer(%tile_0_3) {address = 49152 : i32, match.at = 6 : i32, match.banks = [2], match.bytes = 128 : i32, match.copy = 0 : i32, match.dtype = "int8", match.fills = 0 : i32, match.name = "w", match.role = "w", mem_bank = 3 : i32, sym_name = "b_0_3_w_0"} : memref<32xi32> = dense<"0x8FCDC95F6982005238C17DF2FA01150EF7B758A95B1D9E8C5221F104C4FFE1C038DFFD811E542AA835248B3EF998BF0A9C9029E319D3BAA7F11BF2230C2D74A7E87773B7822C84CDFC711B677512C8A6E1627824151290E011F8430CFAD3F240EB779C283AEE95065DDB670508444A683E4F25A359EB5950973ABBBAB2B369DD">
    %b_0_4_bias_0 = aie.buffer(%tile_0_4) {address = 4096 : i32, match.at = 12 : i32, match.banks = [3], match.bytes = 32 : i32, match.copy = 0 : i32, match.dtype = "int32", match.fills = 0 : i32, match.name = "bias", match.role = "bias", mem_bank = 0 : i32, sym_name = "b_0_4_bias_0"} : memref<8xi32> = dense<"0x65F3FFFFBDF5FFFFA2FCFFFF12FBFFFFECF9FFFF570E0000BA0B000058020000">
    %b_0_4_out_0 = aie.buffer(%tile_0_4) {address = 4160 : i32, match.at = 13 : i32, match.banks = [3], match.bytes = 64 : i32, match.copy = 0 : i32, match.fills = 1 : i32, match.name = "out", match.role = "out", mem_bank = 0 : i32, sym_name = "b_0_4_out_0"} : memref<16xi32>
    %b_0_4_out_1 = aie.buffer(%tile_0_4) {address = 4224 : i32, match.at = 13 : i32, match.banks = [3], match.bytes = 64 : i32, match.copy = 1 : i32, match.fills = 1 : i32, match.name = "out", match.role = "out", mem_bank = 0 : i32, sym_name = "b_0_4_out_1"} : memref<16xi32>
    %b_0_4_in0_0 = aie.buffer(%tile_0_4) {address = 16384 : i32, match.at = 10 : i32, match.banks = [0, 1], match.bytes = 128 : i32, match.copy = 0 : i32, match.fills = 1 : i32, match.name = "in0", match.role = "a", mem_bank = 1 : i32, sym_name = "b_0_4_in0_0"} : memref<32xi32>
    %b_0_4_in0_1 = aie.buffer(%tile_0_4) {address = 32768 : i32, match.at = 10 : i32, match.banks = [0, 1], match.bytes = 128 : i32, match.copy = 1 : i32, match.fills = 1 : i32, match.name = "in0", match.role = "a", mem_bank = 2 : i32, sym_name = "b_0_4_in0_1"} : memref<32xi32>
    %b_0_4_w_0 = aie.buffer(%tile_0_4) {address = 49152 : i32, match.at = 11 : i32, match.banks = [2], match.bytes = 128 : i32, match.copy = 0 : i32, match.dtype = "int8", match.fills = 0 : i32, match.name = "w", match.role = "w", mem_bank = 3 : i32, sym_name = "b_0_4_w_0"} : memref<32xi32> = dense<"0x71202F65144655BAA24C9FF851CED8C7027E4E4B331FD77DF28AA50478F74F6A7E8499B2783161B409C57761B00270593A021D5F2FDD2519E251E7E1137AE51710F1DCBE8EE75399FF5F982908A2585810B2406DBF0D8DAF7BE9B7BE368A78608F8738DF4D8868A0EF5F2ED88F17C82F7FA7EA6FCF82134178845D21FC4B7303">
    %b_0_5_bias_0 = aie.buffer(%tile_0_5) {address = 4096 : i32, match.at = 17 : i32, match.banks = [3], match.bytes = 32 : i32, match.copy = 0 : i32, match.dtype = "int32", match.fills = 0 : i32, match.name = "bias", match.role = "bias", mem_bank = 0 : i32, sym_name = "b_0_5_bias_0"} : memref<8xi32> = dense<"0x900F0000E1FAFFFF66F4FFFFB0F8FFFFDBF2FFFF770E000001F7FFFF39FEFFFF">
    %b_0_5_out_0 = aie.buffer(%tile_0_5) {address = 4160 : i32, match.at = 18 : i32, match.banks = [3], match.bytes = 64 : i32, match.copy = 0 : i32, match.fills = 1 : i32, match.name = "out", match.role = "out", mem_bank = 0 : i32, sym_name = "b_0_5_out_0"} : memref<16xi32>
    %b_0_5_out_1 = aie.buffer(%tile_0_5) {address = 4224 : i32, match.at = 18 : i32, match.banks = [3], match.bytes = 64 : i32, match.copy = 1 : i32, match.fills = 1 : i32, match.name = "out", match.role = "out", mem_bank = 0 : i32, sym_name = "b_0_5_out_1"} : memref<16xi32>
    %b_0_5_in0_0 = aie.buffer(%tile_0_5) {address = 16384 : i32, match.at = 15 : i32, match.banks = [0, 1], match.bytes = 128 : i32, match.copy = 0 : i32, match.fills = 1 : i32, match.name = "in0", match.role = "a", mem_bank = 1 : i32, sym_name = "b_0_5_in0_0"} : memref<32xi32>
    %b_0_5_in0_1 = aie.buffer(%tile_0_5) {address = 32768 : i32, match.at = 15 : i32, match.banks = [0, 1], match.bytes = 128 : i32, match.copy = 1 : i32, match.fills = 1 : i32, match.name = "in0", match.role = "a", mem_bank = 2 : i32, sym_name = "b_0_5_in0_1"} : memref<32xi32>
    %b_0_5_w_0 = aie.buffer(%tile_0_5) {address = 49152 : i32, match.at = 16 : i32, match.banks = [2], match.bytes = 128 : i32, match.copy = 0 : i32, match.dtype = "int8", match.fills = 0 : i32, match.name = "w", match.role = "w", mem_bank = 3 : i32, sym_name = "b_0_5_w_0"} : memref<32xi32> = dense<"0x8FCDC95F6982005238C17DF2FA01150EF7B758A95B1D9E8C5221F104C4FFE1C038DFFD811E542AA835248B3EF998BF0A9C9029E319D3BAA7F11BF2230C2D74A7E87773B7822C84CDFC711B677512C8A6E1627824151290E011F8430CFAD3F240EB779C283AEE95065DDB670508444A683E4F25A359EB5950973ABBBAB2B369DD">
    aie.flow(%tile_0_0, DMA : 0, %tile_0_1, DMA : 0) {match.bytes = 256 : i64, match.name = "0 x to x0", match.role = "a", match.sends = 1 : i64}
    aie.flow(%tile_0_1, DMA : 1, %tile_0_2, DMA : 0) {match.bytes = 128 : i64, match.name = "1 x0 to in0 in0", match.role = "a", match.sends = 1 : i64}
    aie.flow(%tile_0_1, DMA : 1, %tile_0_3, DMA : 0)
    aie.flow(%tile_0_1, DMA : 0, %tile_0_4, DMA : 0) {match.bytes = 128 : i64, match.name = "2 x0 to in0 in0", match.role = "a", match.sends = 1 : i64}
    aie.flow(%tile_0_1, DMA : 0, %tile_0_5, DMA : 0)
    aie.flow(%tile_0_2, DMA : 0, %tile_0_1, DMA : 1) {match.bytes = 64 : i64, match.name = "3 out to y0", match.role = "out", match.sends = 1 : i64}
    aie.flow(%tile_0_3, DMA : 0, %tile_0_1, DMA : 2) {match.bytes = 64 : i64, match.name = "4 out to y0", match.role = "out", match.sends = 1 : i64}
    aie.flow(%tile_0_4, DMA : 0, %tile_0_1, DMA : 3) {match.bytes = 64 : i64, match.name = "5 out to y0", match.role = "out", match.sends = 1 : i64}
    aie.flow(%tile_0_5, DMA : 0, %tile_0_1, DMA : 4) {match.bytes = 64 : i64, match.name = "6 out to y0", match.role = "out", match.sends = 1 : i64}
    aie.flow(%tile_0_1, DMA : 3, %tile_0_0, DMA : 0) {match.bytes = 256 : i64, match.name = "7 y0 to y", match.role = "a", match.sends = 1 : i64}
    %memtile_dma_0_1 = aie.memtile_dma(%tile_0_1) {
      %0 = aie.dma_start(S2MM, 0, ^bd0, ^dma1)
    ^bd0:
      aie.use_lock(%l_0_1_x0_empty_0, AcquireGreaterEqual, 2)
      aie.dma_bd(%b_0_1_x0_0 : memref<64xi32>, 0, 64) {bd_id = 0 : i32, match.at = 0 : i32}
      aie.use_lock(%l_0_1_x0_full, Release, 1)
      aie.next_bd ^bd1
    ^bd1:
      aie.use_lock(%l_0_1_x0_empty_1, AcquireGreaterEqual, 2)
      aie.dma_bd(%b_0_1_x0_1 : memref<64xi32>, 0, 64) {bd_id = 1 : i32, match.at = 1 : i32}
      aie.use_lock(%l_0_1_x0_full, Release, 1)
      aie.next_bd ^bd0
    ^dma1:
      %1 = aie.dma_start(MM2S, 1, ^bd2, ^dma2)
    ^bd2:
      aie.use_lock(%l_0_1_x0_full, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_0_1_x0_0 : memref<64xi32>, 0, 16, [<size = 1, stride = 2>, <size = 8, stride = 4>, <size = 2, stride = 1>]) {bd_id = 24 : i32, match.at = 2 : i32}
      aie.use_lock(%l_0_1_x0_read_1, Release, 1)
      aie.next_bd ^bd3
    ^bd3:
      aie.dma_bd(%b_0_1_x0_0 : memref<64xi32>, 2, 16, [<size = 1, stride = 2>, <size = 8, stride = 4>, <size = 2, stride = 1>]) {bd_id = 32 : i32, match.rest = 2 : i32, match.split = 2 : i32}
      aie.use_lock(%l_0_1_x0_empty_0, Release, 1)
      aie.next_bd ^bd4
    ^bd4:
      aie.use_lock(%l_0_1_x0_full, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_0_1_x0_1 : memref<64xi32>, 0, 16, [<size = 1, stride = 2>, <size = 8, stride = 4>, <size = 2, stride = 1>]) {bd_id = 25 : i32, match.at = 3 : i32}
      aie.use_lock(%l_0_1_x0_read_1, Release, 1)
      aie.next_bd ^bd5
    ^bd5:
      aie.dma_bd(%b_0_1_x0_1 : memref<64xi32>, 2, 16, [<size = 1, stride = 2>, <size = 8, stride = 4>, <size = 2, stride = 1>]) {bd_id = 33 : i32, match.rest = 3 : i32, match.split = 2 : i32}
      aie.use_lock(%l_0_1_x0_empty_1, Release, 1)
      aie.next_bd ^bd2
    ^dma2:
      %2 = aie.dma_start(MM2S, 0, ^bd6, ^dma3)
    ^bd6:
      aie.use_lock(%l_0_1_x0_read_1, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_0_1_x0_0 : memref<64xi32>, 32, 32, [<size = 2, stride = 2>, <size = 8, stride = 4>, <size = 2, stride = 1>]) {bd_id = 2 : i32, match.at = 8 : i32}
      aie.use_lock(%l_0_1_x0_empty_0, Release, 1)
      aie.next_bd ^bd7
    ^bd7:
      aie.use_lock(%l_0_1_x0_read_1, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_0_1_x0_1 : memref<64xi32>, 32, 32, [<size = 2, stride = 2>, <size = 8, stride = 4>, <size = 2, stride = 1>]) {bd_id = 3 : i32, match.at = 9 : i32}
      aie.use_lock(%l_0_1_x0_empty_1, Release, 1)
      aie.next_bd ^bd6
    ^dma3:
      %3 = aie.dma_start(S2MM, 1, ^bd8, ^dma4)
    ^bd8:
      aie.use_lock(%l_0_1_y0_empty, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_0_1_y0_0 : memref<64xi32>, 0, 2, [<size = 1, stride = 4>, <size = 2, stride = 1>]) {bd_id = 26 : i32, match.at = 16 : i32}
      aie.use_lock(%l_0_1_y0_write_1, Release, 1)
      aie.next_bd ^bd9
    ^bd9:
      aie.dma_bd(%b_0_1_y0_0 : memref<64xi32>, 4, 14, [<size = 7, stride = 4>, <size = 2, stride = 1>]) {bd_id = 34 : i32, match.rest = 16 : i32, match.split = 1 : i32}
      aie.use_lock(%l_0_1_y0_full_0, Release, 1)
      aie.next_bd ^bd10
    ^bd10:
      aie.use_lock(%l_0_1_y0_empty, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_0_1_y0_1 : memref<64xi32>, 0, 2, [<size = 1, stride = 4>, <size = 2, stride = 1>]) {bd_id = 27 : i32, match.at = 17 : i32}
      aie.use_lock(%l_0_1_y0_write_1, Release, 1)
      aie.next_bd ^bd11
    ^bd11:
      aie.dma_bd(%b_0_1_y0_1 : memref<64xi32>, 4, 14, [<size = 7, stride = 4>, <size = 2, stride = 1>]) {bd_id = 35 : i32, match.rest = 17 : i32, match.split = 1 : i32}
      aie.use_lock(%l_0_1_y0_full_1, Release, 1)
      aie.next_bd ^bd8
    ^dma4:
      %4 = aie.dma_start(S2MM, 2, ^bd12, ^dma5)
    ^bd12:
      aie.use_lock(%l_0_1_y0_write_1, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_0_1_y0_0 : memref<64xi32>, 2, 2, [<size = 1, stride = 4>, <size = 2, stride = 1>]) {bd_id = 4 : i32, match.at = 20 : i32}
      aie.use_lock(%l_0_1_y0_write_2, Release, 1)
      aie.next_bd ^bd13
    ^bd13:
      aie.dma_bd(%b_0_1_y0_0 : memref<64xi32>, 6, 14, [<size = 7, stride = 4>, <size = 2, stride = 1>]) {bd_id = 8 : i32, match.rest = 20 : i32, match.split = 1 : i32}
      aie.use_lock(%l_0_1_y0_full_0, Release, 1)
      aie.next_bd ^bd14
    ^bd14:
      aie.use_lock(%l_0_1_y0_write_1, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_0_1_y0_1 : memref<64xi32>, 2, 2, [<size = 1, stride = 4>, <size = 2, stride = 1>]) {bd_id = 5 : i32, match.at = 21 : i32}
      aie.use_lock(%l_0_1_y0_write_2, Release, 1)
      aie.next_bd ^bd15
    ^bd15:
      aie.dma_bd(%b_0_1_y0_1 : memref<64xi32>, 6, 14, [<size = 7, stride = 4>, <size = 2, stride = 1>]) {bd_id = 9 : i32, match.rest = 21 : i32, match.split = 1 : i32}
      aie.use_lock(%l_0_1_y0_full_1, Release, 1)
      aie.next_bd ^bd12
    ^dma5:
      %5 = aie.dma_start(S2MM, 3, ^bd16, ^dma6)
    ^bd16:
      aie.use_lock(%l_0_1_y0_write_2, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_0_1_y0_0 : memref<64xi32>, 32, 2, [<size = 1, stride = 4>, <size = 2, stride = 1>]) {bd_id = 28 : i32, match.at = 24 : i32}
      aie.use_lock(%l_0_1_y0_write_3, Release, 1)
      aie.next_bd ^bd17
    ^bd17:
      aie.dma_bd(%b_0_1_y0_0 : memref<64xi32>, 36, 14, [<size = 7, stride = 4>, <size = 2, stride = 1>]) {bd_id = 36 : i32, match.rest = 24 : i32, match.split = 1 : i32}
      aie.use_lock(%l_0_1_y0_full_0, Release, 1)
      aie.next_bd ^bd18
    ^bd18:
      aie.use_lock(%l_0_1_y0_write_2, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_0_1_y0_1 : memref<64xi32>, 32, 2, [<size = 1, stride = 4>, <size = 2, stride = 1>]) {bd_id = 29 : i32, match.at = 25 : i32}
      aie.use_lock(%l_0_1_y0_write_3, Release, 1)
      aie.next_bd ^bd19
    ^bd19:
      aie.dma_bd(%b_0_1_y0_1 : memref<64xi32>, 36, 14, [<size = 7, stride = 4>, <size = 2, stride = 1>]) {bd_id = 37 : i32, match.rest = 25 : i32, match.split = 1 : i32}
      aie.use_lock(%l_0_1_y0_full_1, Release, 1)
      aie.next_bd ^bd16
    ^dma6:
      %6 = aie.dma_start(S2MM, 4, ^bd20, ^dma7)
    ^bd20:
      aie.use_lock(%l_0_1_y0_write_3, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_0_1_y0_0 : memref<64xi32>, 34, 16, [<size = 8, stride = 4>, <size = 2, stride = 1>]) {bd_id = 6 : i32, match.at = 28 : i32}
      aie.use_lock(%l_0_1_y0_full_0, Release, 1)
      aie.next_bd ^bd21
    ^bd21:
      aie.use_lock(%l_0_1_y0_write_3, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_0_1_y0_1 : memref<64xi32>, 34, 16, [<size = 8, stride = 4>, <size = 2, stride = 1>]) {bd_id = 7 : i32, match.at = 29 : i32}
      aie.use_lock(%l_0_1_y0_full_1, Release, 1)
      aie.next_bd ^bd20
    ^dma7:
      %7 = aie.dma_start(MM2S, 3, ^bd22, ^end)
    ^bd22:
      aie.use_lock(%l_0_1_y0_full_0, AcquireGreaterEqual, 4)
      aie.dma_bd(%b_0_1_y0_0 : memref<64xi32>, 0, 64) {bd_id = 30 : i32, match.at = 30 : i32}
      aie.use_lock(%l_0_1_y0_empty, Release, 1)
      aie.next_bd ^bd23
    ^bd23:
      aie.use_lock(%l_0_1_y0_full_1, AcquireGreaterEqual, 4)
      aie.dma_bd(%b_0_1_y0_1 : memref<64xi32>, 0, 64) {bd_id = 31 : i32, match.at = 31 : i32}
      aie.use_lock(%l_0_1_y0_empty, Release, 1)
      aie.next_bd ^bd22
    ^end:
      aie.end
    }
    %mem_0_2 = aie.mem(%tile_0_2) {
      %0 = aie.dma_start(S2MM, 0, ^bd0, ^dma1)
    ^bd0:
      aie.use_lock(%l_0_2_in0_empty, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_0_2_in0_0 : memref<32xi32>, 0, 32) {bd_id = 0 : i32, match.at = 4 : i32}
      aie.use_lock(%l_0_2_in0_full, Release, 1)
      aie.next_bd ^bd1
    ^bd1:
      aie.use_lock(%l_0_2_in0_empty, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_0_2_in0_1 : memref<32xi32>, 0, 32) {bd_id = 1 : i32, match.at = 5 : i32}
      aie.use_lock(%l_0_2_in0_full, Release, 1)
      aie.next_bd ^bd0
    ^dma1:
      %1 = aie.dma_start(MM2S, 0, ^bd2, ^end)
    ^bd2:
      aie.use_lock(%l_0_2_out_full, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_0_2_out_0 : memref<16xi32>, 0, 16) {bd_id = 2 : i32, match.at = 14 : i32}
      aie.use_lock(%l_0_2_out_empty, Release, 1)
      aie.next_bd ^bd3
    ^bd3:
      aie.use_lock(%l_0_2_out_full, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_0_2_out_1 : memref<16xi32>, 0, 16) {bd_id = 3 : i32, match.at = 15 : i32}
      aie.use_lock(%l_0_2_out_empty, Release, 1)
      aie.next_bd ^bd2
    ^end:
      aie.end
    }
    %mem_0_3 = aie.mem(%tile_0_3) {
      %0 = aie.dma_start(S2MM, 0, ^bd0, ^dma1)
    ^bd0:
      aie.use_lock(%l_0_3_in0_empty, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_0_3_in0_0 : memref<32xi32>, 0, 32) {bd_id = 0 : i32, match.at = 6 : i32}
      aie.use_lock(%l_0_3_in0_full, Release, 1)
      aie.next_bd ^bd1
    ^bd1:
      aie.use_lock(%l_0_3_in0_empty, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_0_3_in0_1 : memref<32xi32>, 0, 32) {bd_id = 1 : i32, match.at = 7 : i32}
      aie.use_lock(%l_0_3_in0_full, Release, 1)
      aie.next_bd ^bd0
    ^dma1:
      %1 = aie.dma_start(MM2S, 0, ^bd2, ^end)
    ^bd2:
      aie.use_lock(%l_0_3_out_full, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_0_3_out_0 : memref<16xi32>, 0, 16) {bd_id = 2 : i32, match.at = 18 : i32}
      aie.use_lock(%l_0_3_out_empty, Release, 1)
      aie.next_bd ^bd3
    ^bd3:
      aie.use_lock(%l_0_3_out_full, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_0_3_out_1 : memref<16xi32>, 0, 16) {bd_id = 3 : i32, match.at = 19 : i32}
      aie.use_lock(%l_0_3_out_empty, Release, 1)
      aie.next_bd ^bd2
    ^end:
      aie.end
    }
    %mem_0_4 = aie.mem(%tile_0_4) {
      %0 = aie.dma_start(S2MM, 0, ^bd0, ^dma1)
    ^bd0:
      aie.use_lock(%l_0_4_in0_empty, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_0_4_in0_0 : memref<32xi32>, 0, 32) {bd_id = 0 : i32, match.at = 10 : i32}
      aie.use_lock(%l_0_4_in0_full, Release, 1)
      aie.next_bd ^bd1
    ^bd1:
      aie.use_lock(%l_0_4_in0_empty, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_0_4_in0_1 : memref<32xi32>, 0, 32) {bd_id = 1 : i32, match.at = 11 : i32}
      aie.use_lock(%l_0_4_in0_full, Release, 1)
      aie.next_bd ^bd0
    ^dma1:
      %1 = aie.dma_start(MM2S, 0, ^bd2, ^end)
    ^bd2:
      aie.use_lock(%l_0_4_out_full, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_0_4_out_0 : memref<16xi32>, 0, 16) {bd_id = 2 : i32, match.at = 22 : i32}
      aie.use_lock(%l_0_4_out_empty, Release, 1)
      aie.next_bd ^bd3
    ^bd3:
      aie.use_lock(%l_0_4_out_full, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_0_4_out_1 : memref<16xi32>, 0, 16) {bd_id = 3 : i32, match.at = 23 : i32}
      aie.use_lock(%l_0_4_out_empty, Release, 1)
      aie.next_bd ^bd2
    ^end:
      aie.end
    }
    %mem_0_5 = aie.mem(%tile_0_5) {
      %0 = aie.dma_start(S2MM, 0, ^bd0, ^dma1)
    ^bd0:
      aie.use_lock(%l_0_5_in0_empty, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_0_5_in0_0 : memref<32xi32>, 0, 32) {bd_id = 0 : i32, match.at = 12 : i32}
      aie.use_lock(%l_0_5_in0_full, Release, 1)
      aie.next_bd ^bd1
    ^bd1:
      aie.use_lock(%l_0_5_in0_empty, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_0_5_in0_1 : memref<32xi32>, 0, 32) {bd_id = 1 : i32, match.at = 13 : i32}
      aie.use_lock(%l_0_5_in0_full, Release, 1)
      aie.next_bd ^bd0
    ^dma1:
      %1 = aie.dma_start(MM2S, 0, ^bd2, ^end)
    ^bd2:
      aie.use_lock(%l_0_5_out_full, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_0_5_out_0 : memref<16xi32>, 0, 16) {bd_id = 2 : i32, match.at = 26 : i32}
      aie.use_lock(%l_0_5_out_empty, Release, 1)
      aie.next_bd ^bd3
    ^bd3:
      aie.use_lock(%l_0_5_out_full, AcquireGreaterEqual, 1)
      aie.dma_bd(%b_0_5_out_1 : memref<16xi32>, 0, 16) {bd_id = 3 : i32, match.at = 27 : i32}
      aie.use_lock(%l_0_5_out_empty, Release, 1)
      aie.next_bd ^bd2
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
        aie.use_lock(%l_0_2_out_empty, AcquireGreaterEqual, 1)
        func.call @dense_chain_layer0_only_0(%b_0_2_in0_0, %b_0_2_w_0, %b_0_2_bias_0, %b_0_2_out_0, %at0) : (memref<32xi32>, memref<32xi32>, memref<8xi32>, memref<16xi32>, i32) -> ()
        aie.use_lock(%l_0_2_in0_empty, Release, 1)
        aie.use_lock(%l_0_2_out_full, Release, 1)
        aie.use_lock(%l_0_2_in0_full, AcquireGreaterEqual, 1)
        aie.use_lock(%l_0_2_out_empty, AcquireGreaterEqual, 1)
        func.call @dense_chain_layer0_only_0(%b_0_2_in0_1, %b_0_2_w_0, %b_0_2_bias_0, %b_0_2_out_1, %at0) : (memref<32xi32>, memref<32xi32>, memref<8xi32>, memref<16xi32>, i32) -> ()
        aie.use_lock(%l_0_2_in0_empty, Release, 1)
        aie.use_lock(%l_0_2_out_full, Release, 1)
      }
      aie.end
    } {link_with = "dense_chain_layer0_only.o", match.at = 4 : i32, match.banks = [3], match.bytes = 1024 : i32, match.name = "stack", match.runs = 2 : i32, stack_size = 4096 : i32}
    %core_0_3 = aie.core(%tile_0_3) {
      %first = arith.constant 0 : index
      %step = arith.constant 1 : index
      %forever = arith.constant 4294967295 : index
      %at0 = arith.constant 0 : i32
      scf.for %run = %first to %forever step %step {
        aie.use_lock(%l_0_3_in0_full, AcquireGreaterEqual, 1)
        aie.use_lock(%l_0_3_out_empty, AcquireGreaterEqual, 1)
        func.call @dense_chain_layer0_only_0(%b_0_3_in0_0, %b_0_3_w_0, %b_0_3_bias_0, %b_0_3_out_0, %at0) : (memref<32xi32>, memref<32xi32>, memref<8xi32>, memref<16xi32>, i32) -> ()
        aie.use_lock(%l_0_3_in0_empty, Release, 1)
        aie.use_lock(%l_0_3_out_full, Release, 1)
        aie.use_lock(%l_0_3_in0_full, AcquireGreaterEqual, 1)
        aie.use_lock(%l_0_3_out_empty, AcquireGreaterEqual, 1)
        func.call @dense_chain_layer0_only_0(%b_0_3_in0_1, %b_0_3_w_0, %b_0_3_bias_0, %b_0_3_out_1, %at0) : (memref<32xi32>, memref<32xi32>, memref<8xi32>, memref<16xi32>, i32) -> ()
        aie.use_lock(%l_0_3_in0_empty, Release, 1)
        aie.use_lock(%l_0_3_out_full, Release, 1)
      }
      aie.end
    } {link_with = "dense_chain_layer0_only.o", match.at = 9 : i32, match.banks = [3], match.bytes = 1024 : i32, match.name = "stack", match.runs = 2 : i32, stack_size = 4096 : i32}
    %core_0_4 = aie.core(%tile_0_4) {
      %first = arith.constant 0 : index
      %step = arith.constant 1 : index
      %forever = arith.constant 4294967295 : index
      %at0 = arith.constant 0 : i32
      scf.for %run = %first to %forever step %step {
        aie.use_lock(%l_0_4_in0_full, AcquireGreaterEqual, 1)
        aie.use_lock(%l_0_4_out_empty, AcquireGreaterEqual, 1)
        func.call @dense_chain_layer0_only_0(%b_0_4_in0_0, %b_0_4_w_0, %b_0_4_bias_0, %b_0_4_out_0, %at0) : (memref<32xi32>, memref<32xi32>, memref<8xi32>, memref<16xi32>, i32) -> ()
        aie.use_lock(%l_0_4_in0_empty, Release, 1)
        aie.use_lock(%l_0_4_out_full, Release, 1)
        aie.use_lock(%l_0_4_in0_full, AcquireGreaterEqual, 1)
        aie.use_lock(%l_0_4_out_empty, AcquireGreaterEqual, 1)
        func.call @dense_chain_layer0_only_0(%b_0_4_in0_1, %b_0_4_w_0, %b_0_4_bias_0, %b_0_4_out_1, %at0) : (memref<32xi32>, memref<32xi32>, memref<8xi32>, memref<16xi32>, i32) -> ()
        aie.use_lock(%l_0_4_in0_empty, Release, 1)
        aie.use_lock(%l_0_4_out_full, Release, 1)
      }
      aie.end
    } {link_with = "dense_chain_layer0_only.o", match.at = 14 : i32, match.banks = [3], match.bytes = 1024 : i32, match.name = "stack", match.runs = 2 : i32, stack_size = 4096 : i32}
    %core_0_5 = aie.core(%tile_0_5) {
      %first = arith.constant 0 : index
      %step = arith.constant 1 : index
      %forever = arith.constant 4294967295 : index
      %at0 = arith.constant 0 : i32
      scf.for %run = %first to %forever step %step {
        aie.use_lock(%l_0_5_in0_full, AcquireGreaterEqual, 1)
        aie.use_lock(%l_0_5_out_empty, AcquireGreaterEqual, 1)
        func.call @dense_chain_layer0_only_0(%b_0_5_in0_0, %b_0_5_w_0, %b_0_5_bias_0, %b_0_5_out_0, %at0) : (memref<32xi32>, memref<32xi32>, memref<8xi32>, memref<16xi32>, i32) -> ()
        aie.use_lock(%l_0_5_in0_empty, Release, 1)
        aie.use_lock(%l_0_5_out_full, Release, 1)
        aie.use_lock(%l_0_5_in0_full, AcquireGreaterEqual, 1)
        aie.use_lock(%l_0_5_out_empty, AcquireGreaterEqual, 1)
        func.call @dense_chain_layer0_only_0(%b_0_5_in0_1, %b_0_5_w_0, %b_0_5_bias_0, %b_0_5_out_1, %at0) : (memref<32xi32>, memref<32xi32>, memref<8xi32>, memref<16xi32>, i32) -> ()
        aie.use_lock(%l_0_5_in0_empty, Release, 1)
        aie.use_lock(%l_0_5_out_full, Release, 1)
      }
      aie.end
    } {link_with = "dense_chain_layer0_only.o", match.at = 19 : i32, match.banks = [3], match.bytes = 1024 : i32, match.name = "stack", match.runs = 2 : i32, stack_size = 4096 : i32}
    aie.shim_dma_allocation @x (%tile_0_0, MM2S, 0)
    aie.shim_dma_allocation @y (%tile_0_0, S2MM, 0)
    aie.runtime_sequence @sequence(%inputs: memref<64xi32>, %outputs: memref<64xi32>) {
      aiex.npu.dma_memcpy_nd(%inputs[0, 0, 0, 0][1, 1, 1, 64][0, 0, 0, 1]) {id = 0 : i64, metadata = @x} : memref<64xi32>
      aiex.npu.dma_memcpy_nd(%outputs[0, 0, 0, 0][1, 1, 1, 64][0, 0, 0, 1]) {id = 1 : i64, issue_token = true, metadata = @y} : memref<64xi32>
      aiex.npu.dma_wait {symbol = @y}
    }
  } {match.core_macs = 1 : i64, match.macs = 0 : i64}
}
