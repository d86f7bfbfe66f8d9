from .column_names import columns_of_data as columns_of_data
from .foreign_templates import TOOLS as TOOLS, Conversion as Conversion, convert_template as convert_template
