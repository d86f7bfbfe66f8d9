"""`python -m dcrfdsl`: the command, where the script `dcrfdsl` is not on the path."""

from .cli import main

if __name__ == "__main__":
    main()
