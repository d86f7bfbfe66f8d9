"""Rules on `decode certified` and `decode optimal`: the models on whose labellings a bound can be had.

Not here: their settings (`setting_rules`), `once` (`once_rules`), votes (`voting_rules`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from ...foundation import DcrfError, Diagnostic
from ..schema import Path
from ..settings import bounding_decoding, decode_statement, inference_settings
from .context import Context, Rule
from .optimizer_rules import stage_views


def bounded_models(context: Context) -> Iterator[Diagnostic]:
    """A bound is on the sum of potentials at a labelling: latents are summed out, and pruning has no tables."""
    for rule, place in _rules(context):
        with suppress(DcrfError):  # `setting_rules` reports it
            if bounding_decoding(rule) is None:
                continue
            name = rule.partition("(")[0]
            if context.spec.latents:
                latent = context.spec.latents[0].name
                message = f"`decode {name}` bounds the score of a labelling, and `latent {latent}` is summed out of it"
                remedy = "write `decode joint`, which sums it out first, or `decode marginal`"
                there: list[tuple[Path, str]] = [(("latents", 0, "name"), "summed out")]
                yield context.complaint("no-bound", message, place, "no bound", help=remedy, others=there)
            elif inference_settings(context.spec).method == "pruned":
                message = (
                    f"`decode {name}` needs the potentials of all labels, and `infer pruned` leaves most of them out"
                )
                others: list[tuple[Path, str]] = [(("infer", "name"), "pruned here")]
                yield context.complaint(
                    "no-bound", message, place, "no bound", help="write `decode joint`, or `infer auto`", others=others
                )


def _rules(context: Context) -> Iterator[tuple[str, Path]]:
    """The rules that are written, and where."""
    with suppress(DcrfError):
        rule = decode_statement(context.spec)
        if rule is not None:
            yield rule, ("decode", "name")
    for stage in stage_views(context):
        at = stage.written("decode")
        if stage.settings.decode is not None and at is not None:
            yield stage.settings.decode, at


RULES: tuple[Rule, ...] = (bounded_models,)
