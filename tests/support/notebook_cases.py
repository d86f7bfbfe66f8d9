"""Outputs of notebooks as a parser reads them. Not here: what they should say."""

from __future__ import annotations

import re

from report_cases import Page

# What an output may consist of. Nothing here runs, loads or submits anything.
TAGS = {
    "div", "style", "p", "code", "h3", "table", "caption", "thead", "tbody", "tr", "th", "td", "bdi", "figure", "pre",
    "figcaption", "span", "mark", "small", "details", "summary", "svg", "rect", "text", "path", "g", "circle", "title",
    "line", "polyline",
}  # fmt: skip


class Output(Page):
    """An output as tags, attributes and texts."""

    @property
    def words(self):
        """Its texts with single spaces between and in them."""
        return " ".join(" ".join(self.texts).split())


def read_output(shown):
    """The output of an object, which must be well formed, closed in itself, and without anything that acts."""
    html = shown._repr_html_()
    assert type(html) is str
    output = Output(html)
    tags = {tag for tag, _ in output.tags}
    assert tags <= TAGS, tags - TAGS
    for _, named in output.tags:
        assert not any(name.startswith("on") or name in ("href", "src", "style", "id") for name in named), named
    assert html.startswith('<div class="dcrf">') and html.endswith("</div>")
    assert not re.search(r"@import|url\(", html)
    return output
