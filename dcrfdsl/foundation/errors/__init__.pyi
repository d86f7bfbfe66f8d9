from .arguments import (
    CORPUS as CORPUS,
    DATA as DATA,
    PATHS as PATHS,
    plain_number as plain_number,
    require_callable as require_callable,
    require_kind as require_kind,
    require_list as require_list,
    require_whole as require_whole,
)
from .diagnostics import (
    DcrfError as DcrfError,
    DcrfWarning as DcrfWarning,
    Diagnostic as Diagnostic,
    Label as Label,
    QuickFix as QuickFix,
    Source as Source,
    Span as Span,
    data_error as data_error,
    in_a_line as in_a_line,
    quick_fix as quick_fix,
    render as render,
    render_all as render_all,
    warn_of as warn_of,
    word_instead as word_instead,
)
from .missing_packages import MissingPackage as MissingPackage, needed as needed
from .printing import (
    figure as figure,
    json_text as json_text,
    number_text as number_text,
    printable as printable,
    printable_lines as printable_lines,
    shell_word as shell_word,
    shortened as shortened,
)
from .registry import (
    MOST_SHOWN as MOST_SHOWN,
    SpellingGuesses as SpellingGuesses,
    Table as Table,
    checked_kind as checked_kind,
    did_you_mean as did_you_mean,
    quoted_names as quoted_names,
    spelling_remedy as spelling_remedy,
    typed_entry as typed_entry,
)
