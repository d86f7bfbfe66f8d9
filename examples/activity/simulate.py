"""Recordings such as a sensor at the hip gives: `simulate.py FOLDER` writes train/ and test/, a CSV file a recording.

Six channels, 20 rows a second: acceleration in thousandths of g, turning in steps of the converter. An activity lasts
some seconds. It has a posture (the direction of gravity), a pace, and a strength of its swings; who wears the sensor,
and how, changes all of these from recording to recording. Channels drop out for some rows, now and then all at once,
and their cells are empty then. Not here: any sensor.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import numpy as np

CHANNELS = ("ax", "ay", "az", "gx", "gy", "gz")
RECORDINGS, ROWS, RATE = 60, 300, 20.0
GAPS = 0.15  # the share of cells that are missing
# The direction of gravity in g, the strength of swings in g, the pace in Hz, the turning about the upright axis.
ACTIVITIES = {
    "sit": ((0.5, 0.1, 0.85), 0.015, 0.3, 0.0),
    "stand": ((0.05, 0.1, 1.0), 0.02, 0.3, 0.0),
    "walk": ((0.1, 0.1, 0.99), 0.18, 1.8, 0.0),
    "climb": ((0.3, 0.1, 0.95), 0.13, 1.4, 0.0),
    "run": ((0.15, 0.1, 0.98), 0.6, 2.7, 0.0),
    "turn": ((0.08, 0.1, 0.99), 0.12, 1.2, 40.0),
}


def recording(random: np.random.Generator, rows: int = ROWS) -> tuple[np.ndarray, list[str]]:
    """Six channels [rows, 6], NaN where one is missing, and the activity of each row."""
    worn, vigour = random.normal(0, 0.06, 3), random.lognormal(0, 0.15)
    found, labels, name = np.empty((rows, 6)), list[str](), "stand"
    while len(labels) < rows:
        name = random.choice([other for other in ACTIVITIES if other != name])
        posture, swing, pace, turning = ACTIVITIES[name]
        count = min(int(20 + random.exponential(25)), rows - len(labels))
        at, phase = np.arange(count) / RATE, random.uniform(0, 2 * np.pi, 6)
        pace, swing = pace * random.lognormal(0, 0.1), swing * vigour * random.lognormal(0, 0.1)
        axes = np.array([0.6, 0.4, 1.0, 0.8, 0.5, 0.4])
        waves = axes * np.sin(2 * np.pi * pace * at[:, None] * [1, 0.5, 1, 0.5, 1, 0.5] + phase)
        block = found[len(labels) : len(labels) + count]
        block[:, :3] = 1000 * (np.array(posture) + worn + swing * waves[:, :3] + random.normal(0, 0.06, (count, 3)))
        block[:, 3:] = 16.4 * (120 * swing * waves[:, 3:] + random.normal(0, 6, (count, 3)) + [0, 0, turning])
        labels += [name] * count
    found[:, 3:] += random.normal(0, 20, 3)  # what the gyroscope shows at rest
    for channels in (list(range(6)), *([n] for n in range(6))):
        share = GAPS if len(channels) == 1 else GAPS / 3
        while np.isnan(found[:, channels]).mean() < share:
            first = random.integers(rows)
            found[first : first + random.integers(1, 20), channels] = np.nan
    return found, labels


def write_recording(path: Path, found: np.ndarray, labels: list[str], digits: int = 1) -> None:
    """A row of names, then time, channels and activity of each row; a number that is missing is an empty cell.

    digits: behind the decimal point.
    """
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["time", *CHANNELS, "activity"])
        for n, (numbers, label) in enumerate(zip(found, labels, strict=True)):
            cells = ["" if np.isnan(one) else f"{one:.{digits}f}" for one in numbers]
            rows.writerow([f"{n / RATE:.2f}", *cells, label])


def simulate_into(folder: Path, seed: int = 0, recordings: int = RECORDINGS) -> None:
    """Writes `recordings` files to train/ in the folder, and as many to test/."""
    random = np.random.default_rng(seed)
    for part in ("train", "test"):
        (folder / part).mkdir(parents=True, exist_ok=True)
        for n in range(recordings):
            write_recording(folder / part / f"{n:03}.csv", *recording(random))


if __name__ == "__main__":
    simulate_into(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
