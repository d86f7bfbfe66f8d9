from .exportable import (
    WIDTHS as WIDTHS,
    Lighter as Lighter,
    lighter as lighter,
    refuse_unless_exportable as refuse_unless_exportable,
)
from .onnx_graph import export_onnx as export_onnx
from .standalone import FORMATS as FORMATS
from .tagger_files import ExportedTagger as ExportedTagger, export_tagger as export_tagger
