"""The metadata section of a text: the constants that were too large to print."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from match_aie.errors import ModelError
from match_aie.frontend.relay.json_graph import read_graph
from match_aie.frontend.relay.source import Source

#: The kind of a tensor constant, as `meta[...]` names it.
CONSTANT = "relay.Constant"


def metadata_constants(source: Source, text: str, at: int) -> Mapping[tuple[str, int], np.ndarray]:
    """Constants of the metadata section by (kind, index); none where `text` is empty.

    Raises:
        ModelError: the section is damaged.
    """
    if not text:
        return {}
    try:
        graph = read_graph(text, "metadata section")
        found: dict[tuple[str, int], np.ndarray] = {}
        for kind, entries in graph.node(graph.root).entries():
            if kind.rpartition(".")[2] != "Constant":
                continue
            for index, entry in enumerate(entries.items()):
                found[CONSTANT, index] = graph.array(entry)
    except ModelError as error:
        raise source.error(f"{error.what} ({error.where})".replace(" ()", ""), at) from error
    return found
