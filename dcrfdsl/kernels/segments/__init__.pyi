from .segment_paths import SegmentLists as SegmentLists, segment_nbest as segment_nbest
from .segment_potentials import SegmentKinds as SegmentKinds
from .segment_sums import segment_expectations as segment_expectations
