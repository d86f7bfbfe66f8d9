"""Serves a pipeline over HTTP: `run.py MODEL`, or `run.py FOLDER`, which `run.py MODEL --keep FOLDER` has written."""

from __future__ import annotations

import argparse
from pathlib import Path

import spacy
import uvicorn
from service import make_app, make_pipeline


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", type=Path, help="model file, or the folder of a pipeline")
    parser.add_argument("--keep", type=Path, help="write the pipeline into this folder, and end")
    parser.add_argument("--port", type=int, default=8000, help="default: 8000")
    asked = parser.parse_args(arguments)
    nlp = spacy.load(asked.source) if asked.source.is_dir() else make_pipeline(asked.source)
    if asked.keep:
        nlp.to_disk(asked.keep)
    else:
        uvicorn.run(make_app(nlp), host="127.0.0.1", port=asked.port, access_log=False)


if __name__ == "__main__":
    main()
