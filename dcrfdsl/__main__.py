"""The command: what the script `dcrfdsl` calls, and `python -m dcrfdsl`. Not here: what it does (`cli`)."""

import signal


def main() -> None:
    """Runs the command. A Ctrl-C while its modules load ends the process without a word, where it is not ignored."""
    is_heard = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if is_heard:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from . import cli

    if is_heard:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    cli.main()


if __name__ == "__main__":
    main()
