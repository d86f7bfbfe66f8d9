"""`convert_template`: a template or the settings of another tool as a `.dcrf` template, and which tool a text is of.

Not here: files and messages on the terminal (`cli`); model files and data.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from ..foundation import DcrfError, Diagnostic, Source, dataclass, did_you_mean
from ..syntax import KEYWORDS
from .chain_templates import chain_template
from .crfsuite_parameters import crfsuite_template
from .foreign_patterns import CRFPP, LONGEST_LINE, WAPITI
from .grmm_models import LINE, grmm_template


@dataclass(frozen=True)
class Conversion:
    """What `convert_template` makes.

    tool: `crfpp`, `wapiti`, `grmm` or `sklearn-crfsuite`.
    template: the text of the `.dcrf` template; lines that are left out stand in it as comments.
    remarks: errors about lines that are left out, warnings and notes about features that count differently.
    """

    tool: str
    template: str
    remarks: tuple[Diagnostic, ...]

    @property
    def complete(self) -> bool:
        """Whether every line was converted."""
        return all(item.severity != "error" for item in self.remarks)


# From the text, the names of the columns, that of the label, and how many columns the data have.
_Converter = Callable[[Source, Sequence[str] | None, str | None, int | None], tuple[str, list[Diagnostic]]]
_CONVERTERS: Mapping[str, _Converter] = {
    "crfpp": lambda source, columns, label, count: chain_template(source, CRFPP, columns, label, count),
    "wapiti": lambda source, columns, label, count: chain_template(source, WAPITI, columns, label, count),
    "grmm": lambda source, columns, label, count: grmm_template(source, columns, count),
    "sklearn-crfsuite": lambda source, columns, label, count: crfsuite_template(source, columns),
}
TOOLS: tuple[str, ...] = tuple(_CONVERTERS)


def convert_template(
    text: str,
    *,
    name: str = "<text>",
    tool: str | None = None,
    columns: Sequence[str] | None = None,
    label: str | None = None,
    data_columns: int | None = None,
) -> Conversion:
    """A template of CRF++, Wapiti or GRMM, or parameters of sklearn-crfsuite, as a `.dcrf` template.

    text: the content of the file.
    name: what messages call it.
    tool: one of `TOOLS`; guessed from the text if None.
    columns: the names of all columns of the data, in their order; made up if None. For GRMM those of the labels, and
        of the features behind them; for sklearn-crfsuite those of the label and of the attributes.
    label: which column is the label; the last if None. GRMM and sklearn-crfsuite say it themselves.
    data_columns: how many columns the data have, if no names are given; for GRMM, how many labels.

    Raises `DcrfError` if the text is of no known tool, has nothing to convert, or `columns` do not fit it.

    >>> from dcrfdsl.convert import convert_template
    >>> made = convert_template("U00:%x[-1,0]\\nU01:%x[0,0]\\nB\\n", columns=["word", "pos"])
    >>> made.tool, made.complete
    ('crfpp', True)
    """
    source = Source(name, text.replace("\r\n", "\n").replace("\r", "\n"))
    remarks: list[Diagnostic] = []
    if tool is None:
        tool, doubt = _guess(source)
        remarks.extend([doubt] if doubt else [])
    elif tool not in _CONVERTERS:
        near = did_you_mean(tool, TOOLS, {"crf++": "crfpp", "crfsuite": "sklearn-crfsuite", "mallet": "grmm"})
        help = f"did you mean `{near}`?" if near else None
        raise DcrfError(Diagnostic("unknown-tool", f"`{tool}` is none of {', '.join(TOOLS)}", help=help))
    template, more = _CONVERTERS[tool](source, columns, label, data_columns)
    return Conversion(tool, template, (*remarks, *more))


# guessing -------------------------------------------------------------------------------------------------------------

# The tool -> a line that only it has. Lines of CRF++ are Wapiti's, too.
_MARKS: Mapping[str, re.Pattern[str]] = {
    "wapiti": re.compile(r"[ub*](?:$|\W|[^=]*%)|[UB*].*%[XtTmM]\[|[UB*].*%x\[(?:[@*+]|\s)"),
    "crfpp": re.compile(r"[UB]\w*(?:$|:)|[UB].*%x\[|(?:UNIGRAM|BIGRAM)\b"),
    "grmm": LINE,
}
_PARAMETERS = re.compile(r"\s*(?:\{|(?:\w+\.)*\w*CRF\(|dict\()")
_FEWEST = 0.5  # of the lines must be of the tool


def _guess(source: Source) -> tuple[str, Diagnostic | None]:
    """The tool, and a note where another one could be meant. Raises `DcrfError` if it is none."""
    if _PARAMETERS.match(source.text):
        return "sklearn-crfsuite", None
    lines = [line[:LONGEST_LINE].strip() for line in source.text.split("\n")]
    lines = [line for line in lines if line and not line.startswith(("#", "//"))]
    found = Counter(next((tool for tool, mark in _MARKS.items() if mark.match(line)), "") for line in lines)
    statements = sum(line.partition(" ")[0].partition(":")[0] in KEYWORDS for line in lines)
    known = sum(count for tool, count in found.items() if tool)
    if not lines or known < _FEWEST * len(lines) or statements > known:
        is_ours = lines and statements >= _FEWEST * len(lines)
        message = f"`{source.name}` looks like no template of {', '.join(TOOLS)}"
        if is_ours:
            message = f"`{source.name}` is a template of this language already"
        help = None if is_ours else "say which it is: `--from crfpp`"
        raise DcrfError(Diagnostic("unknown-tool", message, help=help))
    for tool in ("grmm", "wapiti"):
        if found[tool]:
            return tool, None
    if any("%x" in line for line in lines):
        message = f"`{source.name}` is taken for a template of CRF++; Wapiti reads the same lines"
        help = "`--from wapiti` takes Wapiti's prior, and says what differs there"
        return "crfpp", Diagnostic("guessed-tool", message, help=help, severity="note")
    return "crfpp", None
