from .format import (
    format_statement as format_statement,
    format_template as format_template,
    format_value as format_value,
)
from .highlighting import DcrfLexer as DcrfLexer, highlighted as highlighted
from .parser import MAX_CHARACTERS as MAX_CHARACTERS, parse as parse, parse_partial as parse_partial
from .resources import resource_path as resource_path
from .split import split_statements as split_statements
from .token_rules import CLAUSE_WORDS as CLAUSE_WORDS
from .tree_listing import tree_text as tree_text
from .vocabulary import KEYWORDS as KEYWORDS, RESERVED as RESERVED, SYNONYMS as SYNONYMS
from .wapiti_regexes import RegexProblem as RegexProblem, WapitiRegex as WapitiRegex, wapiti_regex as wapiti_regex
