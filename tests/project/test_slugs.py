"""Every kind of message of the package has a page, and every page a message."""

from __future__ import annotations

import pytest
from slugs import slugs_of

from dcrfdsl.semantics.reference.message_pages import EXPLANATIONS, PAGES


@pytest.mark.long
def test_every_slug_has_a_page() -> None:
    assert len(slugs_of()) > 200
    assert slugs_of() - set(EXPLANATIONS) == set()


@pytest.mark.long
def test_every_page_has_a_slug() -> None:
    assert set(EXPLANATIONS) - slugs_of() == set()


def test_no_slug_has_two_pages() -> None:
    assert len(EXPLANATIONS) == PAGES.read_text(encoding="utf-8").count("\n## ")


@pytest.mark.long
def test_slugs_are_found_however_they_are_made() -> None:
    constant, default, table, passed_on = "piece-conditions-on-latent", "bad-sentence", "idle-group", "file-exists"
    assert {constant, default, table, passed_on, "semicolon"} <= slugs_of()
    assert "unknown-template" in slugs_of("cli") and "unknown-template" not in slugs_of("syntax", "semantics")
