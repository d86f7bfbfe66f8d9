"""The page of what is compared with enumeration counts its tests truly."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter

import pytest
from helpers import ROOT

ROWS = dict(re.findall(r"\| `(\S+::\S+)` \| (\d+) \|", (ROOT / "docs/project/enumeration.md").read_text("utf-8")))


@pytest.mark.long
def test_the_page_counts_the_pairs() -> None:
    files = sorted({"tests/" + test.partition("::")[0] for test in ROWS})
    collect = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-m", "", "-p", "no:cacheprovider", *files]
    listed = subprocess.run(collect, capture_output=True, text=True, cwd=ROOT, check=True).stdout
    found = Counter(re.findall(r"^tests/(\S+::\w+)\[", listed, re.MULTILINE))
    assert {test: found[test] for test in ROWS} == {test: int(count) for test, count in ROWS.items()}
    assert sum(map(int, ROWS.values())) >= 200
