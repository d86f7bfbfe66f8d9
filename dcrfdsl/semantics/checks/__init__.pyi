from .checker import check as check
