"""Entries of methods, read off the classes of their settings: inference, criteria, priors, optimizers, losses.

Types, defaults, limits and units are read off the classes. What a method does, its source, the meanings of its settings
and examples stand in `words.md`. Not here: the classes (`semantics.settings`).
"""

from __future__ import annotations

import types
from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic.fields import FieldInfo

from ...foundation import Table, number_text
from .. import settings
from .reference_entry import ReferenceEntry, SettingEntry, written_entries

TABLES: tuple[Table[Any], ...] = (
    settings.DECODINGS, settings.INFERENCE, settings.CRITERIA, settings.PRIORS, settings.OPTIMIZERS, settings.LOSSES,
    settings.SMOOTHINGS, settings.MARGIN_LOSSES, settings.KERNELS, settings.CASES, settings.IMPORTANCE,
)  # fmt: skip
TYPES = {int: "whole number", float: "number", bool: "yes or no", str: "name"}
OF_SINGLE_SENTENCES = (  # `checks.criterion_rules.single_sentences`
    "Of `mce`, not with a finite `psi` that compares whole sentences, and not with `measure = difference`."
)
SIGNS = {"gt": ">", "ge": "≥", "lt": "<", "le": "≤"}


def method_entries() -> Iterator[ReferenceEntry]:
    """An entry a method of each table."""
    usages = {entry.name: entry.usage for entry in written_entries("usage of methods")}
    for table in TABLES:
        written = {entry.name: entry for entry in written_entries(table.kind)}
        for name, kind in table.items():
            said = written.get(name, ReferenceEntry(table.kind, name, "", ""))
            yield replace(
                said,
                usage=usages[table.kind].format(_call(name, kind)),
                text=_facts(name, kind),
                settings=tuple(_settings(kind, said)),
                synonyms=table.synonyms_of(name),
            )


def stage_settings() -> tuple[SettingEntry, ...]:
    """The settings that every stage of training takes, each with an example of its own or that of them all."""
    tables: dict[str, Table[Any]] = {
        "prior": settings.PRIORS,
        "optimizer": settings.OPTIMIZERS,
        "infer": settings.INFERENCE,
        "importance": settings.IMPORTANCE,
    }
    fields = settings.TrainSettings.model_fields
    of_cliques = {
        "prior.CLIQUE": (_names(settings.PRIORS), "that of all weights"),
        "kernel.CLIQUE": (_names(settings.KERNELS), "none"),
    }
    every, *written = written_entries("setting of a stage")
    return tuple(
        SettingEntry(one.name, *of_cliques[one.name], "", "", one.summary, one.example or every.example)
        if one.name in of_cliques
        else _setting(one.name, fields[one.name], tables.get(one.name), one.summary, one.example or every.example)
        for one in written
    )


def _call(name: str, kind: type[settings.MethodSettings]) -> str:
    fields = [field for field in kind.model_fields if field not in (kind.names, kind.texts)]
    inside = [f"{kind.names.upper()}, …"] if kind.names else []
    inside += ['"…", …'] if kind.texts else []
    inside += [f"{field} = …" for field in fields]
    return f"{name}({', '.join(inside)})" if inside else name


def _facts(name: str, kind: type[settings.MethodSettings]) -> str:
    """What follows from the class: how a criterion can be trained and decoded, which priors an optimizer treats."""
    if issubclass(kind, settings.CriterionSettings):
        optimizers = ", ".join(f"`{other}`" for other in settings.TRAINED_BY[name])
        usual = _told("default prior", name) or "`gaussian(variance = 10)`"
        prior = f"A prior is added to it, by default {usual}." if kind.takes_prior else "It takes no prior."
        rule = _told("rule of decoding", name) or f"`{kind.decode or 'joint'}`"
        return f"Optimizers: {optimizers}. {prior} Unless the template says otherwise, its models decode by {rule}."
    if issubclass(kind, settings.OptimizerSettings):
        criteria = ", ".join(f"`{other}`" for other, optimizers in settings.TRAINED_BY.items() if name in optimizers)
        limits = f" {OF_SINGLE_SENTENCES}" if name in ("gpd", "sgd") else ""
        return f"It trains {criteria}.{limits} Shapes of penalties that it treats: {', '.join(kind.treats)}."
    if issubclass(kind, settings.Prior):
        optimizers = ", ".join(
            f"`{other}`" for other, able in settings.OPTIMIZERS.items() if kind().shape in able.treats
        )
        return f"Optimizers that treat it with these defaults: {optimizers}."
    if issubclass(kind, settings.CostSettings):
        return "A `loss` of `hmsvm`, and a `cost` of `likelihood`."
    if not kind.gives_log_z:
        return "It does not estimate log Z, so `train` refuses it."
    return ""


def _told(kind: str, name: str) -> str:
    """What `words.md` says of a criterion below a heading that is no kind of word."""
    return next((one.summary for one in written_entries(kind) if one.name == name), "")


def _settings(kind: type[settings.MethodSettings], written: ReferenceEntry) -> Iterator[SettingEntry]:
    for name, field in kind.model_fields.items():
        unnamed = name == kind.names and written.written_out
        example = written.written_out if unnamed or f"{name} =" in written.written_out else written.example
        yield _setting(name, field, kind.methods.get(name), written.meanings.get(name, ""), example)


def _setting(name: str, field: FieldInfo, methods: Table[Any] | None, meaning: str, example: str) -> SettingEntry:
    extra = field.json_schema_extra
    unit = str(extra.get("unit", "")) if isinstance(extra, dict) else ""
    return SettingEntry(
        name,
        _names(methods) if methods else _type(field.annotation),
        "none" if field.is_required() else _default(field.default),
        _limits(field.metadata),
        unit,
        meaning,
        example,
    )


def _names(table: Table[Any]) -> str:
    return ", ".join(f"`{name}`" for name in table)


def _type(annotation: Any) -> str:
    """A type in the words of the language."""
    origin, inside = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _type(inside[0])
    if origin is Literal:
        return ", ".join(f"`{value}`" for value in inside)
    if origin is tuple:
        return "names"
    if origin in (Union, types.UnionType):
        return " or ".join(_type(part) for part in inside if part is not type(None))
    return TYPES.get(annotation, "method")


def _default(value: Any) -> str:
    if value is None or value == ():
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return number_text(value)
    return value.method if isinstance(value, settings.MethodSettings) else str(value)


def _limits(metadata: list[Any]) -> str:
    limits = [
        f"{sign} {_default(getattr(limit, key))}"
        for limit in metadata
        for key, sign in SIGNS.items()
        if getattr(limit, key, None) is not None
    ]
    return ", ".join(limits)
