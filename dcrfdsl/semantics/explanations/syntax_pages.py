"""Pages for the slugs of the rooms `syntax` and `convert`: meaning and remedy. See `pages`."""

from __future__ import annotations

from collections.abc import Mapping

SYNTAX: Mapping[str, tuple[str, str]] = {
    "ampersand-in-condition": ("`&` crosses features; a condition joins tests by words.", "Write `and`."),
    "and-in-features": ("`and` joins tests to one test; features are crossed by another mark.", "Write `word & pos`."),
    "bracketed-list": ("A list stands without brackets of its own.", "Write `features f: word, pos`, `clique a, b`."),
    "bare-regex": ("A regular expression stands between slashes.", "Write `word has /[0-9]/`."),
    "clause-order": ("The parts of a statement have an order.", "The message shows it."),
    "clause-twice": ("A part of the statement is there twice.", "Keep one of them."),
    "continued-line": ("A statement ends with its line; an indented block needs a `:` before it.", "Join the lines."),
    "empty-list": ("Nothing follows the `:`.", "List what belongs there, on the line or in an indented block."),
    "file-too-large": (
        "The file is too large to be a template.",
        "Data belongs in a data file, word lists in a lexicon.",
    ),
    "foreign-comment": ("The mark begins a comment elsewhere, not here.", "A comment begins with `#`, on any line."),
    "foreign-line": (
        "The line is written in the language of another tool.",
        "The message shows what it is in this language; `dcrfdsl convert FILE` translates a whole file.",
    ),
    "foreign-template": (
        "The file is a template of another tool: CRF++, Wapiti or GRMM.",
        "`dcrfdsl convert FILE -o chunk.dcrf` makes a template of this language of it.",
    ),
    "foreign-operator": ("The operator is another language's.", "Compare with `=`, `!=`, `is`; join with `and`, `or`."),
    "indented-statement": ("Statements begin in column 0.", "Remove the blanks before it."),
    "misplaced-edition": ("`dcrf 1` is the first line of a file.", "Move it to the top."),
    "misplaced-type": ("Only `data` gives types to columns.", "Type the column where it is declared: `height:float`."),
    "missing-colon": ("A `:` opens a list of features, members or settings.", "Put it before the list."),
    "missing-comma": ("The items of a list are separated by commas.", "Put a comma between them."),
    "missing-braces": ("A set of states stands in braces.", "Write `{A, B}`."),
    "missing-brackets": ("A place stands in brackets after the name.", "Write `word[-1]`."),
    "missing-with": ("The options of a declaration follow the word `with`.", "Write `… with min_count = 2`."),
    "misspelt-word": ("The word is not part of the statement here.", "Correct the spelling."),
    "no-template": (
        "Next to no line of the file begins like a statement, so it is something else: most likely data.",
        "The template comes first: `dcrfdsl train TEMPLATE DATA -o MODEL`. `dcrfdsl new` lists ready-made ones.",
    ),
    "nested-too-deep": ("Brackets are nested too deeply.", "Split the condition, or name parts of it by `view`."),
    "number-too-large": ("The number is too large.", "Use a smaller one."),
    "odd-name": ("A name is made of letters, digits and `_`, and begins with a letter.", "For instance `my_group`."),
    "offset-brackets": ("An offset is written in brackets after the name.", "`chunk[-1]` is the chunk before."),
    "python-call": ("Methods are Python's; here functions and tests are called by name.", "Write `lower(word)`."),
    "python-slice": (
        "Brackets hold positions in the sentence, not letters.",
        "Letters are `prefix(word, 1..3)`, `suffix(…)`.",
    ),
    "quoted-name": ("A column or a group is named without quotes; quotes make a text.", "Write `word`."),
    "quoted-regex": ("A regular expression stands between slashes, not in quotes.", "Write `/[A-Z]+/`."),
    "reserved-word": ("The word has a meaning of its own here and cannot be a name.", "Use another name."),
    "semicolon": ("Items are separated by commas, statements by lines.", "Write `,`, or begin a new line."),
    "strange-character": (
        "The character has no meaning here.",
        "Remove it; look for signs that only look like others.",
    ),
    "tab": ("Blocks are indented with spaces, never with tabs.", "Replace the tab by spaces."),
    "test-as-argument": (
        "Functions take a column, or a function of one; a test is a feature or a condition by itself, at one position.",
        "Join the positions: `(word[-1] in days or word in days)`. A memory keeps what was true at any earlier one.",
    ),
    "bad-owner": (
        "After `for` in a `label` statement stands what has one state of the label.",
        "Write `for sentence`, or leave it out: then every token has one.",
    ),
    "missing-limit": (
        "A `segment` statement says how many tokens a segment has at most.",
        "Write `segment y up to 8: …`. Longer ones are possible `with longer = together`, as one length.",
    ),
    "too-many-errors": ("There are so many errors that the rest is not shown.", "Correct the first ones."),
    "two-statements": ("One statement a line.", "Put the second one on a new line."),
    "unclosed-bracket": ("A bracket is never closed.", "Close it on the same line."),
    "unclosed-regex": ("A regular expression ends with a slash on the same line.", r"Close it; a `/` inside is `\/`."),
    "unclosed-string": ("A text in quotes ends on its line.", 'Close it with `"`.'),
    "unindented-line": (
        "The lines of a block are indented; a line in column 0 begins a statement of its own.",
        "Begin each line of the block with the same number of blanks.",
    ),
    "uneven-block": ("The lines of a block have the same indentation.", "Align them."),
    "unexpected-block": (
        "This statement has no block.",
        "Remove the blanks before the line, or join it to the one before.",
    ),
    "unexpected-end": ("The line ends before the statement is complete.", "The message says what is expected."),
    "unknown-edition": ("The edition of the language is not known.", "This version reads edition 1."),
    "unknown-escape": ("The escape sequence in the quoted text is not known.", r"Known are `\"`, `\\`, `\n` and `\t`."),
    "unknown-statement": ("No statement begins with this word.", "The message names the one that is probably meant."),
    "unmatched-bracket": ("A bracket closes nothing, or closes one of another kind.", "Correct the pair."),
    "unquoted-state": ("A state that is no plain name is quoted here.", 'Write `"B-NP"`.'),
    "unexpected-text": ("A quoted text cannot stand here.", "The message says what is expected."),
    "unquoted-text": ("A text, such as the path of a file, is quoted here.", 'Write `"places.txt"`.'),
    "window-dots": ("A window is written with two dots.", "Write `[-2..2]`."),
}


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
