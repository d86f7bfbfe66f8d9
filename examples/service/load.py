"""A bounded load test on the loopback: several clients ask a service, and every answer is compared with the model's.

    python load.py MODEL --words FILE --clients 8 --requests 2000

Starts the service by itself, on a free port. Prints requests a second, the latency that half and 99 % of the requests
stay within, and wrong answers. Exit code 1 if there was one. Not here: the service (`service`).
"""

from __future__ import annotations

import argparse
import http.client
import json
import random
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from dcrfdsl import load

STARTS_WITHIN = 180.0  # seconds: the first start on a machine compiles kernels


class Load(NamedTuple):
    """rate: requests a second.   p50, p99: latency in seconds.   wrong: answers unlike the model's.   failed: none."""

    rate: float
    p50: float
    p99: float
    wrong: int
    failed: int


@contextmanager
def service_of(model: Path, *options: str) -> Iterator[tuple[str, int]]:
    """A service in a process of its own: its host and port. It is ended by SIGTERM."""
    command = [sys.executable, str(Path(__file__).with_name("run.py")), str(model), "--port", "0", *options]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as running:
        assert running.stderr is not None
        until = time.monotonic() + STARTS_WITHIN
        try:
            said = ""
            while not (found := re.search(r"running on http://([\w.]+):(\d+)", said)):
                line = running.stderr.readline()
                if not line or time.monotonic() > until:
                    raise RuntimeError(f"the service did not start: {said}")
                said += line
            yield found[1], int(found[2])
        finally:
            running.terminate()
            running.stderr.read()


def ask_all(
    address: tuple[str, int], requests: Sequence[Sequence[Sequence[str]]], expected: Sequence[Any], clients: int
) -> Load:
    """Asks all requests by so many clients at once, each over one connection."""

    def client(number: int) -> tuple[list[float], int, int]:
        connection = http.client.HTTPConnection(*address, timeout=60)
        seconds, wrong, failed = [], 0, 0
        for at in range(number, len(requests), clients):
            body = json.dumps({"sentences": requests[at]})
            begun = time.perf_counter()
            connection.request("POST", "/tag", body, {"Content-Type": "application/json"})
            response = connection.getresponse()
            content = json.loads(response.read())
            seconds.append(time.perf_counter() - begun)
            failed += response.status != 200
            wrong += response.status == 200 and content["labels"] != expected[at]
        connection.close()
        return seconds, wrong, failed

    begun = time.perf_counter()
    with ThreadPoolExecutor(clients) as pool:
        results = list(pool.map(client, range(clients)))
    took = time.perf_counter() - begun
    latencies = sorted(second for seconds, _, _ in results for second in seconds)
    wrong, failed = (sum(result[k] for result in results) for k in (1, 2))
    p50, p99 = (latencies[min(len(latencies) - 1, int(share * len(latencies)))] for share in (0.5, 0.99))
    return Load(len(requests) / took, p50, p99, wrong, failed)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("model", type=Path, help="model file; its template has one column beside the labels")
    parser.add_argument("--words", type=Path, required=True, help="a text whose words make up the sentences")
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--requests", type=int, default=2000)
    parser.add_argument("--sentences", type=int, default=1, help="of a request")
    parser.add_argument("--threads", type=int, default=1, help="of a call of the model (default: 1)")
    asked = parser.parse_args(arguments)
    model = load(asked.model)
    words, draw = asked.words.read_text(encoding="utf-8").split(), random.Random(0)
    requests = [
        [draw.choices(words, k=draw.randint(3, 40)) for _ in range(asked.sentences)] for _ in range(asked.requests)
    ]
    expected = [model.tag_all(sentences) for sentences in requests]
    with service_of(asked.model, "--threads", str(asked.threads)) as address:
        ask_all(address, requests[:50], expected[:50], 2)  # warm
        result = ask_all(address, requests, expected, asked.clients)
    sys.stdout.write(
        f"{asked.clients} clients, {len(requests)} requests of {asked.sentences}: {result.rate:.0f} requests/s, "
        f"half within {1000 * result.p50:.1f} ms, 99 % within {1000 * result.p99:.1f} ms, "
        f"{result.wrong} wrong, {result.failed} failed\n"
    )
    return int(result.wrong > 0 or result.failed > 0)


if __name__ == "__main__":
    sys.exit(main())
