"""The networks as they are shipped, and small ones of the same constructs."""

from functools import partial

from tests.networks.sequence import gru
from tests.networks.shipped import bilstm_tagger, crnn_lstm, mobilenetv2, resnet18, unet, vad_stream
from tests.networks.transformers import Sizes, deberta, encoder, gpt_block

SMALL = Sizes(8, 32, 2, 64, 1)

small_encoder = partial(encoder, "encoder", Sizes(8, 32, 2, 64, 1, words=10_000))
small_gpt = partial(gpt_block, SMALL)
small_deberta = partial(deberta, SMALL, 4)

__all__ = [
    "bilstm_tagger",
    "crnn_lstm",
    "gru",
    "mobilenetv2",
    "resnet18",
    "small_deberta",
    "small_encoder",
    "small_gpt",
    "unet",
    "vad_stream",
]
