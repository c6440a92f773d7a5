"""Which tests are slow, and which so long that continuous integration leaves them out.

Other marks stand at their tests. Here stand tests that were moved for their time alone, measured
with two processes on two cores. Most have a sister that still runs where they ran. These have none:
the fuzzer, the count of GAP9's controller, sanitizers of several cores and of GAP9's networks, and
by default compiling again and rates of calls. `make test` runs what is in neither list,
`make test-slow` what is slow, `make test-long` the rest. A case whose name changes runs again where
its function does: only names of functions are held to what there is.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

#: Test functions, or cases of them, of about nine seconds and more.
SLOW = """
tests/cc/gap9/test_cluster_kernels.py::test_floats_are_within_their_bounds[gcc xpulp]
tests/cc/gap9/test_floats.py::test_the_zoo_is_held_to_what_16_bits_may_lose
tests/cc/gap9/test_handover.py::test_nothing_is_added_to_null[6000]
tests/cc/gap9/test_rows.py::test_bands_give_the_same_bits_and_fit[separable]
tests/cc/gap9/test_rows.py::test_less_room_means_more_bands_and_takes_longer[pooled]
tests/cc/gap9/test_rows.py::test_the_binding_to_the_sdk_computes_the_same[separable]
tests/cc/gap9/test_streaming.py::test_neighbours_come_late_and_large_layers_in_parts[late]
tests/cc/gap9/test_trailing.py::test_a_sum_of_a_tensor_and_itself_trails_it_too
tests/cc/gap9/test_trailing.py::test_two_engines_are_never_slower_than_one
tests/cc/layers/test_winograd.py::test_no_undefined_behaviour[9]
tests/cc/versal/test_overlay_network.py::test_layers_in_bfloat16_share_a_configuration
tests/cc/versal/test_recurrent.py::test_units_are_spread_over_tiles
tests/cc/versal/test_recurrent_apart.py::test_gates_in_logic_equal_their_references[network-bf16-cells0-tiles0]
tests/cc/versal/test_recurrent_apart.py::test_states_in_registers_equal_their_references[GRU-options0]
tests/cc/versal/test_recurrent_apart.py::test_the_emitted_network_equals_its_references[network-bf16-200]
tests/cc/versal/test_recurrent_apart.py::test_tiles_along_a_cascade_equal_their_references[network-bf16-cells0]
tests/cc/versal/test_recurrent_apart.py::test_tiles_that_read_each_others_memory_equal_their_references[network-bf16-28]
tests/cc/versal/test_recurrent_apart.py::test_tiles_that_read_packets_equal_their_references[network-bf16-cells0-tiles0-out[0]-in[6]]
tests/cc/versal/test_recurrent_apart.py::test_tiles_that_send_each_other_states_equal_their_references[network-bf16-20]
tests/cc/versal/test_recurrent_int8.py::test_many_inputs_equal_their_references
tests/cc/versal/test_row_stages.py::test_a_block_as_one_pipeline_equals_its_reference
tests/cc/versal/test_row_stages.py::test_a_transformers_block_as_one_pipeline_equals_its_reference[48-64-1-4-True]
tests/cc/versal/test_vck190_recurrent.py::test_gates_in_logic_are_emulated
tests/cc/xdna/test_rounded_network.py::test_what_runs_is_the_reference_of_the_cut[perceptron]
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
tests/cc/aie/test_tilings.py::test_every_operator_in_every_tiling[2]
tests/cc/aie/test_tilings.py::test_every_operator_in_every_tiling[3]
tests/cc/gap9/test_any_banks.py::test_even_branches_are_faster_together_whatever_the_chip_is
tests/cc/gap9/test_any_banks.py::test_two_engines_are_faster_than_one_whatever_the_chip_is[trailing-priority-9]
tests/cc/gap9/test_chip_project.py::test_whole_networks[mobilenetv1_025]
tests/cc/gap9/test_cluster_kernels.py::test_equals_reference[gcc xpulp-halves]
tests/cc/gap9/test_cluster_kernels.py::test_three_hundred_products_of_16_bits[clang
tests/cc/gap9/test_division.py::test_a_shortcut_changes_the_unit_to_run_beside_the_other_branch
tests/cc/layers/test_cores.py::test_no_undefined_behaviour
tests/cc/layers/test_vectors.py::test_no_undefined_behaviour[1]
tests/cc/real/test_real_cores.py::test_no_undefined_behaviour
tests/cc/real/test_real_layers.py::test_close_to_reference_anywhere[clang
tests/slow/test_aie_mapping.py::test_every_layer_maps_legally[1000]
tests/slow/test_aie_mapping.py::test_every_layer_maps_legally[100]
tests/slow/test_aie_mapping.py::test_every_layer_maps_legally[4096]
tests/slow/test_aie_mapping.py::test_every_layer_maps_legally[512]
tests/slow/test_fixed_point_networks.py::test_emitted_code_deviates_by_one_step_at_most[tiny/
tests/slow/test_fixed_point_networks.py::test_sixteen_bits_bound_every_layer[tiny/
tests/slow/test_fuzz.py::test_a_few_models_of_every_case
tests/slow/test_gap9_controller.py::test_every_part_is_what_is_counted
tests/slow/test_gap9_networks.py::test_emulation_equals_the_reference_and_recorded_answers[dscnn_i8.tflite]
tests/slow/test_gap9_networks.py::test_emulation_equals_the_reference_and_recorded_answers[mobilenetv1_025_i8.tflite]
tests/slow/test_gap9_networks.py::test_emulation_equals_the_reference_and_recorded_answers[tiny/
tests/slow/test_gap9_networks.py::test_sanitizers_find_nothing
tests/slow/test_gap9_networks.py::test_with_8_kilobytes_of_l1_the_bits_are_the_same[mobilenetv1_025_u8.onnx]
tests/slow/test_hostile.py::test_five_thousand_nodes_compile[chain_add_itself]
tests/slow/test_hostile.py::test_five_thousand_nodes_compile[chain_relu_neg]
tests/slow/test_hostile.py::test_five_thousand_nodes_compile[chain_residual]
tests/slow/test_hostile.py::test_five_thousand_nodes_compile[chain_softmax]
tests/slow/test_hostile.py::test_five_thousand_nodes_compile[chain_transpose]
tests/slow/test_quantized_networks.py::test_emitted_code_equals_the_reference_bit_for_bit[tiny/
tests/slow/test_quantized_networks.py::test_layers_fed_onnxruntimes_own_tensors[tiny/
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
