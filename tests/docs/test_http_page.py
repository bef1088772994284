"""The page on HTTP: its project builds, its service answers as shown."""

from __future__ import annotations

import importlib
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.docs.test_readme import BLOCK, ROOT

PAGE = (ROOT / "docs/http.md").read_text("utf-8")
FILES = {match["what"]: match["text"] for match in BLOCK.finditer(PAGE) if match["kind"] == "file"}
SHOWN = {match["what"]: match["text"] for match in BLOCK.finditer(PAGE) if match["kind"] == "output of"}
KEY = "<id>"


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TestClient]:
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text + "\n", "utf-8")
    built = subprocess.run(
        [sys.executable, "-m", "flowx_cli", "build"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert built.returncode == 0, built.stdout
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    service = importlib.import_module("service")
    with TestClient(service.app) as client:
        yield client
    for name in [name for name in sys.modules if name == "service" or name.partition(".")[0] == "orders"]:
        del sys.modules[name]


def steady(document: Any, ids: list[str]) -> str:
    text = json.dumps(document)
    for id in ids:
        text = text.replace(id, KEY)
    return re.sub(r'"correlationId": "[0-9a-f]{32}"', '"correlationId": "<correlation>"', text)


def test_the_service_answers_as_shown(client: TestClient) -> None:
    told, ids = [], [""]
    for number, block in enumerate(SHOWN["requests"].split("\n\n")):
        request, _ = block.split("\n")
        method, path, *body = re.split(r"\s+", request, maxsplit=2)
        headers = {"Authorization": "Bearer shop-token", "Idempotency-Key": f"k-{number}"}
        content = {"json": json.loads(body[0])} if body else {}
        answer = client.request(method, path.replace(KEY, ids[-1]), headers=headers, **content)  # type: ignore[arg-type]
        document = answer.json()
        if "instanceId" in document:
            ids.append(document["instanceId"])
        told.append(f"{request}\n{answer.status_code} {steady(document, ids[1:])}")
    assert "\n\n".join(told) == SHOWN["requests"]


def test_callers_are_refused_as_shown(client: TestClient) -> None:
    told = []
    for who, headers in (("nobody signed in", {}), ("the guest", {"Authorization": "Bearer guest-token"})):
        answer = client.post("/api/v1/orders", json={}, headers=headers | {"Idempotency-Key": "k"})
        document = answer.json()
        told.append(f"POST /api/v1/orders  ({who})\n{answer.status_code} {document['code']}: {document['detail']}")
    assert "\n\n".join(told) == SHOWN["refused"]


def test_the_description_names_every_route(client: TestClient) -> None:
    paths = client.get("/openapi.json").json()["paths"]
    assert list(paths) == [
        "/api/v1/orders",
        "/api/v1/orders/{instanceId}",
        "/api/v1/orders/{instanceId}/signals/order.approved",
    ]
