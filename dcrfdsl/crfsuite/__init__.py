"""A module shaped like `pycrfsuite`, and CRFsuite's model files: `import dcrfdsl.crfsuite as pycrfsuite`."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
