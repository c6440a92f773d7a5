"""Wishes of users about layers that run side by side: which candidates keep them, and refusals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from match_aie.errors import Infeasible, TargetError
from match_aie.targets.aie_ml.graph.pipeline_candidates import Candidate
from match_aie.targets.aie_ml.graph.pipeline_offers import Keeps
from match_aie.targets.versal.wishes import Wish, in_words


def refuse_columns(wish: Wish, taken: Mapping[int, int], columns: int) -> None:
    """Refuse a wish that leaves too little to the other layers.

    Raises:
        TargetError: it does.
    """
    if sum(taken.values()) > columns:
        raise TargetError(
            f"{wish}: with the other layers {sum(taken.values())} columns of {columns}",
            where=wish.label,
            hint="fewer columns, or fewer for the others (columns_per_layer)",
        )


def refuse_stages(
    asked: Sequence[Wish | None],
    keeps: Sequence[Keeps],
    offers: Sequence[Sequence[Candidate]],
    reason: Infeasible,
) -> None:
    """Refuse wishes with which layers in a row are no pipeline.

    Args:
        asked: of each stage; None where nothing is.
        keeps: of each stage, what its user would take.
        offers: what each stage could be.
        reason: why there is no pipeline.

    Raises:
        TargetError: there are wishes; where one alone cannot be kept, of that layer.
    """
    mine = [wish for wish in asked if wish is not None and wish.of_plan]
    for wish, keep, offer in zip(asked, keeps, offers, strict=True):
        if wish in mine and wish is not None and not any(keep(one) for one in offer):
            m = [one.mapping for one in offer]
            counts = [
                (one.columns, n.tiles, n.cas_length, n.row_parts)
                for one, n in zip(offer, m, strict=True)
            ]
            raise TargetError(
                f"no stage has {wish}: {in_words('stages', counts)}",
                where=wish.label,
                hint="what stages have, or more columns for a layer (columns_per_layer)",
            )
    if mine:
        words = "; ".join(f"{wish.label}: {wish}" for wish in mine)
        raise TargetError(f"no pipeline has stages with {words}", hint=str(reason))


def keeping(wish: Wish | None, most: int) -> Keeps:
    """Whether a stage's candidate is what its user asks for; else on up to `most` columns."""

    def keeps(one: Candidate) -> bool:
        if wish is None or (wish.columns is None and one.columns > most):
            return one.columns <= most
        pairs = (
            (wish.columns, one.columns),
            (wish.cascade, one.mapping.cas_length),
            (wish.tiles, one.mapping.tiles),
            (wish.replicas, one.mapping.row_parts),
        )
        return all(asked in (None, much) for asked, much in pairs)

    return keeps
