"""From what a template says about methods to their typed settings: inference, priors, optimizers, training stages.

The tables in `settings` hold every name, default and limit; here a call's arguments and its block's settings are
brought together, constants replaced by their values, and what does not fit becomes a diagnostic with its place.
Every function raises one `DcrfError` with all that is wrong. Not here: whether a method can run on a model (`check`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from ..errors import DcrfError, Diagnostic, Label
from ..registry import Guesses, Table, did_you_mean, shortened
from . import expressions as ex
from .convert import as_call
from .expressions import Frozen
from .margins import KERNELS, HmsvmSettings
from .model import CallSpec, ModelSpec, Stage
from .options import shown
from .settings import CRITERIA, DECODINGS, INFERENCE, OPTIMIZERS, PRIORS, MethodSettings, TrainSettings
from .spans import Path, SpanTable

__all__ = [
    "DEFAULT_STAGE", "decoding", "inference_settings", "optimizer_settings", "prior_settings", "stage_chain",
    "stage_settings",
]  # fmt: skip

DEFAULT_STAGE = Stage(criterion=CallSpec(name="likelihood"))


def inference_settings(
    spec: ModelSpec, call: CallSpec | None = None, *, spans: SpanTable | None = None, path: Path = ("infer",)
) -> MethodSettings:
    """Settings of `call` (an `infer` of a stage, say) or of the `infer` statement; `path` is where it stands."""
    return _single(spec, spans, INFERENCE, spec.infer if call is None else call, path)


def prior_settings(
    spec: ModelSpec, call: CallSpec, *, spans: SpanTable | None = None, path: Path = ()
) -> MethodSettings:
    """Settings of a prior: `gaussian(variance = 10)`."""
    return _single(spec, spans, PRIORS, call, path)


def optimizer_settings(
    spec: ModelSpec, call: CallSpec, *, spans: SpanTable | None = None, path: Path = ()
) -> MethodSettings:
    """Settings of an optimizer: `lbfgs(memory = 7)`."""
    return _single(spec, spans, OPTIMIZERS, call, path)


def decoding(spec: ModelSpec, label: str | None = None, *, spans: SpanTable | None = None) -> str:
    """How to decode after stage `label` (None: the last): as it says, or else its criterion, else the statement."""
    settings = stage_settings(spec, label, spans=spans)
    if (own := settings.decode or settings.criterion.decode) is not None:
        return own
    reader = _Reader(spec, spans or SpanTable())
    found = reader.decoding(spec.decode, ("decode",))
    if spec.decode.arguments or spec.decode.settings:
        reader.complain("unknown-setting", f"`decode {spec.decode.name}` takes no setting", ("decode",))
    return reader.finish(found)


def stage_chain(spec: ModelSpec, label: str | None = None, *, spans: SpanTable | None = None) -> tuple[Stage, ...]:
    """The stages to run for stage `label` (None: the last; `likelihood` where there is none), first one first."""
    stages = spec.stages or (DEFAULT_STAGE,)
    by_label = spec.stage_numbers or {DEFAULT_STAGE.label: 0}
    spans = spans or SpanTable()
    if label is not None and label not in by_label:
        raise DcrfError(_unknown_stage(label, by_label, None))
    at = len(stages) - 1 if label is None else by_label[label]
    chain = {at: None}
    while (before := stages[at].after) is not None:
        place = spans.label("stages", at, "after", text="unknown stage")
        if before not in by_label:
            raise DcrfError(_unknown_stage(before, by_label, place))
        at = by_label[before]
        if at in chain:
            names = " → ".join(shortened([stages[n].label for n in [*list(chain)[list(chain).index(at) :], at]]))
            raise DcrfError(Diagnostic("stage-cycle", f"stage `{stages[at].label}` comes after itself: {names}", place))
        chain[at] = None
    return tuple(stages[n] for n in reversed(chain))


def stage_settings(spec: ModelSpec, label: str | None = None, *, spans: SpanTable | None = None) -> TrainSettings:
    """Everything that stage `label` (None: the last) says, defaults filled in.

    The own settings of a criterion that this version does not run are not looked at.
    """
    stage = stage_chain(spec, label, spans=spans)[-1]
    number = spec.stage_numbers.get(stage.label, 0)
    reader = _Reader(spec, spans or SpanTable())
    return reader.finish(reader.stage(stage.criterion, ("stages", number, "criterion")))


def _single(
    spec: ModelSpec, spans: SpanTable | None, table: Table[type[MethodSettings]], call: CallSpec, path: Path
) -> MethodSettings:
    reader = _Reader(spec, spans or SpanTable())
    return reader.finish(reader.method(table, call, path))


def _unknown_stage(label: str, known: Iterable[str], place: Label | None) -> Diagnostic:
    guess = did_you_mean(label, known)
    remedy = f"did you mean `{guess}`?" if guess else f"the stages are {', '.join(shortened(list(known)))}"
    return Diagnostic("unknown-stage", f"there is no training stage `{label}`", place, help=remedy)


# ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Given:
    """A setting as written: its value, and the paths of the value and of the name."""

    value: ex.Value
    path: Path
    name_path: Path


Found = TypeVar("Found")
Settings = TypeVar("Settings", bound=Frozen)
_Key: TypeAlias = tuple[str, ...]


@dataclass
class _Reader:
    """Reads methods one after the other and collects what is wrong with them."""

    spec: ModelSpec
    spans: SpanTable
    problems: list[Diagnostic] = field(default_factory=list)
    guesses: Guesses = field(default_factory=Guesses)

    def finish(self, found: Found | None) -> Found:
        """What was read; `DcrfError` if anything was wrong, and nothing was found only then."""
        if self.problems or found is None:
            raise DcrfError(self.problems)
        return found

    def complain(self, slug: str, message: str, path: Path, words: str = "", help: str | None = None) -> None:
        self.problems.append(Diagnostic(slug, message, self.spans.label(*path, text=words), help=help))

    # methods --------------------------------------------------------------------------------------------------

    def method(self, table: Table[type[MethodSettings]], call: CallSpec, path: Path) -> MethodSettings | None:
        """The settings of one method of `table`; None after a complaint."""
        settings = self._entry(table, call, path)
        if settings is None:
            return None
        names = {settings.names: self._names(call, path)} if settings.names else {}
        given = self._given(call, path, positional=bool(settings.names))
        return self._fill(settings, call.name, given, path, table, found=names)

    def stage(self, call: CallSpec, path: Path) -> TrainSettings | None:
        criterion = self._entry(CRITERIA, call, path)
        given = self._given(call, path, positional=criterion is None or bool(criterion.names))
        found: dict[str, Any] = {}
        for key in [key for key in given if key[0] in _STAGE_READERS and len(key) == 1]:
            item = given.pop(key)
            found[key[0]] = _STAGE_READERS[key[0]](self, item)
        found["clique_priors"] = self._by_clique("prior", PRIORS, given)
        if criterion is HmsvmSettings:
            found["clique_kernels"] = self._by_clique("kernel", KERNELS, given)
        plain: dict[_Key, _Given] = {(name,): given.pop((name,)) for name in _STAGE_FIELDS if (name,) in given}
        if criterion is not None:
            names = {criterion.names: self._names(call, path)} if criterion.names else {}
            found["criterion"] = self._fill(criterion, call.name, given, path, CRITERIA, more=_STAGE_KEYS, found=names)
        usable = {name: value for name, value in found.items() if value is not None}
        usable.setdefault("criterion", MethodSettings())  # only after a complaint: then nothing is returned
        return self._validate(TrainSettings, {**usable, **self._values(plain)}, plain, path)

    def decoding(self, call: CallSpec | None, path: Path) -> str | None:
        """The name of a way to decode."""
        if call is not None and call.name in DECODINGS:
            return call.name
        known = ", ".join(f"`{name}`" for name in DECODINGS)
        guess = (
            did_you_mean(call.name, DECODINGS, {"viterbi": "joint", "map": "joint", "posterior": "marginal"})
            if call
            else None
        )
        found = f"`{call.name}`" if call else "this"
        remedy = f"did you mean `{guess}`?" if guess else f"the ways to decode are {known}"
        self.complain("unknown-method", f"{found} is not a way to decode", path, "unknown", remedy)
        return None

    def value_method(self, table: Table[type[MethodSettings]], item: _Given) -> MethodSettings | None:
        """A method that stands as the value of a setting, perhaps by way of a constant."""
        call = as_call(self.spec.settled(item.value))
        if call is None:
            example = next(iter(table))
            message = f"`{shown(item.value)}` is not a {table.kind}"
            self.complain("bad-setting", message, item.path, help=f"for example `{example}`")
            return None
        return self.method(table, call, item.path)

    def _entry(self, table: Table[type[MethodSettings]], call: CallSpec, path: Path) -> type[MethodSettings] | None:
        if call.name in table:
            return table[call.name]
        guess = table.suggest(call.name)
        known = ", ".join(f"`{name}`" for name in table)
        place = next((p for p in ((*path, "name"), (*path, "function")) if p in self.spans), path)
        remedy = f"did you mean `{guess}`?" if guess else f"known are {known}"
        article = "an" if table.kind[0] in "aeiou" else "a"
        self.complain("unknown-method", f"`{call.name}` is not {article} {table.kind}", place, "unknown", remedy)
        return None

    def _by_clique(
        self, first: str, table: Table[type[MethodSettings]], given: dict[_Key, _Given]
    ) -> dict[str, MethodSettings]:
        """`prior.NAME = …`, where `first` is `prior`, taken out of `given`."""
        found: dict[str, MethodSettings] = {}
        names, in_order = self.spec.clique_names
        if (first,) in given:
            remedy = f"name a clique with `as NAME`, and write `{first}.NAME = …`"
            place = given.pop((first,)).name_path
            self.complain("unknown-setting", f"a {first} belongs to a clique", place, "of which one?", remedy)
        for key in [key for key in given if key[0] == first and len(key) == 2]:
            item = given.pop(key)
            if key[1] not in names:
                guess = self.guesses.near(key[1], in_order)
                remedy = f"did you mean `{first}.{guess}`?" if guess else "name a clique with `as NAME`"
                message = f"there is no clique `{key[1]}`"
                self.complain("unknown-name", message, item.name_path, "no such clique", remedy)
            elif (method := self.value_method(table, item)) is not None:
                found[key[1]] = method
        return found

    # settings ---------------------------------------------------------------------------------------------------

    def _given(self, call: CallSpec, path: Path, *, positional: bool = False) -> dict[_Key, _Given]:
        """Arguments and settings of a call by name; each may be given once."""
        found: dict[_Key, _Given] = {}
        for n, argument in enumerate(call.arguments):
            at = (*path, "arguments", n)
            if argument.name is not None:
                self._once(found, (argument.name,), _Given(argument.value, (*at, "value"), (*at, "name")))
            elif not positional:
                remedy = f"write `NAME = {shown(argument.value)}`"
                self.complain("bad-argument", f"the settings of `{call.name}` are given by name", at, "no name", remedy)
        for n, setting in enumerate(call.settings):
            at = (*path, "settings", n)
            self._once(found, setting.key, _Given(setting.value, (*at, "value"), (*at, "key")))
        return found

    def _once(self, found: dict[_Key, _Given], key: _Key, item: _Given) -> None:
        if key in found:
            again = self.spans.label(*item.name_path, text="given again here")
            first = self.spans.label(*found[key].name_path, text="first given here")
            there = () if first is None else (first,)
            self.problems.append(Diagnostic("declared-twice", f"`{'.'.join(key)}` is given twice", again, there))
        else:
            found[key] = item

    def _fill(
        self,
        settings: type[MethodSettings],
        name: str,
        given: Mapping[_Key, _Given],
        path: Path,
        table: Table[type[MethodSettings]],
        more: Sequence[str] = (),
        found: Mapping[str, Any] | None = None,
    ) -> MethodSettings | None:
        """One method's settings from what was given; `more` are further names that would have been known, `found` are
        settings that were read elsewhere.
        """
        fields = [key for key in settings.model_fields if key not in (found or {})]
        known: dict[_Key, _Given] = {(key,): given[(key,)] for key in fields if (key,) in given}
        for parts, item in given.items():
            if parts not in known:
                self._unknown_setting(".".join(parts), name, [*fields, *more], item, table)
        nested = {key: self._nested(settings.methods[key], known.pop((key,))) for key in settings.methods
                  if (key,) in known}  # fmt: skip
        if len(self.problems) and None in nested.values():
            return None
        return self._validate(settings, {**self._values(known), **nested, **(found or {})}, known, path)

    def _nested(self, table: Table[type[MethodSettings]], item: _Given) -> MethodSettings | None:
        """A setting whose value is a method; None where it is `off`, and after a complaint."""
        value = self.spec.settled(item.value)
        return None if isinstance(value, ex.Reference) and value.name == "off" else self.value_method(table, item)

    def _names(self, call: CallSpec, path: Path) -> tuple[str, ...]:
        """The unnamed arguments of a call, which are names of declarations."""
        found = []
        for n, argument in enumerate(call.arguments):
            if argument.name is not None:
                continue
            if isinstance(argument.value, ex.Reference) and isinstance(argument.value.place, ex.Here):
                found.append(argument.value.name)
            else:
                self.complain("bad-argument", f"`{call.name}` takes names here", (*path, "arguments", n), "no name")
        return tuple(found)

    def _unknown_setting(
        self, key: str, method: str, known: Sequence[str], item: _Given, table: Table[type[MethodSettings]]
    ) -> None:
        guess = did_you_mean(key, known, {"iterations": "max_iterations", "tol": "tolerance", "l2": "prior"})
        owners = [f"`{name}`" for name, other in table.items() if key in other.model_fields]
        if guess:
            remedy = f"did you mean `{guess}`?"
        elif owners:
            shown_owners = owners[0] if len(owners) == 1 else f"{', '.join(owners[:-1])} and {owners[-1]}"
            remedy = f"it is a setting of {shown_owners}"
        elif known:
            remedy = f"its settings are {', '.join(f'`{name}`' for name in known)}"
        else:
            remedy = f"`{method}` has no settings"
        self.complain(
            "unknown-setting", f"`{key}` is not a setting of `{method}`", item.name_path, "unknown setting", remedy
        )

    def _values(self, given: Mapping[_Key, _Given]) -> dict[str, Any]:
        return {key[0]: _python_value(self.spec.settled(item.value)) for key, item in given.items()}

    def _validate(
        self, settings: type[Settings], values: Mapping[str, Any], given: Mapping[_Key, _Given], path: Path
    ) -> Settings | None:
        try:
            found = settings.model_validate(values)
        except ValidationError as error:
            details = error.errors()  # one for each kind of value that a setting may have
            for name in dict.fromkeys(str(detail["loc"][0]) for detail in details):
                words = [_expected(detail) for detail in details if str(detail["loc"][0]) == name]
                self._bad_value(name, given.get((name,)), " or ".join(words), path)
            return None
        # pydantic reads "7" as a number and yes as 1; the language does not.
        for key, item in given.items():
            before, after = values[key[0]], getattr(found, key[0])
            if isinstance(before, str | bool) and type(before) is not type(after) and after is not None:
                self._bad_value(key[0], item, "a number", path)
        return found

    def _bad_value(self, key: str, item: _Given | None, expected: str, path: Path) -> None:
        if item is None:
            self.complain("bad-setting", f"`{key}` is missing", path)
            return
        written, value = shown(item.value), shown(self.spec.settled(item.value))
        via = "" if written == value else f" (the constant `{written}`)"
        message = f"`{value}`{via} is no value for `{key}`: expected {expected}"
        self.complain("bad-setting", message, item.path, f"expected {expected}")


def _read_decode(reader: _Reader, item: _Given) -> str | None:
    return reader.decoding(as_call(reader.spec.settled(item.value)), item.path)


# Settings of every stage: methods, and plain values that `TrainSettings` checks.
_STAGE_READERS: Mapping[str, Callable[[_Reader, _Given], Any]] = {
    "prior": lambda reader, item: reader.value_method(PRIORS, item),
    "optimizer": lambda reader, item: reader.value_method(OPTIMIZERS, item),
    "infer": lambda reader, item: reader.value_method(INFERENCE, item),
    "decode": _read_decode,
}
_STAGE_FIELDS = ("restarts", "seed", "patience", "checkpoint")
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


def _expected(detail: ErrorDetails) -> str:
    """What pydantic wanted, in the words of the language."""
    context = detail.get("ctx", {})
    template = _EXPECTED.get(detail["type"])
    return template.format(**context) if template else detail["msg"].lower()


_EXPECTED: Mapping[str, str] = {
    "greater_than": "more than {gt:g}",
    "greater_than_equal": "at least {ge:g}",
    "less_than": "less than {lt:g}",
    "less_than_equal": "at most {le:,}",
    "literal_error": "{expected}",
    "int_parsing": "a whole number",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "finite_number": "a finite number",
    "float_parsing": "a number",
    "float_type": "a number",
    "bool_parsing": "`yes` or `no`",
    "bool_type": "`yes` or `no`",
}
