"""Scores of predictions: `prediction_tallies` of a corpus, `metric_tallies` of codes, by the names of `evaluate`."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
