from .integrations import Decoder as Decoder, SegmentPipeline as SegmentPipeline
