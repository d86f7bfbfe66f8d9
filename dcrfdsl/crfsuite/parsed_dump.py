"""What is in a CRFsuite model, as dicts and as the text that `crfsuite dump` prints.

Not here: reading the file (`model_file`).
"""

from __future__ import annotations

from collections.abc import Iterator

from .cqdb import Key
from .model_file import CrfsuiteModel


class ParsedDump:
    """A model's content, as `Tagger.info` returns it.

    header: what the file says of itself, `{name: text}`.
    labels: `{label: number}`, the numbers as texts.
    attributes: `{attribute: number}`, the numbers as texts.
    transitions: `{(left label, right label): weight}`.
    state_features: `{(attribute, label): weight}`.
    """

    def __init__(self) -> None:
        self.header: dict[str, str] = {}
        self.labels: dict[str, str] = {}
        self.attributes: dict[str, str] = {}
        self.transitions: dict[tuple[str, str], float] = {}
        self.state_features: dict[tuple[str, str], float] = {}


def parsed_dump(model: CrfsuiteModel, header: dict[str, str]) -> ParsedDump:
    """The content of a model; weights in full, where `crfsuite dump` rounds them."""
    found = ParsedDump()
    labels, attributes = [_text(label) for label in model.labels], [_text(name) for name in model.attributes]
    found.header = header
    found.labels = {label: str(number) for number, label in enumerate(labels)}
    found.attributes = {name: str(number) for number, name in enumerate(attributes)}
    found.transitions = {(labels[left], labels[right]): weight for left, right, weight in _transitions(model)}
    found.state_features = {(attributes[name], labels[label]): weight for name, label, weight in _states(model)}
    return found


def dump_lines(model: CrfsuiteModel, header: dict[str, str]) -> Iterator[str]:
    """The lines of `crfsuite dump`, each with its line end."""
    labels, attributes = [_text(label) for label in model.labels], [_text(name) for name in model.attributes]
    yield from _section("FILEHEADER", (f"  {name}: {value}" for name, value in header.items()))
    yield from _section("LABELS", (f"  {number:5}: {label}" for number, label in enumerate(labels)))
    yield from _section("ATTRIBUTES", (f"  {number:5}: {name}" for number, name in enumerate(attributes)))
    between = (f"  (1) {labels[i]} --> {labels[j]}: {weight:f}" for i, j, weight in _transitions(model))
    yield from _section("TRANSITIONS", between)
    states = (f"  (0) {attributes[name]} --> {labels[label]}: {weight:f}" for name, label, weight in _states(model))
    yield from _section("STATE_FEATURES", states)


def _section(name: str, lines: Iterator[str]) -> Iterator[str]:
    yield f"{name} = {{\n"
    yield from (f"{line}\n" for line in lines)
    yield "}\n\n"


def _text(name: Key) -> str:
    return name if isinstance(name, str) else name.decode("utf-8", "backslashreplace")


Weighted = Iterator[tuple[int, int, float]]


def _transitions(model: CrfsuiteModel) -> Weighted:
    parts = (model.transition_from, model.transition_to, model.transition_weights)
    return zip(*(part.tolist() for part in parts), strict=True)


def _states(model: CrfsuiteModel) -> Weighted:
    parts = (model.state_attributes, model.state_labels, model.state_weights)
    return zip(*(part.tolist() for part in parts), strict=True)
