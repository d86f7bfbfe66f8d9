from .builder_nodes import as_setting_value as as_setting_value
from .builder_places import Position as Position, positions as positions
from .builder_terms import (
    Expression as Expression,
    Term as Term,
    all_of as all_of,
    any_of as any_of,
    if_else as if_else,
)
from .template_builder import Model as Model
from .term_functions import (
    accuracy as accuracy,
    apply as apply,
    bias as bias,
    bins as bins,
    bio as bio,
    bioes as bioes,
    call as call,
    chars as chars,
    extract as extract,
    feats as feats,
    first as first,
    gaussian as gaussian,
    index as index,
    iob1 as iob1,
    last as last,
    lbfgs as lbfgs,
    length as length,
    locked as locked,
    lower as lower,
    prefix as prefix,
    segments as segments,
    shape as shape,
    span as span,
    state_file as state_file,
    states_of as states_of,
    suffix as suffix,
)
