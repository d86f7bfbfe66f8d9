"""Pages for the slugs of the room `convert`: meaning and remedy. See `pages`."""

from __future__ import annotations

from collections.abc import Mapping

CONVERSION: Mapping[str, tuple[str, str]] = {
    "bad-columns": (
        "Templates of other tools number the columns; the given names do not fit, or cannot be names.",
        "Name every column in its order, the label too: `--columns word,pos,chunk`.",
    ),
    "bad-foreign-line": (
        "The tool itself would not read this line: its beginning, a macro, a column or a regular expression is wrong.",
        "Correct it, or leave it out. The other lines are converted.",
    ),
    "converts-differently": (
        "The line is converted, and the number of its features or what they share is not quite the tool's.",
        "The message says how they differ. The model can be trained all the same.",
    ),
    "guessed-tool": (
        "Lines such as `U00:%x[0,0]` are read by CRF++ and by Wapiti, whose default priors differ.",
        "Say which tool it is: `--from crfpp` or `--from wapiti`.",
    ),
    "lazy-repetition": (
        "In Wapiti's regular expressions a `*` takes as little as it can; at the end of one it takes nothing.",
        "To take as much as there is, remove the `?` behind the `*` in the template, or end the expression by `$`.",
    ),
    "literal-marks": (
        "Brackets, `+` and `|` have no meaning in Wapiti's regular expressions; they match themselves.",
        "If a class was meant, write it into the template: `word has /[A-Z]/`.",
    ),
    "made-up-columns": (
        "A template of another tool numbers the columns, and nobody has named them.",
        "Name them: `--columns word,pos,chunk`.",
    ),
    "not-converted": (
        "The line means something that this language does not have. It stands in the result as a comment.",
        "The message says what could stand for it. The other lines are converted.",
    ),
    "nothing-converted": (
        "No line of the file could be converted, so there is no template.",
        "The messages above say why; `--from TOOL` says what the file is.",
    ),
    "unknown-tool": (
        "The file looks like no template of a tool that is known, or the tool has no such name.",
        "Say what it is: `--from crfpp`, `wapiti`, `grmm` or `sklearn-crfsuite`.",
    ),
}
