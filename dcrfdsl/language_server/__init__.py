"""`dcrfdsl lsp`: what an editor asks of a template, by the same parser, checker and tables as the commands.

Each module answers one kind of question by pure functions over a text, a place in it and the workspace; `lsp_server`
alone knows pygls and the forms of the protocol.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
