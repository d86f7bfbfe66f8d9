"""How Sphinx builds the documentation: `sphinx-build -W docs docs/_build`. No page needs a network."""

from __future__ import annotations

import sys
from pathlib import Path

from sphinx.highlighting import lexers

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE / "_ext")]

from console_lexer import ConsoleLexer  # noqa: E402

import dcrfdsl  # noqa: E402
from dcrfdsl.syntax.highlighting import DcrfLexer  # noqa: E402

project = "dcrfdsl"
author = "dcrfdsl contributors"
version = release = dcrfdsl.__version__
project_copyright = author

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx_copybutton",
    "contents",
    "file_captions",
    "inline_code",
    "mathml",
    "outside_links",
    "plain_docstrings",
    "plain_signatures",
    "python_links",
    "reference_pages",
]
exclude_patterns = ["_build", "_ext"]
nitpicky = False
source_suffix = {".md": "markdown"}
lexers["dcrf"] = DcrfLexer()
lexers["console"] = ConsoleLexer()

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "fieldlist"]
myst_heading_anchors = 4
html_math_renderer = "mathml"

autodoc_typehints = "description"
# Types that stand for a long union; `reference/python.md` says of each what it is.
autodoc_type_aliases = {
    name: name for name in ("AnyTemplate", "Domain", "Given", "Labels", "Probabilities", "Sentence", "Text", "Value")
}
autodoc_member_order = "bysource"
copybutton_prompt_text = r"\$ |>>> |\.\.\. "
copybutton_prompt_is_regexp = True
copybutton_only_copy_prompt_lines = True
copybutton_remove_prompts = True
copybutton_line_continuation_character = "\\"

html_theme = "furo"
html_title = f"dcrfdsl {release}"
html_static_path = ["_static"]
html_css_files = ["extra.css"]
html_show_sourcelink = False
html_last_updated_fmt = None
