from .stored_arrays import (
    Count as Count,
    IncompatibleState as IncompatibleState,
    StoredArrays as StoredArrays,
    array as array,
    check_finite as check_finite,
    check_offsets as check_offsets,
    check_strings as check_strings,
    check_within as check_within,
    pack_strings as pack_strings,
    recalled as recalled,
    typed as typed,
    unpack_strings as unpack_strings,
)
from .whole_files import (
    LONGEST_TEMPLATE as LONGEST_TEMPLATE,
    READING as READING,
    WRITING as WRITING,
    clear_os_errors as clear_os_errors,
    ensure_writable as ensure_writable,
    is_pipe as is_pipe,
    near_name as near_name,
    read_at_most as read_at_most,
    read_template as read_template,
    template_text as template_text,
    write_whole as write_whole,
)
from .whole_output import WholeWriter as WholeWriter, read_waiting as read_waiting, whole_stream as whole_stream
