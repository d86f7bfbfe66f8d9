"""From the methods in a template to their typed settings: inference, priors, optimizers, training stages.

The tables of this room hold every name, default and limit. This module combines the arguments of a call with the
settings of its block, replaces constants by their values, and turns each problem into a diagnostic with its place.
Every function raises one `DcrfError` with all problems. Not here: whether a method can run on a model (`checks`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any, TypeAlias, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from ...foundation import (
    DcrfError,
    Diagnostic,
    Span,
    SpellingGuesses,
    Table,
    dataclass,
    did_you_mean,
    number_text,
    quoted_names,
)
from ...syntax import CallSpec, Stage, nodes as ex, other_words, shown
from ..schema import ModelSpec, as_call
from .decoding_settings import DECODINGS, decoding_text
from .foreign_spellings import SettingHolder, advice, entry_remedy, prior_remedy, unnamed_remedy
from .infer_settings import INFERENCE
from .loss_settings import KERNELS, HmsvmSettings
from .method_settings import CriterionSettings, Frozen, MethodSettings
from .optimizer_settings import OPTIMIZERS
from .prior_settings import PRIORS
from .training_settings import CRITERIA, IMPORTANCE, TrainSettings, column_alone, unnamed_texts

DEFAULT_STAGE = Stage(criterion=CallSpec(name="likelihood"))


def inference_settings(spec: ModelSpec) -> MethodSettings:
    """Settings of the `infer` statement."""
    reader = _Reader(spec)
    return reader.finish(reader.method(INFERENCE, spec.infer))


def decode_statement(spec: ModelSpec) -> str | None:
    """The rule that the `decode` statement names; None where there is none."""
    if spec.decode is None:
        return None
    reader = _Reader(spec)
    return reader.finish(reader.decoding(spec.decode, spec.decode))


def stage_chain(spec: ModelSpec, label: str | None = None) -> tuple[Stage, ...]:
    """The stages to run for stage `label` (None: the last), in order; `DEFAULT_STAGE` if the model has no stages."""
    stages = spec.stages or (DEFAULT_STAGE,)
    by_label = spec.stage_numbers or {DEFAULT_STAGE.label: 0}
    if label is not None and label not in by_label:
        raise DcrfError(_unknown_stage(label, by_label, None))
    at = len(stages) - 1 if label is None else by_label[label]
    chain = {at: None}
    while (before := stages[at].after) is not None:
        if before not in by_label:
            raise DcrfError(_unknown_stage(before, by_label, stages[at].place_of("after")))
        at = by_label[before]
        if at in chain:
            circle = list(chain)
            raise DcrfError(_stage_cycle(stages, circle[circle.index(at) :]))
        chain[at] = None
    return tuple(stages[n] for n in reversed(chain))


def _unknown_stage(label: str, known: Iterable[str], place: Span | None) -> Diagnostic:
    """The error for an unknown stage. `place`: where it is named."""
    names = list(known)
    guess = did_you_mean(label, names)
    remedy = f"did you mean `{guess}`?" if guess else f"the stages are {', '.join(quoted_names(names))}"
    message = f"there is no training stage `{label}`"
    return Diagnostic("unknown-stage", message, ex.label_at(place, "unknown stage"), help=remedy)


def _stage_cycle(stages: Sequence[Stage], circle: Sequence[int]) -> Diagnostic:
    """The error for stages that wait for each other. `circle`: their numbers; each stage comes after the next one, and
    the last after the first.

    Points at the first `after` that names a later stage or its own stage, because stages run in the order of the text.
    """
    number = {stages[n].label: n for n in circle}
    first = min(n for n in circle if number[stages[n].after or ""] >= n)
    others = sorted(n for n in circle if n != first)
    here, *there = (
        ex.label_at(stages[n].place_of("after"), f"`{stages[n].label}` after `{stages[n].after}`")
        for n in (first, *others)
    )
    names = quoted_names([stages[n].label for n in sorted(circle)])
    message = f"stage {names[0]} comes after itself"
    if others:
        message = f"stages {', '.join(names[:-1])} and {names[-1]} come after each other"
    remedy = f"leave out one `after`, as in `train {stages[first].criterion.name} as {stages[first].label}`"
    return Diagnostic("stage-cycle", message, here, tuple(filter(None, there)), remedy)


def stage_settings(spec: ModelSpec, label: str | None = None) -> TrainSettings[CriterionSettings]:
    """The settings of stage `label` (None: the last), with defaults filled in."""
    reader = _Reader(spec)
    return reader.finish(reader.stage(stage_chain(spec, label)[-1].criterion))


# ----------------------------------------------------------------------------------------------------------------


_Written: TypeAlias = ex.Argument | ex.Setting  # a setting as written, as an argument or in the block


def _name_place(item: _Written) -> Span:
    return item.place_of("key" if isinstance(item, ex.Setting) else "name")


Result = TypeVar("Result")
Settings = TypeVar("Settings", bound=Frozen)
_Key: TypeAlias = tuple[str, ...]


@dataclass
class _Reader:
    """Reads methods one after the other and collects what is wrong with them."""

    spec: ModelSpec
    problems: list[Diagnostic] = field(default_factory=list)
    guesses: SpellingGuesses = field(default_factory=SpellingGuesses)

    def finish(self, result: Result | None) -> Result:
        """`result`, which is None only after a problem. Raises `DcrfError` if there was any problem."""
        if self.problems or result is None:
            raise DcrfError(self.problems)
        return result

    def complain(self, slug: str, message: str, at: ex.Node | Span, words: str = "", help: str | None = None) -> None:
        self.problems.append(Diagnostic(slug, message, ex.label_at(at, words), help=help))

    # methods --------------------------------------------------------------------------------------------------

    def method(self, table: Table[type[MethodSettings]], call: CallSpec) -> MethodSettings | None:
        """The settings of one method of `table`; None after a complaint."""
        settings = self._entry(table, call)
        if settings is None:
            return None
        names: dict[str, Any] = {}
        if settings.names in settings.methods:
            inner = [one for one in call.arguments if one.name is None]
            names[settings.names] = tuple(self.value_method(settings.methods[settings.names], one) for one in inner)
            if None in names[settings.names]:
                return None
        elif settings.names:
            names[settings.names] = self._names(call, settings.texts)
        if settings.texts:
            names[settings.texts] = unnamed_texts(call)
        return self._fill(settings, call, self._written(call, settings), table, already_read=names)

    def stage(self, call: CallSpec) -> TrainSettings | None:
        criterion = self._entry(CRITERIA, call)
        items = self._written(call, criterion)
        settings_read: dict[str, Any] = {}
        written = {key[0]: item.value for key, item in items.items() if len(key) == 1}
        for key in [key for key in items if key[0] in _STAGE_READERS and len(key) == 1]:
            item = items.pop(key)
            settings_read[key[0]] = _STAGE_READERS[key[0]](self, item)
        settings_read["clique_priors"] = self._by_clique("prior", PRIORS, items)
        if criterion is HmsvmSettings:
            settings_read["clique_kernels"] = self._by_clique("kernel", KERNELS, items)
        plain: dict[_Key, _Written] = {(name,): items.pop((name,)) for name in _STAGE_FIELDS if (name,) in items}
        if criterion is not None:
            names = {criterion.names: self._names(call)} if criterion.names else {}
            settings_read["criterion"] = self._fill(criterion, call, items, CRITERIA, written, already_read=names)
        usable = {name: value for name, value in settings_read.items() if value is not None}
        usable.setdefault("criterion", CriterionSettings())  # only after a complaint: then nothing is returned
        return self._validate(TrainSettings, {**usable, **self._values(plain)}, plain, call)

    def decoding(self, call: CallSpec | None, at: ex.Node) -> str | None:
        """The text of the decoding rule that `call` names; None after a complaint. `call` None: it was no call."""
        if call is None:
            remedy = f"the ways to decode are {', '.join(f'`{name}`' for name in DECODINGS)}"
            self.complain("unknown-method", "this is not a way to decode", at, "unknown", remedy)
            return None
        settings = self.method(DECODINGS, call)
        return None if settings is None else decoding_text(settings)

    def called(self, value: ex.Value) -> CallSpec | None:
        """The method that a value names; all of it is placed at the constant where the value names one."""
        settled = self.spec.settled(value)
        call = as_call(settled)
        if call is None or settled is value:
            return call
        here: CallSpec = ex.relocated(call, lambda _: value.span)
        return here if here.is_written else here.at(value.span)

    def value_method(self, table: Table[type[MethodSettings]], item: _Written) -> MethodSettings | None:
        """A method that is the value of a setting, directly or through a constant."""
        call = self.called(item.value)
        if call is None:
            example = next(iter(table))
            message = f"`{shown(item.value)}` is not a {table.kind}"
            remedy = prior_remedy(item.value, self.spec) if table is PRIORS else f"for example `{example}`"
            self.complain("bad-setting", message, item.value, help=remedy)
            return None
        return self.method(table, call)

    def _entry(self, table: Table[type[MethodSettings]], call: CallSpec) -> type[MethodSettings] | None:
        if call.name in table:
            return table[call.name]
        guess = table.suggest(call.name)
        known = ", ".join(f"`{name}`" for name in table)
        own = "one of your own comes with `--features FILE.py`; " if table is INFERENCE else ""
        remedy = entry_remedy(table, call, guess, self.spec) or (
            f"did you mean `{guess}`?" if guess else f"{own}known are {known}"
        )
        message = f"`{call.name}` is not {'an' if table.kind[0] in 'aeiou' else 'a'} {table.kind}"
        self.complain("unknown-method", message, call.place_of("name"), "unknown", remedy)
        return None

    def _by_clique(
        self, first: str, table: Table[type[MethodSettings]], items: dict[_Key, _Written]
    ) -> dict[str, MethodSettings]:
        """The values of `prior.NAME = …`, if `first` is `prior`, by clique name; removes them from `items`."""
        by_clique: dict[str, MethodSettings] = {}
        names, in_order = self.spec.clique_names
        if (first,) in items:
            remedy = f"name a clique with `as NAME`, and write `{first}.NAME = …`"
            place = _name_place(items.pop((first,)))
            self.complain("unknown-setting", f"a {first} belongs to a clique", place, "of which one?", remedy)
        for key in [key for key in items if key[0] == first and len(key) == 2]:
            item = items.pop(key)
            if key[1] not in names:
                guess = self.guesses.near(key[1], in_order)
                remedy = f"did you mean `{first}.{guess}`?" if guess else "name a clique with `as NAME`"
                message = f"there is no clique `{key[1]}`"
                self.complain("unknown-name", message, _name_place(item), "no such clique", remedy)
            elif (method := self.value_method(table, item)) is not None:
                by_clique[key[1]] = method
        return by_clique

    # settings ---------------------------------------------------------------------------------------------------

    def _written(self, call: CallSpec, settings: type[MethodSettings] | None) -> dict[_Key, _Written]:
        """Arguments and settings of a call by name, each once. `settings`: the class of the method, None if unknown."""
        items: dict[_Key, _Written] = {}
        positional = iter(settings.positional if settings is not None else ())  # the first ones may be by their place
        unnamed: list[ex.Argument] = []
        for argument in call.arguments:
            name = argument.name
            if name is not None:
                positional = iter(())
            elif (name := next(positional, None)) is None:
                unnamed.append(argument)
                continue
            self._once(items, (name,), argument)
        for setting in call.settings:
            self._once(items, setting.key, setting)
        if unnamed and settings is not None and not settings.names:
            remedy = unnamed_remedy(call, settings, lambda value: _python_value(self.spec.settled(value)))
            message = f"the settings of `{call.name}` are given by name"
            self.complain("bad-argument", message, unnamed[0], "no name", remedy)
        return items

    def _once(self, items: dict[_Key, _Written], key: _Key, item: _Written) -> None:
        if key in items:
            again = ex.label_at(_name_place(item), "given again here")
            first = ex.label_at(_name_place(items[key]), "first given here")
            there = () if first is None else (first,)
            self.problems.append(Diagnostic("declared-twice", f"`{'.'.join(key)}` is given twice", again, there))
        else:
            items[key] = item

    def _fill(
        self,
        settings: type[MethodSettings],
        call: CallSpec,
        items: Mapping[_Key, _Written],
        table: Table[type[MethodSettings]],
        written: Mapping[str, ex.Value] | None = None,
        already_read: Mapping[str, Any] | None = None,
    ) -> MethodSettings | None:
        """One method's settings from `items`; `written` is everything in a stage, `already_read` are settings
        read elsewhere.
        """
        fields = [key for key in settings.model_fields if key not in (already_read or {})]
        known: dict[_Key, _Written] = {(key,): items[(key,)] for key in fields if (key,) in items}
        strange = {parts: item for parts, item in items.items() if parts not in known}
        if strange:
            all_known = fields if written is None else [*fields, *_STAGE_KEYS]
            self._unknown_settings(strange, SettingHolder(call.name, all_known, table, self.spec, written))
        nested = {key: self._nested(settings.methods[key], known.pop((key,))) for key in settings.methods
                  if (key,) in known}  # fmt: skip
        if len(self.problems) and None in nested.values():
            return None
        return self._validate(settings, {**self._values(known), **nested, **(already_read or {})}, known, call)

    def _nested(self, table: Table[type[MethodSettings]], item: _Written) -> MethodSettings | None:
        """A setting whose value is a method; None if it is `off`, and after a complaint."""
        value = self.spec.settled(item.value)
        return None if isinstance(value, ex.Reference) and value.name == "off" else self.value_method(table, item)

    def _names(self, call: CallSpec, texts: str = "") -> tuple[str, ...]:
        """The unnamed arguments of a call, which are names of declarations. texts: where those go that are texts."""
        names = []
        for argument in call.arguments:
            if argument.name is not None or (texts and isinstance(argument.value, ex.Text)):
                continue
            if isinstance(argument.value, ex.Reference) and isinstance(argument.value.place, ex.Here):
                names.append(argument.value.name)
            else:
                self.complain("bad-argument", f"`{call.name}` takes names here", argument, "no name")
        return tuple(names)

    def _unknown_settings(self, strange: Mapping[_Key, _Written], holder: SettingHolder) -> None:
        """One complaint per remedy, at the first of the settings that it is about."""
        items = {".".join(parts): item for parts, item in strange.items()}
        for name in [name for name in items if name in RETIRED]:
            message, at = f"`{name}` is not a setting any more", _name_place(items.pop(name))
            self.complain("unknown-setting", message, at, "no setting", RETIRED[name])
        for names, remedy in advice({name: item.value for name, item in items.items()}, holder):
            first, *others = (_name_place(items[name]) for name in names)
            also = tuple(label for place in others if (label := ex.label_at(place, "and here")) is not None)
            listed = ", ".join(f"`{name}`" for name in names)
            what = "is not a setting" if len(names) == 1 else "are not settings"
            message, label = f"{listed} {what} of `{holder.method}`", ex.label_at(first, "unknown setting")
            self.problems.append(Diagnostic("unknown-setting", message, label, also, remedy))

    def _values(self, items: Mapping[_Key, _Written]) -> dict[str, Any]:
        return {key[0]: _python_value(self.spec.settled(item.value)) for key, item in items.items()}

    def _validate(
        self, settings: type[Settings], values: Mapping[str, Any], items: Mapping[_Key, _Written], call: CallSpec
    ) -> Settings | None:
        try:
            validated = settings.model_validate(values)
        except ValidationError as error:
            details = error.errors()  # one for each kind of value that a setting may have
            for name in dict.fromkeys(str(detail["loc"][0]) for detail in details):
                words = [expected_words(detail, settings) for detail in details if detail["loc"][0] == name]
                self._bad_value(name, items.get((name,)), " or ".join(words), call)
            return None
        # pydantic reads "7" as a number and yes as 1; the language does not.
        for key, item in items.items():
            before, after = values[key[0]], getattr(validated, key[0])
            if isinstance(before, str | bool) and type(before) is not type(after) and after is not None:
                self._bad_value(key[0], item, "a number", call)
        return validated

    def _bad_value(self, key: str, item: _Written | None, expected: str, call: CallSpec) -> None:
        if item is None:
            self.complain("bad-setting", f"`{key}` is missing", call)
            return
        written, value = shown(item.value), shown(self.spec.settled(item.value))
        via = "" if written == value else f" (the constant `{written}`)"
        message = f"`{value}`{via} is no value for `{key}`: expected {expected}"
        self.complain("bad-setting", message, item.value, f"expected {expected}")


# Settings of every stage: methods, and plain values that `TrainSettings` checks.
_STAGE_READERS: Mapping[str, Callable[[_Reader, _Written], Any]] = {
    "prior": lambda reader, item: reader.value_method(PRIORS, item),
    "optimizer": lambda reader, item: reader.value_method(OPTIMIZERS, item),
    "infer": lambda reader, item: reader.value_method(INFERENCE, item),
    "decode": lambda reader, item: reader.decoding(reader.called(item.value), item.value),
    "importance": lambda reader, item: column_alone(reader.spec, item.value) or reader.value_method(IMPORTANCE, item),
}
_STAGE_FIELDS = ("restarts", "seed", "keep", "patience")
_STAGE_KEYS = (*_STAGE_READERS, *_STAGE_FIELDS)

_WORDS: Mapping[str, Any] = {"yes": True, "no": False, "off": None, "inf": float("inf")}


def _python_value(value: ex.Value) -> Any:
    """The Python value of a settled setting; calls, ranges and regexes stay what they are and fit no plain setting."""
    match value:
        case ex.Number() | ex.Text():
            return value.value
        case ex.Reference(place=ex.Here()):
            return _WORDS.get(value.name, value.name)
        case _:
            return value


# the value that a setting expects, in words ---------------------------------------------------------------------------


def expected_words(detail: ErrorDetails, settings: type[BaseModel]) -> str:
    """What pydantic expected of a value of `settings`, in the words of the language."""
    context = {name: _limit_text(value) for name, value in detail.get("ctx", {}).items()}
    template = other_words("errors of pydantic").get(detail["type"])
    if "expected" in context:
        context["expected"] = context["expected"].replace("'", "`")
    if detail["type"] == "int_parsing_size":
        context["limits"] = _limits(settings, str(detail["loc"][0]))
    return template.format(**context) if template else detail["msg"].lower()


def _limit_text(value: object) -> str:
    if isinstance(value, float):
        return number_text(value)
    return f"{value:,}" if isinstance(value, int) else str(value)


def _limits(settings: type[BaseModel], name: str) -> str:
    """Those of a whole number. Numbers of the language have at most 18 digits."""
    declared = settings.model_fields[name].metadata
    least = next((f"at least {limit.ge}" for limit in declared if hasattr(limit, "ge")), "")
    most = next((f"at most {limit.le:,}" for limit in declared if hasattr(limit, "le")), "of at most 18 digits")
    return ", ".join(filter(None, (least, most)))


# settings that the language no longer has -----------------------------------------------------------------------------


# What does the work of each now.
RETIRED: Mapping[str, str] = {
    "checkpoint": "remove it: `dcrfdsl train` writes checkpoints by itself, `--checkpoint SECONDS` says how often, and "
    "`--resume` goes on from one",
}


def without_retired_settings(spec: ModelSpec) -> ModelSpec:
    """The specification without retired settings: a model file, which nobody can edit, may still have them."""
    stages = []
    for stage in spec.stages:
        call = stage.criterion
        arguments = tuple(item for item in call.arguments if item.name not in RETIRED)
        settings = tuple(item for item in call.settings if ".".join(item.key) not in RETIRED)
        call = call.model_copy(update={"arguments": arguments, "settings": settings})
        stages.append(stage.model_copy(update={"criterion": call}))
    return spec.model_copy(update={"stages": tuple(stages)})
