from .page_blocks import (
    Block as Block,
    Cell as Cell,
    Fold as Fold,
    Heading as Heading,
    HeatRow as HeatRow,
    HeatTable as HeatTable,
    LabelledText as LabelledText,
    Listing as Listing,
    Paragraph as Paragraph,
    Picture as Picture,
    Stretch as Stretch,
    TextTable as TextTable,
    inline_svg as inline_svg,
    signed_shade as signed_shade,
    whole_shade as whole_shade,
)
from .style_sheets import notebook_html as notebook_html, notebook_style as notebook_style, parts_style as parts_style
