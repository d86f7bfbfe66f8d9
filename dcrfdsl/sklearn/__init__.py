"""Estimators for scikit-learn: `SequenceTagger` trains any template, `CRF` has the parameters of sklearn-crfsuite.

scikit-learn is loaded when an estimator is first asked for (the extra `sklearn`).
"""

# Within the package `import sklearn` is the library: a room is only ever imported by its whole name or relatively.

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
