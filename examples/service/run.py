"""Serves a model over HTTP until SIGTERM or Ctrl-C; requests that are under way are answered before it ends."""

from __future__ import annotations

import argparse
from pathlib import Path

import uvicorn
from service import Limits, make_app

GRACE = 30  # seconds that requests under way may take once the service is to end


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path, help="model file")
    parser.add_argument("--host", default="127.0.0.1", help="default: this machine alone")
    parser.add_argument("--port", type=int, default=8000, help="0 takes a free one, which is printed")
    parser.add_argument("--threads", type=int, default=1, help="of a call of the model (default: 1)")
    asked = parser.parse_args(arguments)
    app = make_app(asked.model, Limits(threads=asked.threads))
    uvicorn.run(app, host=asked.host, port=asked.port, access_log=False, timeout_graceful_shutdown=GRACE)


if __name__ == "__main__":
    main()
