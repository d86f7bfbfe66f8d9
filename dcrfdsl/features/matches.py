"""How often lexicons match: for the checker, which warns of a lexicon that matches almost nothing.

Not here: loading lexicons, features on them.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..data.corpus import Corpus
from ..spec.check.walk import every_feature, nodes
from ..spec.expressions import Apply, InLexicon
from ..spec.model import ModelSpec
from .lexicons import Lexicons
from .registered import RegisteredFeature
from .values import CorpusValues, Texts

__all__ = ["lexicon_matches"]


def lexicon_matches(
    spec: ModelSpec, corpus: Corpus, lexicons: Lexicons, registered: Mapping[str, RegisteredFeature]
) -> dict[str, int]:
    """Tokens that each lexicon matches, summed over the features that compare single tokens with it."""
    values = CorpusValues(spec, corpus, lexicons, registered, {})
    found: dict[str, int] = {}
    for path, feature in every_feature(spec):
        for _, node in nodes(feature, path):
            match node:
                case InLexicon(lexicon=name):
                    pass
                case Apply(function=name) if name in lexicons.by_name:
                    pass
                case _:
                    continue
            found[name] = found.get(name, 0) + _matching_tokens(values, node)
    return found


def _matching_tokens(values: CorpusValues, node: InLexicon | Apply) -> int:
    source, given = values.evaluate(node)
    matching = given.of if isinstance(given, Texts) else np.asarray(given.of) != 0
    hits = np.array([bool(one) for one in matching], bool)
    return int(hits[source.codes[source.codes >= 0]].sum()) if len(hits) else 0
