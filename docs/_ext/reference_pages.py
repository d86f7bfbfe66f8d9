"""Writes the generated part of the reference before Sphinx reads the pages: the tables of the checker as Markdown.

The files are not kept in the repository; a page whose text has not changed is not touched.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from command_pages import commands_page
from message_examples import COMMAND_EXAMPLES, example_of

from dcrfdsl.semantics import ReferenceEntry, SettingEntry, reference_entries

if TYPE_CHECKING:
    from sphinx.application import Sphinx


class Page(NamedTuple):
    """A page of the reference: its title, what it begins with, and the kinds of entries that it holds."""

    title: str
    opening: str
    kinds: tuple[str, ...]


PAGES: dict[str, Page] = {
    "statements": Page(
        "Statements",
        "Every statement of a template, with its options, its grammar and an example. The rules that hold everywhere "
        "are "
        "in [The language](language.md).",
        ("statement",),
    ),
    "features": Page(
        "Features, tests and places",
        "The list of what a clique can look at: all feature functions, tests, crosses, and the places where they are "
        "read. Functions of your own are described in [Own feature functions](../how-to/own-features.md).",
        ("feature function", "function of a segment", "test", "place"),
    ),
    "data": Page(
        "Data formats, column types and domains",
        "How data is read, which types its columns have, and which states a label has.",
        ("data format", "column type", "domain"),
    ),
    "inference": Page(
        "Inference and decoding",
        "Methods of `infer`, and rules of `decode`.",
        ("inference method", "decoding rule"),
    ),
    "criteria": Page(
        "Training criteria",
        "What `train` minimises, with losses, smoothing functions, observation kernels, cases of NOTA and "
        "importance. The settings of "
        "every stage are those of the statement [`train`](statements.md#train).",
        (
            "training criterion", "loss", "smoothing function", "cost of wrong labels", "observation kernel",
            "set of cases for `nota`", "kind of importance",
        ),
    ),
    "optimizers": Page(
        "Priors and optimizers",
        "A prior is a penalty on the weights λ that is added to a criterion. An optimizer with a prior that it cannot "
        "treat, or a criterion that it cannot train, is an error that names those that fit.",
        ("prior", "optimizer"),
    ),
    "metrics": Page("Metrics and search ranges", "What `evaluate` measures, and what `tune` "
    "searches.", ("metric", "search range")),
}  # fmt: skip
PLURALS = {
    "feature function": "Feature functions", "function of a segment": "Functions of a `segment` statement",
    "test": "Tests", "place": "Places", "data format": "Data formats",
    "column type": "Column types", "domain": "Domains", "inference method": "Inference methods",
    "decoding rule": "Decoding rules", "training criterion": "Criteria", "loss": "Losses of `mce`",
    "smoothing function": "Smoothing functions of `mce`",
    "cost of wrong labels": "Losses of `hmsvm`, and costs in `likelihood`",
    "observation kernel": "Observation kernels of `hmsvm`", "set of cases for `nota`": "Cases of `nota`",
    "kind of importance": "What `importance` names",
    "prior": "Priors", "optimizer": "Optimizers", "metric": "Metrics", "search range": "Search ranges",
}  # fmt: skip


def generated_pages() -> Iterator[tuple[str, str]]:
    """Every generated page: its path below `docs`, and its text."""
    entries = reference_entries()
    for name, page in PAGES.items():
        parts = [f"# {page.title}", page.opening]
        for kind in page.kinds:
            if len(page.kinds) > 1:
                parts.append(f"## {PLURALS[kind]}")
            for entry in entries:
                if entry.kind == kind:
                    parts += _entry(entry, "##" if len(page.kinds) == 1 else "###")
                    if kind == "statement":
                        parts += _options(entry.name, entries)
        yield f"reference/{name}.md", "\n\n".join(parts) + "\n"
    yield "reference/commands.md", commands_page()
    messages = [entry for entry in entries if entry.kind == "message"]
    listed = "\n".join(f"* [`{entry.name}`]({entry.name}.md): {entry.summary}" for entry in messages)
    index = (
        "# Messages and error codes\n\nEvery error code: the name in the brackets of `error[NAME]`, `warning[NAME]` or "
        "`note[NAME]`. "
        f"`dcrfdsl explain NAME` prints the same.\n\n{listed}\n"
    )
    yield "reference/messages/index.md", index
    for entry in messages:
        yield f"reference/messages/{entry.name}.md", _message(entry)


def _entry(entry: ReferenceEntry, heading: str) -> Iterator[str]:
    yield f"{heading} {_title(entry.name)}"
    yield f"```text\n{entry.usage}\n```"
    yield entry.summary
    if entry.text:
        yield entry.text
    if entry.settings:
        yield _table(entry.settings)
    if entry.example:
        yield f"```dcrf\n{entry.example.strip()}\n```"
    if entry.written_out:
        yield f"Its settings, written out:\n\n```dcrf\n{entry.written_out.strip()}\n```"
    if entry.grammar:
        yield f"Grammar:\n\n```text\n{entry.grammar}\n```"
    if entry.source:
        yield f"Source: {entry.source}."
    if entry.synonyms:
        yield f"Elsewhere called: {', '.join(f'`{word}`' for word in entry.synonyms)}."


def _options(keyword: str, entries: Iterable[ReferenceEntry]) -> Iterator[str]:
    """The options of a statement, each with its example."""
    for entry in entries:
        if entry.kind == f"option of `{keyword}`":
            yield f"### `{entry.name}` of `{keyword}`"
            yield f"{entry.summary} {entry.text}"
            yield f"```dcrf\n{entry.example}\n```"


def _title(name: str) -> str:
    return f"`{name}`"


def _table(settings: Iterable[SettingEntry]) -> str:
    rows = ["| name | takes | default | meaning |", "|---|---|---|---|"]
    for setting in settings:
        takes = ", ".join(filter(None, [setting.type, setting.limits]))
        unit = f" Unit: {setting.unit}." if setting.unit else ""
        meaning = f"{_sentence(setting.meaning)}{unit}" if setting.meaning else ""
        rows.append(f"| `{setting.name}` | {_cell(takes)} | {_cell(setting.default)} | {_cell(meaning)} |")
    return "\n".join(rows)


def _sentence(meaning: str) -> str:
    """With a capital and a full stop; a symbol that it begins with, as `v: the smaller …`, stays as it is."""
    first = meaning.split()[0].rstrip(":")
    symbol = (len(first) == 1 and first != "a") or not first.replace("-", "").isalpha()
    return f"{meaning if symbol else meaning[:1].upper() + meaning[1:]}."


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _message(entry: ReferenceEntry) -> str:
    """Its page stands in no tree: three hundred lines in the sidebar of every page took most of the time of a build."""
    parts = [f"# `{entry.name}`", entry.summary, entry.text, *_example(entry.name), "[All messages](index.md)"]
    return "---\norphan: true\n---\n\n" + "\n\n".join(parts) + "\n"


def _example(slug: str) -> Iterator[str]:
    """What brings a message, and the message as it is printed."""
    if template := example_of(slug):
        text, message = template
        yield f"A template that brings it:\n\n```dcrf\n{text.strip()}\n```"
        yield f"The message:\n\n```text\n{message}\n```"
    elif command := COMMAND_EXAMPLES.get(slug):
        for name, text in command.files.items():
            if isinstance(text, str):
                language = "python" if name.endswith(".py") else "text"
                yield f"The file `{name}`:\n\n```{language}\n{text.rstrip()}\n```"
        lines = "\n".join(f"$ {line}" for line in command.command.splitlines())
        yield f"A command that brings it:\n\n```text\n{lines}\n{command.message}\n```"


def _write(app: Sphinx) -> None:
    """Writes every page whose text has changed, and removes pages of messages that are no more."""
    pages = {Path(app.srcdir, name): text for name, text in generated_pages()}
    for path in Path(app.srcdir, "reference", "messages").glob("*.md"):
        if path not in pages:
            path.unlink()
    for path, text in pages.items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("config-inited", lambda app, config: _write(app))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
