"""Relay, which TVM dropped in 0.20: text and JSON of older TVM, to Relax."""

from match_aie.frontend.relay.load import load_relay, read

__all__ = ["load_relay", "read"]
