from .expansion import (
    ExpandedFeature as ExpandedFeature,
    Expansion as Expansion,
    Factor as Factor,
    FeatureSetPlan as FeatureSetPlan,
    expand as expand,
    fixed_condition as fixed_condition,
    leaves as leaves,
)
from .joint_calls import is_joint as is_joint, reads_sentence as reads_sentence
from .moved_terms import moved as moved
from .named_positions import named_offset as named_offset, split_offset as split_offset, with_offsets as with_offsets
from .notation import boundary_text as boundary_text, condition_text as condition_text, term_text as term_text
from .segment_features import (
    LENGTH_OF_SEGMENT as LENGTH_OF_SEGMENT,
    reads_segment as reads_segment,
    segment_place as segment_place,
)
