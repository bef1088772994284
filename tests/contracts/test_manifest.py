"""How contracts stand in a manifest: under one name in `contracts` and wherever something uses them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from flowx_compiler.build import compile_sources
from flowx_compiler.config import Config
from flowx_compiler.emit.manifest_schema import check_manifest
from flowx_compiler.link.sources import SourceFile

MODELS = """\
from typing import Generic, TypeVar
from pydantic import BaseModel, Field
from flowx_runtime import Contract, Sensitive

T = TypeVar("T")

class Line(BaseModel, frozen=True):
    sku: str

class Page(BaseModel, Generic[T], frozen=True):
    items: tuple[T, ...]

class Order(Contract):
    card: Sensitive[str] = Field(alias="cardNumber")
    lines: Page[Line]
"""
FLOWS = """\
from flowx_runtime import Flow, FlowBuilder, Internal, Profile, StepContext, capability, flow
from shop import Line, Order, Page

@capability("shop.list", version="1.0.0", authorization=Internal(), errors=())
async def list_orders(request: Order, ctx: StepContext) -> Page[Line]:
    return request.lines

@flow("shop.page", version="1.0.0")
class Paging(Flow[Order, Page[Line]]):
    def define(self, flow: FlowBuilder[Order, Page[Line]]) -> None:
        flow.step(list_orders)
        flow.returns(lambda ctx: ctx.input.lines)
"""
CONFIG = Config(root=Path(), sources=("shop",), plans="plans")


def built_from(models: str) -> dict[str, Any]:
    files = [SourceFile("shop", "shop.py", models.encode()), SourceFile("flows", "flows.py", FLOWS.encode())]
    built = compile_sources(files, CONFIG, {})
    assert built.findings == ()
    text = built.files[CONFIG.manifest]
    check_manifest(text)
    document: dict[str, Any] = json.loads(text)
    return document


@pytest.fixture(scope="module")
def manifest() -> dict[str, Any]:
    return built_from(MODELS)


def test_the_digest_moves_with_what_a_contract_is_parametrised_to(manifest: dict[str, Any]) -> None:
    apart = MODELS.replace("    lines: Page[Line]\n", "    lines: Page[int]\n")
    one, other = (built_from(text)["flows"][0]["planDigest"] for text in (apart, apart.replace("sku: str", "sku: int")))

    assert one != other


def test_contracts_inside_contracts_are_published_too(manifest: dict[str, Any]) -> None:
    assert list(manifest["contracts"]) == ["shop.Line", "shop.Order", "shop.Page[shop.Line]"]


def test_a_parametrised_contract_has_one_name_wherever_it_is_used(manifest: dict[str, Any]) -> None:
    (paging,), (listing,) = manifest["flows"], manifest["capabilities"]

    assert paging["output"] == listing["output"] == {"type": "shop.Page[shop.Line]"}
    assert manifest["contracts"]["shop.Order"]["properties"]["lines"] == {
        "$ref": "#/contracts/shop.Page%5Bshop.Line%5D"
    }


def test_a_marked_member_is_named_as_it_is_on_the_wire(manifest: dict[str, Any]) -> None:
    (paging,) = manifest["flows"]

    assert paging["input"] == {"type": "shop.Order", "sensitive": ["cardNumber"]}
    assert manifest["contracts"]["shop.Order"]["properties"]["cardNumber"] == {"type": "string", "sensitive": True}
