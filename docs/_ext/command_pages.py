"""The page of the reference about commands, in Markdown.

    commands_page()  ->  each command with what it does, usage, examples, arguments and options

Not here: what is said of a command (`dcrfdsl.cli.command_reference`), when the page is written (`reference_pages`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from dcrfdsl.cli import COMMANDS
from dcrfdsl.cli.command_reference import DescribedCommand, DescribedOption, described_command
from dcrfdsl.cli.command_table import GROUPS

HEAD = """# Commands

`dcrfdsl COMMAND --help` prints the same in a terminal, `dcrfdsl explain --OPTION` explains an option, and
`dcrfdsl --version` prints the version. Data goes to stdout, messages to stderr. Exit codes: 0 done, 1 unusable input,
2 wrong usage, 70 a fault of the program, 128 + n ended by signal n.

Shells complete commands, options and names of files after one of these lines, which belong in the shell's own file:

```sh
eval "$(_DCRFDSL_COMPLETE=bash_source dcrfdsl)"         # ~/.bashrc
eval "$(_DCRFDSL_COMPLETE=zsh_source dcrfdsl)"          # ~/.zshrc
_DCRFDSL_COMPLETE=fish_source dcrfdsl | source          # ~/.config/fish/config.fish
```
"""
CODE = re.compile(r"(`[^`]*`)")
OPTION = re.compile(r"(?<![\w`-])--?[a-z][\w-]*")


def commands_page() -> str:
    """The page of all commands, in Markdown."""
    commands = [described_command(name) for name in COMMANDS]
    rows = {
        command.name: (
            f"[`{command.name}`](#dcrfdsl-{command.name})",
            _prose(command.paragraphs[0].split(". ")[0].rstrip(".")),
        )
        for command in commands
    }
    tables = [_table((caption.lower(), ""), [rows[name] for name in names]) for caption, names in GROUPS.items()]
    return "\n".join([HEAD, *tables, *map(_section, commands)])


def _section(command: DescribedCommand) -> str:
    lines = [f"\n## dcrfdsl {command.name}\n", *(f"{_prose(text)}\n" for text in command.paragraphs)]
    lines.append(f"```text\n{command.usage}\n```\n")
    lines += ["```sh", *command.examples, "```\n"]
    if command.arguments:
        rows = [(f"`{item.names[0]}`", item.kind, _prose(item.meaning)) for item in command.arguments]
        lines.append(_table(("argument", "type", "what it is"), rows))
    if command.options:
        rows = [(_names(item), item.kind, _prose(item.default), _prose(item.meaning)) for item in command.options]
        lines.append(_table(("option", "type", "default", "what it does"), rows))
    if command.more:
        lines += ["More options in use:\n", "```sh", *command.more, "```\n"]
    return "\n".join(lines)


def _names(item: DescribedOption) -> str:
    """`--output MODEL`, `-o`: the long name first."""
    value = f" {item.value}" if item.value else ""
    return ", ".join(f"`{name}{value if n == 0 else ''}`" for n, name in enumerate(item.names))


def _prose(text: str) -> str:
    """Plain text as Markdown: options become code, and marks of Markdown are escaped."""
    parts = CODE.split(text)
    for n in range(0, len(parts), 2):
        escaped = re.sub(r"[\\*_<>\[\]$]", r"\\\g<0>", parts[n])
        parts[n] = OPTION.sub(r"`\g<0>`", escaped)
    return "".join(parts)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    cells = [head, ["---"] * len(head), *([cell.replace("|", "\\|") for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(row)} |" for row in cells) + "\n"
