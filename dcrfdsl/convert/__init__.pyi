from .foreign_templates import TOOLS as TOOLS, Conversion as Conversion, convert_template as convert_template
from .template_text import columns_of_data as columns_of_data
