"""The meaning of a model, whatever its source: `ModelSpec`, its settings, and conversion from and to text.

Importing this package is cheap: `resolve` loads the parser and `unparse` the printer, when they are imported.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
