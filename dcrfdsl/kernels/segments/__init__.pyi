from .labelling_segments import (
    SegmentCounts as SegmentCounts,
    segment_counts as segment_counts,
    segment_rows as segment_rows,
)
from .segment_paths import SegmentLists as SegmentLists, segment_nbest as segment_nbest
from .segment_potentials import SegmentKinds as SegmentKinds
from .segment_sums import segment_expectations as segment_expectations
