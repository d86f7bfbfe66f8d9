from .data_templates import (
    Portrait as Portrait,
    first_template as first_template,
    portrait_of as portrait_of,
    variants as variants,
)
from .foreign_templates import TOOLS as TOOLS, Conversion as Conversion, convert_template as convert_template
from .template_text import columns_of_data as columns_of_data
