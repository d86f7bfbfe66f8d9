from .expansion import (
    ExpandedFeature as ExpandedFeature,
    Expansion as Expansion,
    Factor as Factor,
    FeatureSetPlan as FeatureSetPlan,
    expand as expand,
    fixed_condition as fixed_condition,
    leaves as leaves,
)
from .notation import boundary_text as boundary_text, condition_text as condition_text, term_text as term_text
from .term_places import (
    LENGTH_OF_SEGMENT as LENGTH_OF_SEGMENT,
    is_joint as is_joint,
    moved as moved,
    named_offset as named_offset,
    reads_segment as reads_segment,
    reads_sentence as reads_sentence,
    segment_place as segment_place,
    split_offset as split_offset,
    term_variants as term_variants,
    with_offsets as with_offsets,
)
