"""Features: from interned columns to sparse rows of feature ids.

Nothing heavy is loaded until an extractor is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .feature_rows import FeatureRows
from .plan.expansion import ExpandedFeature, Expansion, Factor, FeatureSetPlan, expand, expand_features
from .values.lexicons import Lexicon, Lexicons, load_lexicons, read_lexicon
from .values.registered import RegisteredFeature, feature, load_feature_file, registered_features

if TYPE_CHECKING:
    from .extract import FeatureExtractor, FeatureSetInfo

__all__ = [
    "ExpandedFeature", "Expansion", "Factor", "FeatureExtractor", "FeatureRows", "FeatureSetInfo", "FeatureSetPlan",
    "Lexicon", "Lexicons", "RegisteredFeature", "expand", "expand_features", "feature", "load_feature_file",
    "load_lexicons", "read_lexicon", "registered_features",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in ("FeatureExtractor", "FeatureSetInfo"):
        from . import extract  # loads numba

        return getattr(extract, name)
    raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
