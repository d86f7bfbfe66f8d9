"""Scores of predictions: `evaluate_predictions` on a corpus, `measure` on codes, by the names that `evaluate` uses."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
