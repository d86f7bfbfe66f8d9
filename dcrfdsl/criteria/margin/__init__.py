"""The hidden Markov SVM: the margin between the known labelling and every wrong one."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
