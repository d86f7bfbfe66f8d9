"""`python page_client.py SOCKET WORD …` runs `dcrfdsl WORD …` in a fork of `page_server`, with its own streams.

It loads next to nothing, so that a shell can call it as it would call the command.
"""

import json
import os
import socket
import sys


def ask(path: str, request: dict[str, object], streams: tuple[int, int, int]) -> socket.socket:
    """Sends a request with its streams; the answer comes through what is returned."""
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(path)
    text = json.dumps(request).encode()
    sent = socket.send_fds(connection, [text], streams)
    connection.sendall(text[sent:])
    connection.shutdown(socket.SHUT_WR)
    return connection


def exit_code(connection: socket.socket) -> int:
    """What the command ended with; 70 if it crashed."""
    with connection:
        return int(connection.recv(16) or 70)


if __name__ == "__main__":
    own = {"command": sys.argv[2:], "folder": os.getcwd(), "environment": dict(os.environ)}
    sys.exit(exit_code(ask(sys.argv[1], own, (0, 1, 2))))
