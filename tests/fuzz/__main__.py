"""Tries hostile cases and prints the findings, each with the name that repeats it. See the docstring of the package.

    python tests/fuzz --seconds 60
    python tests/fuzz --only templates --cases 200000 --workers 2
    python tests/fuzz --case templates-0-17

Exit code 1 if something was found or nothing was tried, 2 if a worker could not begin.
"""

import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).parents[1])  # this folder is a package there

if __name__ == "__main__":
    from fuzz.command import main

    sys.exit(main())
