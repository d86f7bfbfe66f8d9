"""Feature functions that users write in Python, with `@dcrfdsl.feature`: marking, loading and calling them.

    @dcrfdsl.feature
    def vowels(word: str) -> str:
        return "".join(c for c in word if c in "aeiou")

A template then uses `vowels(word)[-1..1]`. What a function gets and may return, `feature` says. The decorator only
marks a function and records nothing; a file is loaded only when a person names it, never by a template. The message
about a call that fails names the file and line of the function, the values it was called with, and a place of them in
the data. Not here: the choice of values (`distinct_values`).
"""

from __future__ import annotations

import hashlib
import inspect
import re
import runpy
import textwrap
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from functools import partial
from pathlib import Path
from typing import Any, overload

import numpy as np

from ...data import Corpus
from ...foundation import DcrfError, Diagnostic, data_error, dataclass, is_pipe, near_name, require_callable, shortened
from ...semantics import FUNCTIONS, MethodSettings


@dataclass(frozen=True)
class RegisteredFeature:
    """A function marked with `@dcrfdsl.feature`, which can still be called.

    name: by which templates call it.
    function: the function itself.
    text_hash: SHA-256 of its source text without decorators; empty where Python has none, as for built-in functions.

    >>> vowels = RegisteredFeature("vowels", lambda word: "".join(c for c in word if c in "aeiou"))
    >>> vowels("Oxford")
    'o'
    """

    name: str
    function: Callable[..., Any]
    text_hash: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # now, since the file may have another text when it is asked for
        object.__setattr__(self, "text_hash", _text_hash(self.function))

    def __call__(self, *arguments: Any) -> Any:
        return self.function(*arguments)


@overload
def feature(function: Callable[..., Any]) -> RegisteredFeature: ...
@overload
def feature(*, name: str) -> Callable[[Callable[..., Any]], RegisteredFeature]: ...
def feature(function: Callable[..., Any] | None = None, *, name: str | None = None) -> Any:
    """Marks a function as a feature function, which templates may then call.

    function: gets one value of a column (a text, or a number of a column of numbers), then what else the template
        gives: values of other columns, None where a place lies outside the sentence, and constants. Of `f(word[all])`
        it gets the list of all values in the sentence. It returns a text (a feature), several texts (a feature each), a
        bool (a test), a number (a value), a mapping of names to numbers (features with values) or None (nothing); of a
        sentence a list of these, one a token.
    name: by which templates call it; by default the function's own.

    It must depend on its arguments alone: it runs once for the same arguments. Commands get its file by `--features`,
    Python functions get it as `registered={f.name: f}`. DcrfError where its name is that of a built-in function.

    >>> @feature
    ... def vowels(word: str) -> str:
    ...     return "".join(c for c in word if c in "aeiou")
    >>> template = load_text("data conll(word, part)\\nlabel part\\nclique part: bias, vowels(word)")
    >>> with_vowels = fit(template, corpus, registered={vowels.name: vowels})
    """
    require_callable(function, "function")
    if function is not None:
        return RegisteredFeature(function.__name__, function)
    return lambda marked: RegisteredFeature(name or marked.__name__, marked)


def registered_features(namespace: Mapping[str, object], *, origin: str = "<python>") -> dict[str, RegisteredFeature]:
    """The marked functions among the values of a namespace, by name. `origin` appears in messages."""
    functions: dict[str, RegisteredFeature] = {}
    for value in namespace.values():
        if not isinstance(value, RegisteredFeature):
            continue
        if value.name in FUNCTIONS:
            message = f"`{value.name}` is a built-in feature function"
            raise data_error("feature-name-taken", message, file=origin, help="rename yours")
        if value.name in functions and functions[value.name] != value:
            raise data_error("feature-name-taken", f"two feature functions are named `{value.name}`", file=origin)
        functions[value.name] = value
    return functions


def load_feature_file(path: Path) -> dict[str, RegisteredFeature]:
    """Runs a Python file and collects its marked functions. The file runs with all rights of the user.

    A file may also define inference methods, which are known by their definition, and mark no function then. Raises
    DcrfError `feature-file` if it cannot be read, raises an exception, or has neither.
    """
    refused = partial(data_error, "feature-file", file=str(path))
    if path.exists() and not path.is_file() and not is_pipe(path):  # a device would be read without end
        raise refused("it is a folder" if path.is_dir() else "it is no file", help="name a Python file")
    try:
        namespace = runpy.run_path(str(path))
    except OSError as error:
        raise refused(f"cannot read it: {error.strerror or error}", help=near_name(path)) from None
    except SyntaxError as error:
        raise refused(f"it is not Python: {error.msg}", line=error.lineno) from None
    except (Exception, SystemExit) as error:  # users' code may raise anything
        raise refused(f"it raises {type(error).__name__}: {error}", line=_line_in(error, str(path))) from error
    functions = registered_features(namespace, origin=str(path))
    methods = [value for value in namespace.values() if inspect.isclass(value) and issubclass(value, MethodSettings)]
    if not functions and all(method.__module__ != "<run_path>" for method in methods):
        raise refused("it marks no feature function", help="put `@dcrfdsl.feature` above a function")
    return functions


def _text_hash(function: Callable[..., Any]) -> str:
    """The hash of a function's text, from `def` on; decorators may be written in several ways."""
    try:
        text = textwrap.dedent(inspect.getsource(function))
    except (OSError, TypeError):
        return ""
    begin = _DEFINITION.search(text)
    if begin is None and function.__name__ != "<lambda>":
        return ""  # of functions without a file Python 3.13 takes the program of `python -c` for the text
    lines = [line.rstrip() for line in text[begin.start() if begin else 0 :].rstrip().split("\n")]
    return hashlib.sha256("\n".join(lines).encode("utf-8", "surrogatepass")).hexdigest()


_DEFINITION = re.compile(r"^(async\s+)?def\b", re.MULTILINE)


def place_of(function: Callable[..., Any], error: BaseException | None = None) -> tuple[str, int] | None:
    """File and line where a user's function raised `error`, or begins; None for code not written in Python."""
    code = getattr(function, "__code__", None)
    if code is None:
        return None
    raised = None if error is None else _line_in(error, code.co_filename)
    return code.co_filename, raised or code.co_firstlineno


def _line_in(error: BaseException, file: str) -> int | None:
    """The last line of `file` in the traceback of the error."""
    lines = [line for frame, line in traceback.walk_tb(error.__traceback__) if frame.f_code.co_filename == file]
    return lines[-1] if lines else None


# calls ----------------------------------------------------------------------------------------------------------------


Place = Callable[[], int | None]  # the token that a call is about, if there is one
ALLOWED = "a text, several texts, a bool, a number, a mapping of names to numbers, or None"


@dataclass(frozen=True)
class FunctionCalls:
    """Calls of one function on a corpus."""

    name: str
    function: Callable[..., Any]
    corpus: Corpus

    def result(self, arguments: Sequence[Any], token: Place) -> Any:
        """The result of the function. DcrfError if it raises, or if its result cannot be a feature."""
        return self._checked(self._called(arguments, token), arguments, token)

    def results(self, arguments: Sequence[Any], first: int, length: int) -> list[Any]:
        """The results for the tokens of a sentence, from its lists of values. DcrfError unless `length` are given."""
        found = self._called(arguments, lambda: first)
        if not isinstance(found, Iterable) or isinstance(found, str | Mapping) or len(found := list(found)) != length:
            what = f"{len(found):,} results" if isinstance(found, list) else f"`{shortened(repr(found))}`"
            remedy = f"of a whole sentence it returns a list, a result a token: {ALLOWED}"
            what = f"returns {what} for {length:,} tokens"
            raise self._failed("bad-result", what, arguments, lambda: first, help=remedy)
        return [self._checked(_kept(one), arguments, partial(int, first + n)) for n, one in enumerate(found)]

    def _called(self, arguments: Sequence[Any], token: Place) -> Any:
        try:
            return _kept(self.function(*arguments))
        except Exception as error:  # users' code may raise anything
            what = f"raises {type(error).__name__}"
            raise self._failed("feature-function-failed", what, arguments, token, error) from error

    def _checked(self, result: Any, arguments: Sequence[Any], token: Place) -> Any:
        numbers = result.values() if isinstance(result, Mapping) else [result]
        odd = next((one for one in numbers if _is_number(one) and not np.isfinite(one)), None)
        if odd is not None:
            raise self._failed("bad-result", f"returns `{odd}`, which is no finite number,", arguments, token)
        if kind_of_result(result) == "nothing":
            remedy = f"it may return {ALLOWED}"
            raise self._failed("bad-result", f"returns `{shortened(repr(result))}`", arguments, token, help=remedy)
        return result

    def _failed(
        self, slug: str, what: str, arguments: Sequence[Any], token: Place, error: Exception | None = None,
        help: str | None = None,
    ) -> DcrfError:  # fmt: skip
        number = token()
        where = "" if number is None else f" ({self.corpus.file}:{self.corpus.token_line[number]})"
        shown = ", ".join(shortened(str(one)) for one in arguments)
        message = f"feature function `{self.name}` {what} on `{shown}`{where}"
        message += f": {error}" if error is not None and str(error) else ""
        place = place_of(self.function, error)
        return DcrfError(Diagnostic(slug, message, location=":".join(map(str, place)) if place else None, help=help))


def _kept(result: Any) -> Any:
    """A result that can be read twice: an iterator can be read once only."""
    plain = str | np.generic | Mapping
    return tuple(result) if isinstance(result, Iterable) and not isinstance(result, plain) else result


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool | np.bool_)


def kind_of_result(result: Any) -> str | None:
    """`test`, `number`, `value` or `weights`; None for no result, and `nothing` for what cannot be a feature."""
    if result is None:
        return None
    if isinstance(result, bool | np.bool_):
        return "test"
    if _is_number(result):
        return "number"
    if isinstance(result, Mapping):
        plain = all(isinstance(name, str) and _is_number(weight) for name, weight in result.items())
        return "weights" if plain else "nothing"
    if isinstance(result, str) or (isinstance(result, tuple) and all(isinstance(part, str) for part in result)):
        return "value"
    return "nothing"
