"""Target ${name} for match_aie."""

from ${package}.target import ${cls}

__all__ = ["${cls}"]
