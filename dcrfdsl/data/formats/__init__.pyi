from .format_interface import (
    FORM_NAMES as FORM_NAMES,
    Chunk as Chunk,
    DataFormat as DataFormat,
    Emitter as Emitter,
    Export as Export,
    LeftOut as LeftOut,
    Reader as Reader,
    Remarks as Remarks,
    TableReader as TableReader,
    beginning_of as beginning_of,
    check_places as check_places,
    data_format as data_format,
    discovered as discovered,
    format_of_suffix as format_of_suffix,
    written_formats as written_formats,
)
from .span_records import BadRecord as BadRecord, as_task as as_task, text_of_record as text_of_record
from .span_tokens import TOKENIZERS as TOKENIZERS, BadSpan as BadSpan, Offsets2 as Offsets2
from .spans_format import SpanOptions as SpanOptions, SpansReader as SpansReader
from .written_cells import token_lines as token_lines
