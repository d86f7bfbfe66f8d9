"""The report as a page: sections, style, script and data in one file of HTML that asks nothing of any network.

Three things keep what is in the data from acting. Jinja escapes every text. The browser's data is JSON without `<`, `>`
and `&`. And the page's policy (Content-Security-Policy) lets a browser run the one script and style whose hashes it
names, and load nothing. Characters that act, as those that turn the direction of writing, are shown as escapes.

Errors beyond what one page takes go to further pages beside it. Not here: what the sections say.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from importlib.resources import files
from operator import methodcaller
from pathlib import Path
from typing import Any

from markupsafe import Markup

from ...foundation import TextTable, needed, parts_style, printable_lines, write_whole
from ...semantics import template_listing
from .findings import Findings, Section
from .model_sections import data_section, graph_section, training_blocks, transition_blocks, weight_section
from .quality_sections import calibration_section, confusion_section, error_section, score_section
from .wrong_labels import error_pages

# In JSON they can stand in texts only, where these escapes mean the same.
_UNSAFE = re.compile("[<>&\u2028\u2029]")


def require_jinja() -> None:
    """Raises DcrfError if the library that fills in the page is not there."""
    with needed("jinja2", "a report needs the package `jinja2`", "report"):
        import jinja2  # noqa: F401


def write_report(path: str | Path, title: str, found: Findings) -> list[Path]:
    """Writes the page, and further ones beside it where there are too many errors: NAME-2.html, NAME-3.html …

    Each is written whole or not at all. Returns their paths, the page itself first. DcrfError if one cannot be written.
    """
    written = []
    for place, text in page_texts(Path(path), title, found):
        write_whole(place, (text.encode("utf-8", "backslashreplace"),))
        written.append(place)
    return written


def page_texts(path: Path, title: str, found: Findings) -> Iterator[tuple[Path, str]]:
    """The path and text of each page."""
    data = list(error_pages(found.errors, found.corpus, found.evaluation, found.whys, found.new))
    places = [path, *(path.with_name(f"{path.stem}-{n}{path.suffix}") for n in range(2, len(data) + 1))]
    names = [place.name for place in places]
    size = f"{found.corpus.num_sentences:,} sentences, {found.corpus.num_tokens:,} tokens"
    for number, (place, of_page) in enumerate(zip(places, data, strict=True)):
        errors = error_section(found, len(of_page["errors"]))
        sections = _every_section(found, errors) if number == 0 else [errors]
        heading = title if number == 0 else f"{title}, page {number + 1}"
        yield place, _page(heading, size, sections, of_page, names, number)


def _every_section(found: Findings, errors: Section) -> list[Section]:
    return [
        score_section(found),
        confusion_section(found),
        errors,
        calibration_section(found),
        Section("training", "Training", training_blocks(found.stages, found.trials)),
        weight_section(found),
        Section("transitions", "Transitions", transition_blocks(found.transitions)),
        graph_section(found),
        data_section(found),
        Section("template", "Template", [template_listing(found.template)]),
        Section(
            "record", "Record", [TextTable("Versions, hashes and seeds", ["what", "value"], found.identity, (0, 1))]
        ),
    ]


def _page(
    title: str, subtitle: str, sections: Sequence[Section], data: dict[str, Any], names: Sequence[str], number: int
) -> str:
    """names: of the files of all pages.   number: of this one, from 0."""
    from jinja2 import Environment, PackageLoader, StrictUndefined  # which comes with the extra `report`

    from ... import __version__

    def shown(value: Any) -> Any:
        """What an expression of the template gives; its characters that act become escapes."""
        return printable_lines(value) if isinstance(value, str) and not isinstance(value, Markup) else value

    style, script = parts_style() + _asset("report.css"), _asset("report.js")
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; base-uri 'none'; "
        "form-action 'none'"
    )
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    embedded = _UNSAFE.sub(lambda match: f"\\u{ord(match.group()):04x}", text)
    pages = Environment(
        loader=PackageLoader(__package__, "page"), autoescape=True, finalize=shown, undefined=StrictUndefined
    )
    return pages.get_template("report.html.j2").render(
        title=title,
        subtitle=subtitle,
        sections=sections,
        show=methodcaller("to_html"),
        style=Markup(style),
        script=Markup(script),
        policy=policy,
        version=__version__,
        data=Markup(embedded) if data["errors"] else None,
        pages=names,
        number=number,
    )


def _asset(name: str) -> str:
    return files(__package__).joinpath("page", name).read_text(encoding="utf-8")


def _hash(content: str) -> str:
    """As a Content-Security-Policy names a script or style."""
    return f"sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}"
