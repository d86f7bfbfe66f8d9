"""What a model says, whatever door it came in by: `ModelSpec`, its settings, and the way from and to text.

Importing this package is cheap: the parser is loaded by `resolve` and the printer by `unparse`, when they are imported.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
