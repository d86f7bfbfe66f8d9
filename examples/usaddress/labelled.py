"""Labelled addresses in the XML of usaddress and parserator.

    <AddressCollection>
      <AddressString><AddressNumber>20</AddressNumber> <StreetName>Benton</StreetName> …</AddressString>
    </AddressCollection>

An element in an address is a token, and its name the token's label. Not here: what is made of them (`run`).
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

from dcrfdsl.foundation import data_error


class Address(NamedTuple):
    """An address as it is written, and the labels of its tokens."""

    text: str
    labels: tuple[str, ...]


def labelled_addresses(path: Path) -> list[Address]:
    """The addresses of a file. OSError if it cannot be read, DcrfError if it is no XML."""
    try:
        root = ElementTree.parse(path).getroot()
    except ElementTree.ParseError as error:
        line, column = error.position
        message, remedy = f"`{path}` is not XML", "give a file of labelled addresses of usaddress"
        raise data_error("bad-value", message, file=str(path), line=line, column=column + 1, help=remedy) from None
    return [
        Address("".join(string.itertext()), tuple(token.tag for token in string))
        for string in root.iter("AddressString")
        if len(string)
    ]
