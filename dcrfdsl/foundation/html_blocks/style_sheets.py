"""The style sheets of blocks: for a page of their own, and for outputs of notebooks, which stand in a foreign page.

In a notebook every rule is held within `.dcrf`. Colours follow the notebook's theme where it names one, else the
browser's preference. An output needs no other file and no network, has no script, and stands by itself: exported
notebooks keep it. Not here: the HTML of a block (`page_blocks`), what objects say of themselves.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from importlib.resources import files

from markupsafe import Markup

from .page_blocks import Block

_RULE = re.compile(r"([^{}]+)\{([^{}]*)\}")
_COLOUR = re.compile(r"(--[\w-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\);")
# How JupyterLab, nbconvert, VS Code, Sphinx and Colab say which theme a page has.
_LIGHT = ('[data-jp-theme-light="true"]', '[data-theme="light"]', ".vscode-light", 'html[theme="light"]')
_DARK = ('[data-jp-theme-light="false"]', '[data-theme="dark"]', ".vscode-dark", 'html[theme="dark"]')


def parts_style() -> str:
    """The style of blocks in a page of their own, with its palette."""
    return _sheet("parts.css")


@cache
def notebook_style() -> str:
    """The style of blocks in an output of a notebook."""
    sheet = parts_style()
    colours = _COLOUR.findall(sheet)
    light = "".join(f"{name}:{one};" for name, one, _ in colours)
    dark = "".join(f"{name}:{one};" for name, _, one in colours)
    rules = [
        f".dcrf{{{light}}}",
        f"@media (prefers-color-scheme: dark){{.dcrf{{{dark}}}}}",
        f"{_each(_LIGHT, ' .dcrf')}{{{light}}}",
        f"{_each(_DARK, ' .dcrf')}{{{dark}}}",
    ]
    for selectors, body in (rule for text in (sheet, _sheet("notebook.css")) for rule in _rules(text)):
        # the class comes twice, so that a rule wins over a notebook's own
        inner = ",".join(f".dcrf.dcrf {selector.strip()}" for selector in selectors.split(","))
        rules.append(f"{inner}{{{body}}}")
    return "\n".join(rules)


def _each(selectors: tuple[str, ...], rest: str) -> str:
    return ",".join(f"{selector}{rest}" for selector in selectors)


def _rules(sheet: str) -> list[tuple[str, str]]:
    """Selectors and declarations of each rule but that of the palette."""
    plain = re.sub(r"/\*.*?\*/", "", sheet, flags=re.DOTALL)
    return [(names.strip(), " ".join(body.split())) for names, body in _RULE.findall(plain) if ":root" not in names]


def _sheet(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


# outputs of notebooks -------------------------------------------------------------------------------------------------


def notebook_html(blocks: Iterable[Block]) -> str:
    """The blocks as one element of HTML with its style."""
    inner = Markup("\n").join(block.to_html() for block in blocks)
    return str(Markup('<div class="dcrf">\n<style>{}</style>\n{}\n</div>').format(Markup(notebook_style()), inner))
