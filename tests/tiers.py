"""Which tests are slow, and which so long that continuous integration leaves them out.

Other marks stand at their tests. Here stand tests that were moved for their time alone, measured
with two processes on two cores: continuous integration has an hour, and on a slow machine it took
two. Most have a sister that still runs where they ran. These have none there: the fuzzer; what
GAP9's controller counts; sanitizers of kernels on several cores and of GAP9's networks; whole zoos
of the CPU, of GAP9 and of Versal (`check-target`); some of the compilers' own vector machines; a
network of megabytes on GAP9; on Versal MobileNet, layers of 512, blocks of BERT-base and ViT-tiny
and the order of mappings; Whisper's layer in its real size; a quick run of the benchmarks; and by
default compiling again and rates of calls. `make test` runs what is in neither list,
`make test-slow` what is slow, `make test-long` the rest: run that before a release. A case whose
name changes runs again where its function does: only names of functions are held to what there is.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

#: Test functions, or cases of them, of about nine seconds and more.
SLOW = """
tests/cc/gap9/test_handover.py::test_nothing_is_added_to_null[6000]
tests/cc/gap9/test_rows.py::test_the_binding_to_the_sdk_computes_the_same[separable]
tests/cc/gap9/test_streaming.py::test_neighbours_come_late_and_large_layers_in_parts[late]
tests/cc/layers/test_winograd.py::test_no_undefined_behaviour[9]
tests/cc/versal/test_recurrent.py::test_units_are_spread_over_tiles
tests/cc/versal/test_recurrent_apart.py::test_states_in_registers_equal_their_references[GRU-options0]
tests/cc/versal/test_recurrent_apart.py::test_the_emitted_network_equals_its_references[network-bf16-200]
tests/cc/versal/test_recurrent_apart.py::test_tiles_that_read_each_others_memory_equal_their_references[network-bf16-28]
tests/cc/versal/test_recurrent_apart.py::test_tiles_that_send_each_other_states_equal_their_references[network-bf16-20]
tests/cc/versal/test_recurrent_int8.py::test_many_inputs_equal_their_references
tests/cc/xdna/test_unshifted.py::test_a_layer_is_equal_to_its_reference[npu1-bf16]
tests/unit/targets/aie_ml/test_attention_stage.py::test_a_whole_block_is_one_pipeline[before]
tests/unit/targets/aie_ml/test_attention_stage.py::test_values_come_by_a_stream_of_their_own_where_one_would_be_the_bound[1-parts2-True]
tests/unit/targets/test_xdna.py::test_floats_are_exact_and_have_a_text[npu1-bf16]
tests/unit/targets/xdna/test_overlay_sizes.py::test_a_search_weighs_layers_together[npu2]
tests/unit/test_compiled_again.py::test_behind_other_compilations_from_a_cache_and_with_searches_elsewhere
tests/unit/test_slower_calls.py::test_calls_have_a_rate_at_most
""".strip().split("\n")

#: Slow ones of half a minute and more, or many of a kind of which some stay.
LONG = """
tests/cc/aie/test_dense.py::test_every_form[last-g++]
tests/cc/aie/test_dense.py::test_every_form[only-g++]
tests/cc/aie/test_dense.py::test_every_tiling[clang++]
tests/cc/aie/test_tilings.py::test_every_operator_in_every_tiling[2]
tests/cc/aie/test_tilings.py::test_every_operator_in_every_tiling[3]
tests/cc/gap9/test_any_banks.py::test_even_branches_are_faster_together_whatever_the_chip_is
tests/cc/gap9/test_any_banks.py::test_two_engines_are_faster_than_one_whatever_the_chip_is[trailing-priority-9]
tests/cc/gap9/test_chip_project.py::test_constants_of_l3_and_failures_of_it
tests/cc/gap9/test_chip_project.py::test_two_engines_at_once
tests/cc/gap9/test_chip_project.py::test_whole_networks[mobilenetv1_025]
tests/cc/gap9/test_cluster_kernels.py::test_equals_reference[gcc portable-conv2d]
tests/cc/gap9/test_cluster_kernels.py::test_equals_reference[gcc portable-halves]
tests/cc/gap9/test_cluster_kernels.py::test_equals_reference[gcc xpulp-halves]
tests/cc/gap9/test_cluster_kernels.py::test_floats_are_within_their_bounds[gcc portable]
tests/cc/gap9/test_cluster_kernels.py::test_floats_are_within_their_bounds[gcc xpulp]
tests/cc/gap9/test_cluster_kernels.py::test_three_hundred_products_of_16_bits[clang
tests/cc/gap9/test_cluster_kernels.py::test_three_hundred_products_of_16_bits[gcc xpulp-bf16]
tests/cc/gap9/test_cluster_kernels.py::test_three_hundred_products_of_16_bits[gcc xpulp-fp16]
tests/cc/gap9/test_division.py::test_a_shortcut_changes_the_unit_to_run_beside_the_other_branch
tests/cc/gap9/test_floats.py::test_the_zoo_is_held_to_what_16_bits_may_lose
tests/cc/gap9/test_pmsis.py::test_python_says_the_same[False-emulation/ma_chip.h-change0-of L1]
tests/cc/gap9/test_rows.py::test_bands_give_the_same_bits_and_fit[separable]
tests/cc/gap9/test_rows.py::test_less_room_means_more_bands_and_takes_longer[pooled]
tests/cc/gap9/test_trailing.py::test_a_sum_of_a_tensor_and_itself_trails_it_too
tests/cc/gap9/test_trailing.py::test_two_engines_are_never_slower_than_one
tests/cc/layers/test_cores.py::test_equals_reference[2-None]
tests/cc/layers/test_cores.py::test_no_data_race[gcc]
tests/cc/layers/test_cores.py::test_no_undefined_behaviour
tests/cc/layers/test_vectors.py::test_no_undefined_behaviour[1]
tests/cc/layers/test_winograd.py::test_no_data_race
tests/cc/layers/test_winograd.py::test_no_undefined_behaviour[3]
tests/cc/project/test_several.py::test_three_command_lines
tests/cc/real/test_real_cores.py::test_no_data_race
tests/cc/real/test_real_cores.py::test_no_undefined_behaviour
tests/cc/real/test_real_layers.py::test_close_to_reference_anywhere[clang
tests/cc/real/test_real_layers.py::test_no_undefined_behaviour[portable]
tests/cc/systolic/test_systolic.py::test_the_whole_zoo
tests/cc/systolic/test_two_arrays.py::test_they_compute_what_one_does[BlockedArrays]
tests/cc/testing/test_check_target.py::test_a_shipped_target_passes_the_whole_zoo[CPU]
tests/cc/testing/test_check_target.py::test_a_shipped_target_passes_the_whole_zoo[GAP9]
tests/cc/testing/test_check_target.py::test_a_shipped_target_passes_the_whole_zoo[VersalAIEML]
tests/cc/testing/test_check_target.py::test_a_shipped_target_passes_the_whole_zoo[portable]
tests/cc/testing/test_new_target.py::test_check_target_finds_it_green
tests/cc/testing/test_operands.py::test_constants_are_operands_like_others[GAP9]
tests/cc/versal/test_attention.py::test_as_emitted[points0-100]
tests/cc/versal/test_attention.py::test_long_heads_as_emitted[model-1.0]
tests/cc/versal/test_bfloat16_rows.py::test_the_emitted_network_equals_its_references[a chain]
tests/cc/versal/test_dense.py::test_layers_side_by_side
tests/cc/versal/test_image.py::test_networks_with_zero_points[mobilenetv1_025-27]
tests/cc/versal/test_image_layers.py::test_random_layers_as_emitted[conv]
tests/cc/versal/test_many_runs.py::test_runs_follow_each_other[plio-throughput]
tests/cc/versal/test_overlay_network.py::test_as_emitted
tests/cc/versal/test_overlay_network.py::test_layers_in_bfloat16_share_a_configuration
tests/cc/versal/test_phases.py::test_layers_take_turns_as_one_graph
tests/cc/versal/test_recurrent_apart.py::test_gates_in_logic_equal_their_references[network-bf16-cells0-tiles0]
tests/cc/versal/test_recurrent_apart.py::test_tiles_along_a_cascade_equal_their_references[network-bf16-cells0]
tests/cc/versal/test_recurrent_apart.py::test_tiles_that_read_packets_equal_their_references[network-bf16-cells0-tiles0-out[0]-in[6]]
tests/cc/versal/test_recurrent_int8.py::test_units_over_two_columns
tests/cc/versal/test_row_stages.py::test_a_block_as_one_pipeline_equals_its_reference
tests/cc/versal/test_row_stages.py::test_a_transformers_block_as_one_pipeline_equals_its_reference[48-64-1-4-True]
tests/cc/versal/test_timed.py::test_random_layers[g++-1]
tests/cc/versal/test_timed.py::test_random_layers[g++-2]
tests/cc/versal/test_vck190_recurrent.py::test_gates_in_logic_are_emulated
tests/cc/versal/test_vendor.py::test_the_program_runs_and_finds_what_is_wrong[how1]
tests/cc/versal/test_vendor.py::test_the_program_runs_and_finds_what_is_wrong[how2]
tests/cc/xdna/test_rounded_network.py::test_what_runs_is_the_reference_of_the_cut[perceptron]
tests/cc/xdna/test_whisper.py::test_a_layer_of_real_size_is_equal_to_its_reference
tests/cc/xdna/test_whisper.py::test_a_layer_whose_attention_is_in_bfloat16_is_equal_to_its_reference[npu1-model]
tests/cc/xdna/test_whisper.py::test_a_layer_whose_attention_is_in_bfloat16_is_equal_to_its_reference[npu2-unshifted]
tests/slow/test_aie4ml_projects.py::test_network[banded]
tests/slow/test_aie4ml_projects.py::test_network[depthwise]
tests/slow/test_aie4ml_projects.py::test_network[folded]
tests/slow/test_aie4ml_projects.py::test_network[int16]
tests/slow/test_aie4ml_projects.py::test_network[layer_norm]
tests/slow/test_aie4ml_projects.py::test_network[mixed]
tests/slow/test_aie4ml_projects.py::test_network[pointwise]
tests/slow/test_aie4ml_projects.py::test_network[pooled]
tests/slow/test_aie4ml_projects.py::test_network[residual]
tests/slow/test_aie4ml_projects.py::test_network[seven]
tests/slow/test_aie4ml_projects.py::test_network[streamed_conv]
tests/slow/test_aie4ml_projects.py::test_network[streamed_dense]
tests/slow/test_aie4ml_projects.py::test_network[strided]
tests/slow/test_aie4ml_projects.py::test_network[vector]
tests/slow/test_aie_mapping.py::test_every_layer_maps_legally[1000]
tests/slow/test_aie_mapping.py::test_every_layer_maps_legally[100]
tests/slow/test_aie_mapping.py::test_every_layer_maps_legally[1]
tests/slow/test_aie_mapping.py::test_every_layer_maps_legally[4096]
tests/slow/test_aie_mapping.py::test_every_layer_maps_legally[512]
tests/slow/test_aie_mapping.py::test_every_layer_maps_legally[64]
tests/slow/test_aie_mapping.py::test_every_layer_maps_legally[7]
tests/slow/test_aie_mapping.py::test_every_layer_maps_legally[8]
tests/slow/test_aie_mapping.py::test_other_element_types_map_legally[bfloat16-bfloat16]
tests/slow/test_aie_mapping.py::test_other_element_types_map_legally[int16-int8]
tests/slow/test_benchmarks.py::test_a_quick_run
tests/slow/test_byoc_networks.py::test_quantised_networks_are_bit_equal[resnet8_u8]
tests/slow/test_compilers.py::test_vector_kernels[clang-14]
tests/slow/test_compilers.py::test_vector_kernels[clang-19]
tests/slow/test_fixed_point_networks.py::test_emitted_code_deviates_by_one_step_at_most[tiny/
tests/slow/test_fixed_point_networks.py::test_recorded_samples_are_classified_alike[mobilenetv1_025_i8]
tests/slow/test_fixed_point_networks.py::test_sixteen_bits_bound_every_layer[tiny/
tests/slow/test_fuzz.py::test_a_few_models_of_every_case
tests/slow/test_gap9_controller.py::test_every_part_is_what_is_counted
tests/slow/test_gap9_controller.py::test_what_all_layers_take_in_all
tests/slow/test_gap9_core.py::test_network_on_the_control_core[rv32imc]
tests/slow/test_gap9_networks.py::test_emulation_equals_the_reference_and_recorded_answers[dscnn_i8.onnx]
tests/slow/test_gap9_networks.py::test_emulation_equals_the_reference_and_recorded_answers[dscnn_i8.tflite]
tests/slow/test_gap9_networks.py::test_emulation_equals_the_reference_and_recorded_answers[dscnn_u8.onnx]
tests/slow/test_gap9_networks.py::test_emulation_equals_the_reference_and_recorded_answers[mobilenetv1_025_i8.tflite]
tests/slow/test_gap9_networks.py::test_emulation_equals_the_reference_and_recorded_answers[mobilenetv1_025_u8.onnx]
tests/slow/test_gap9_networks.py::test_emulation_equals_the_reference_and_recorded_answers[resnet8_i8.tflite]
tests/slow/test_gap9_networks.py::test_emulation_equals_the_reference_and_recorded_answers[tiny/
tests/slow/test_gap9_networks.py::test_megabytes_of_weights_are_streamed
tests/slow/test_gap9_networks.py::test_sanitizers_find_nothing
tests/slow/test_gap9_networks.py::test_simulated_times[dscnn-priority]
tests/slow/test_gap9_networks.py::test_simulated_times[mobilenet-any]
tests/slow/test_gap9_networks.py::test_with_8_kilobytes_of_l1_the_bits_are_the_same[mobilenetv1_025_u8.onnx]
tests/slow/test_gap9_networks.py::test_with_8_kilobytes_of_l1_the_bits_are_the_same[resnet8_u8.onnx]
tests/slow/test_hostile.py::test_five_thousand_nodes_compile[chain_add_itself]
tests/slow/test_hostile.py::test_five_thousand_nodes_compile[chain_matmul]
tests/slow/test_hostile.py::test_five_thousand_nodes_compile[chain_relu_neg]
tests/slow/test_hostile.py::test_five_thousand_nodes_compile[chain_residual]
tests/slow/test_hostile.py::test_five_thousand_nodes_compile[chain_softmax]
tests/slow/test_hostile.py::test_five_thousand_nodes_compile[chain_transpose]
tests/slow/test_quantized_networks.py::test_emitted_code_equals_the_reference_bit_for_bit[tiny/
tests/slow/test_quantized_networks.py::test_layers_fed_onnxruntimes_own_tensors[tiny/
tests/slow/test_relay_networks.py::test_resnet8_of_integers[VersalAIEML-accelerators1]
tests/slow/test_unsigned_activations.py::test_a_tflite_network_gives_the_same_bits[mobilenetv1_025_i8]
tests/slow/test_unsigned_activations.py::test_a_tflite_network_gives_the_same_bits[tiny/pretrainedResnet_quant]
tests/slow/test_unsigned_activations.py::test_a_tflite_network_gives_the_same_bits[tiny/vww_96_int8]
tests/slow/test_vector_machines.py::test_aarch64
tests/slow/test_vector_machines.py::test_avx512[x86-64-v4+avx512vnni-clang]
tests/slow/test_vector_machines.py::test_avx512[x86-64-v4+avx512vnni-gcc]
tests/slow/test_vector_machines.py::test_avx512[x86-64-v4-clang]
tests/slow/test_vector_machines.py::test_avx512[x86-64-v4-gcc]
tests/slow/test_vector_machines.py::test_avx_vnni
tests/slow/test_vector_machines.py::test_emulated[aarch64-gcc]
tests/slow/test_vector_machines.py::test_emulated[cortex-a72-clang]
tests/slow/test_vector_machines.py::test_emulated[cortex-a72-gcc]
tests/slow/test_vector_machines.py::test_emulated[rv64gcv-gcc]
tests/slow/test_vector_machines.py::test_emulated[rv64gcv_zvl512b-clang]
tests/slow/test_vector_machines.py::test_emulated[rv64gcv_zvl512b-gcc]
tests/slow/test_vector_machines.py::test_emulated[x86-64-v3+avxvnni-clang]
tests/slow/test_vector_machines.py::test_emulated[x86-64-v3+avxvnni-gcc]
tests/slow/test_vector_machines.py::test_emulated[x86-64-v4+avx512vnni-clang]
tests/slow/test_vector_machines.py::test_emulated[x86-64-v4+avx512vnni-gcc]
tests/slow/test_vector_machines.py::test_emulated[x86-64-v4-clang]
tests/slow/test_vector_machines.py::test_emulated[x86-64-v4-gcc]
tests/slow/test_vector_machines.py::test_riscv_vectors[128]
tests/slow/test_vector_machines.py::test_riscv_vectors[512]
tests/slow/test_vector_machines.py::test_rv32imc
tests/slow/test_versal_blocks.py::test_a_whole_block_is_one_program_that_equals_its_reference[BERT-base]
tests/slow/test_versal_blocks.py::test_a_whole_block_is_one_program_that_equals_its_reference[ViT-tiny]
tests/slow/test_versal_networks.py::test_layers_that_no_tiles_hold
tests/slow/test_versal_networks.py::test_mobilenet
tests/slow/test_versal_networks.py::test_networks_of_documented_constructs_alone[mobilenetv1_025_u8.onnx-12]
tests/slow/test_versal_networks.py::test_networks_of_documented_constructs_alone[resnet8_u8.onnx-12]
tests/slow/test_versal_networks.py::test_seven_layers_of_512
tests/slow/test_versal_vit.py::test_a_block_is_on_the_array_and_equals_its_reference[ViT-tiny]
tests/slow/test_versal_vit.py::test_a_block_is_on_the_array_and_equals_its_reference[small]
tests/unit/mapping/test_checker.py::test_engines_agree_and_pass_with_three_levels
tests/unit/targets/aie_ml/test_attention.py::test_more_random_attention_equals_its_reference
tests/unit/targets/aie_ml/test_float_rows.py::test_many_random_rows_equal_their_reference[layer_norm]
tests/unit/targets/aie_ml/test_float_rows.py::test_many_random_rows_equal_their_reference[rms_norm]
tests/unit/targets/aie_ml/test_float_rows.py::test_many_random_rows_equal_their_reference[softmax]
tests/unit/targets/aie_ml/test_image_graph.py::test_many_random_layers_equal_their_reference[conv]
tests/unit/targets/aie_ml/test_rows.py::test_many_random_rows_equal_their_reference[layer_norm]
tests/unit/targets/aie_ml/test_rows.py::test_many_random_rows_equal_their_reference[rms_norm]
tests/unit/targets/aie_ml/test_streamed_attention.py::test_more_results_are
tests/unit/targets/xdna/test_passes.py::test_the_plan_of_a_large_product_has_its_text[npu2-sizes1]
tests/unit/targets/xdna/test_whisper_texts.py::test_dense_layers_beside_attention[npu2]
tests/unit/targets/xdna/test_whisper_texts.py::test_dense_layers_in_bfloat16
""".strip().split("\n")


def mark(items: Sequence[pytest.Item]) -> None:
    """Mark what the lists name: a function, a case of it, or the cases that begin so."""
    for name, tests in (("slow", SLOW), ("slow", LONG), ("long", LONG)):
        for item in items:
            if any(named(test, item.nodeid) for test in tests):
                item.add_marker(name)


def named(test: str, nodeid: str) -> bool:
    """Whether a line of the lists names a test.

    >>> named("a.py::test_a", "a.py::test_a[1]"), named("a.py::test_a[1", "a.py::test_a[12]")
    (True, True)
    >>> named("a.py::test_a", "a.py::test_ab")
    False
    """
    return nodeid == test or nodeid.startswith(test if "[" in test else f"{test}[")
