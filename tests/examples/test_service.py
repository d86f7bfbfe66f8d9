"""`examples/service`: the answers are the model's, whoever else asks; limits, errors, and an end without losses."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import random
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from helpers import ROOT, example_modules

from dcrfdsl import TrainedModel, fit, load, read_corpus
from dcrfdsl.semantics import load_template

pytest.importorskip("starlette", reason="the extra `serve` is not installed")
uvicorn = pytest.importorskip("uvicorn", reason="the extra `serve` is not installed")

FOLDER = ROOT / "examples" / "service"
service, load_test = example_modules(FOLDER, "service", "load")
SMALL = service.Limits(body_bytes=2_000, sentences=20, sentence_tokens=30)
Address = tuple[str, int]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    template = load_template(ROOT / "examples/address/address.dcrf")
    model = fit(template, read_corpus(ROOT / "examples/address/address.txt", template.require().data))
    model.save(file := tmp_path_factory.mktemp("service") / "address.model")
    return file


@contextlib.contextmanager
def served(path: Path, limits: Any = SMALL) -> Iterator[tuple[Address, Any]]:
    """Address and server of a service in a thread."""
    config = uvicorn.Config(service.make_app(path, limits), port=0, log_level="critical", timeout_graceful_shutdown=20)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        until = time.monotonic() + 60
        while not server.started:
            assert thread.is_alive() and time.monotonic() < until
            time.sleep(0.01)
        yield server.servers[0].sockets[0].getsockname(), server
    finally:
        server.should_exit = True
        thread.join(60)
        assert not thread.is_alive()


@pytest.fixture(scope="module")
def address(path: Path) -> Iterator[Address]:
    with served(path) as (address, _):
        yield address


def ask(
    address: Address, body: str | bytes, path: str = "/tag", method: str = "POST"
) -> tuple[int, Any, http.client.HTTPResponse]:
    connection = http.client.HTTPConnection(*address, timeout=60)
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # it may answer before it has read all
        connection.request(method, path, body)
    response = connection.getresponse()
    content = json.loads(response.read())
    connection.close()
    return response.status, content, response


def sentences(count: int, seed: int) -> list[list[str]]:
    draw = random.Random(seed)
    words = (ROOT / "examples/address/address.txt").read_text().split()
    return [draw.choices(words, k=draw.randint(0, 12)) for _ in range(count)]


def test_answers_are_those_of_the_model(path: Path, address: Address) -> None:
    asked = sentences(15, 1)
    status, content, _ = ask(address, json.dumps({"sentences": asked}))
    assert (status, content) == (200, {"labels": load(path).tag_all(asked)})
    assert ask(address, '{"sentences": []}')[:2] == (200, {"labels": []})


def test_health_says_what_is_served(path: Path, address: Address) -> None:
    model = load(path)
    status, content, _ = ask(address, "", "/health", "GET")
    assert (status, content.pop("labels")) == (200, {"part": list(model.states["part"])})
    assert content == {"status": "ok", "weights": model.num_weights, "waiting": 0}


REFUSED = {
    "no such path": ("", "/tags", "POST", 404, "no-such-path"),
    "a wrong method": ("", "/tag", "GET", 405, "no-such-method"),
    "no JSON": ("{", "/tag", "POST", 400, "not-json"),
    "no text": (b"\xff\xfe\xff", "/tag", "POST", 400, "not-json"),
    "deep JSON": ("[" * 1_900, "/tag", "POST", 400, "not-json"),
    "no sentences": ('{"text": "a b"}', "/tag", "POST", 400, "bad-request"),
    "a sentence that is a text": ('{"sentences": ["a b"]}', "/tag", "POST", 400, "bad-request"),
    "a token that is none": ('{"sentences": [["a", 3]]}', "/tag", "POST", 422, "bad-value"),
    "too many sentences": (json.dumps({"sentences": [["a"]] * 21}), "/tag", "POST", 413, "too-large"),
    "a long sentence": (json.dumps({"sentences": [["a"] * 31]}), "/tag", "POST", 413, "too-large"),
    "a long body": (json.dumps({"sentences": [["a" * 3_000]]}), "/tag", "POST", 413, "too-large"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused_is_said_as_json(case: str, address: Address) -> None:
    body, path, method, status, code = REFUSED[case]
    found, content, _ = ask(address, body, path, method)
    assert found == status
    assert content["error"].keys() == {"code", "message"} and content["error"]["message"]
    if code != "bad-value":
        assert content["error"]["code"] == code
    assert ask(address, '{"sentences": [["Oxford"]]}')[0] == 200  # it goes on


def test_a_length_beyond_the_limit_is_refused_before_the_body_comes(address: Address) -> None:
    connection = http.client.HTTPConnection(*address, timeout=20)
    connection.putrequest("POST", "/tag")
    connection.putheader("Content-Length", "3000")
    connection.endheaders()
    response = connection.getresponse()
    assert (response.status, json.loads(response.read())["error"]["code"]) == (413, "too-large")
    connection.close()


def test_many_clients_get_the_answers_of_one(path: Path, address: Address) -> None:
    model = load(path)
    asked = [sentences(draw, seed) for seed, draw in enumerate(random.Random(0).choices(range(1, 6), k=240))]
    found = load_test.ask_all(address, asked, [model.tag_all(each) for each in asked], 8)
    assert (found.wrong, found.failed) == (0, 0)
    assert 0 < found.p50 <= found.p99 and found.rate > 1


def test_a_batch_is_one_call_and_a_bad_request_in_it_fails_alone(path: Path) -> None:
    model, calls = load(path), []

    class Counted:
        def tag_all(self, sentences: Any, **how: Any) -> Any:
            calls.append(len(sentences))
            return model.tag_all(sentences, **how)

    async def together(*asked: Any) -> list[Any]:
        batches = service.Batches(Counted(), SMALL)
        waiting = [asyncio.create_task(batches.tag(each)) for each in asked]
        await asyncio.sleep(0)  # all wait before the first is answered
        running = asyncio.create_task(batches.run())
        answers = await asyncio.gather(*waiting, return_exceptions=True)
        batches.close()
        await running
        return answers

    good = [sentences(3, seed) for seed in range(4)]
    assert asyncio.run(together(*good)) == [model.tag_all(each) for each in good]
    assert calls == [12]
    first, bad, last = asyncio.run(together(good[0], [["a", 3]], good[1]))
    assert (first, last) == (model.tag_all(good[0]), model.tag_all(good[1]))
    assert isinstance(bad, service.Refusal) and bad.status == 422


def test_too_many_are_asked_to_come_again(path: Path) -> None:
    with served(path, service.Limits(waiting=0)) as (address, _):
        status, content, response = ask(address, '{"sentences": [["Oxford"]]}')
    assert (status, content["error"]["code"], response.headers["Retry-After"]) == (503, "busy", "1")


class Slow:
    """A model that takes its time, or fails."""

    def __init__(self, model: TrainedModel, begun: threading.Event):
        self.model, self.begun = model, begun
        self.spec, self.labels = model.spec, model.labels

    def tag_all(self, sentences: Any, **how: Any) -> Any:
        if sentences == [["bug"]]:
            raise ZeroDivisionError("secret")
        if sentences != [["warm", "up"]]:
            self.begun.set()
            time.sleep(0.3)
        return self.model.tag_all(sentences, **how)


@pytest.fixture
def begun(path: Path, monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """The model is slow; set once it works."""
    event = threading.Event()
    monkeypatch.setattr(service, "load", lambda file: Slow(load(file), event))
    return event


def test_what_is_under_way_is_answered_before_the_end(path: Path, begun: threading.Event) -> None:
    answers: list[Any] = []
    with served(path) as (address, server):
        client = threading.Thread(target=lambda: answers.append(ask(address, '{"sentences": [["Oxford"]]}')))
        client.start()
        assert begun.wait(30)
        server.should_exit = True
        client.join(30)
    assert [answer[:2] for answer in answers] == [(200, {"labels": [["B-TOWN"]]})]


def test_a_failure_is_json_without_its_reason_and_the_service_goes_on(path: Path, begun: threading.Event) -> None:
    with served(path) as (address, _):
        status, content, _ = ask(address, '{"sentences": [["bug"]]}')
        assert (status, content["error"]["code"]) == (500, "internal-error")
        assert "secret" not in json.dumps(content)
        assert ask(address, '{"sentences": [["Oxford"]]}')[0] == 200


@pytest.mark.long
def test_the_load_test_runs_as_it_is_described(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = str(ROOT / "examples/address/address.txt")
    assert load_test.main([str(path), "--words", words, "--requests", "60", "--clients", "4"]) == 0
    assert "60 requests of 1" in capsys.readouterr().out
