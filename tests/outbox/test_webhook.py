"""Webhooks over a real socket: what is sent, how it is signed, what each answer means."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import socket
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from outbox_scene import PATIENT, PROMPT, drain, stage, until
from receiving import Request, receiving

from flowx_runtime.journal.memory.journal import MemoryJournal
from flowx_runtime.outbox.settings import PublishCounts
from flowx_runtime.outbox.signing import InvalidWebhookSecret, WebhookNotGenuine, signed_headers, verify_webhook
from flowx_runtime.outbox.webhook import WebhookPublisher

KEY, OTHER_KEY = bytes(range(32)), bytes(range(32, 64))
SECRET = "whsec_" + base64.b64encode(KEY).decode()
OTHER = "whsec_" + base64.b64encode(OTHER_KEY).decode()
NOW = datetime(2031, 5, 6, 12, tzinfo=UTC)


def is_signed(request: Request, key: bytes) -> bool:
    """As the convention's text says it, without a line of what is tested."""
    headers = {name.lower(): value for name, value in request.headers.items()}
    content = headers["webhook-id"] + "." + headers["webhook-timestamp"] + "." + request.body.decode()
    expected = base64.b64encode(hmac.digest(key, content.encode(), hashlib.sha256)).decode()
    return f"v1,{expected}" in headers["webhook-signature"].split(" ")


async def test_an_event_arrives_signed_as_cloudevents(journal) -> None:
    instance_id = await stage(journal, 2, correlation_id="c-1")
    events = await journal.events(instance_id)
    with receiving() as receiver:
        publisher = WebhookPublisher(receiver.url, SECRET)
        assert await drain(journal, publisher).drain_once() == 2
        await publisher.close()
    first, second = receiver.requests
    assert is_signed(first, KEY)
    assert not is_signed(first, OTHER_KEY)
    assert first.headers["webhook-id"] == str(events[0].event_id)
    assert first.headers["content-type"] == "application/cloudevents+json"
    assert first.path.startswith("/hooks/orders")
    documents = [json.loads(request.body) for request in (first, second)]
    assert documents[0]["sequence"] < documents[1]["sequence"]
    documents[0].pop("sequence")
    moment = datetime.fromisoformat(documents[0].pop("time"))
    assert abs(moment - await journal.now()) < timedelta(minutes=1)
    assert documents[0] == {
        "specversion": "1.0",
        "id": str(events[0].event_id),
        "source": "/flows/shop.order",
        "type": "order.paid",
        "subject": str(instance_id),
        "datacontenttype": "application/json",
        "schemaversion": "1.0.0",
        "partitionkey": str(instance_id),
        "correlationid": "c-1",
        "data": {"n": 0},
    }
    assert verify_webhook(first.headers, first.body, SECRET) == str(events[0].event_id)


async def test_while_a_secret_is_changed_each_signs() -> None:
    journal = MemoryJournal()
    await stage(journal, 1)
    with receiving() as receiver:
        publisher = WebhookPublisher(receiver.url, [SECRET, OTHER])
        await drain(journal, publisher).drain_once()
        await publisher.close()
    (request,) = receiver.requests
    assert is_signed(request, KEY)
    assert is_signed(request, OTHER_KEY)
    assert verify_webhook(request.headers, request.body, [OTHER]) == verify_webhook(
        request.headers, request.body, [OTHER, SECRET]
    )


@pytest.mark.parametrize("status", [400, 401, 404, 410, 422, 301, 307])
async def test_a_refusal_leads_to_being_set_aside(status) -> None:
    journal = MemoryJournal()
    await stage(journal, 1)
    with receiving(*[status] * 3) as receiver:
        draining = drain(journal, WebhookPublisher(receiver.url, SECRET))
        await until(lambda: draining.counts.poisoned == 1, work=draining.drain_once)
    (found,) = await journal.poisoned_events()
    assert found.last_error == f"PublishRefused: 127.0.0.1 answered {status}"
    assert len(receiver.requests) == 3


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503])
async def test_a_receiver_in_trouble_gets_the_event_again_with_the_same_id_and_never_loses_it(status) -> None:
    journal = MemoryJournal()
    await stage(journal, 1)
    with receiving(*[status] * 6) as receiver:
        draining = drain(journal, WebhookPublisher(receiver.url, SECRET))
        await until(lambda: draining.counts.published == 1, work=draining.drain_once)
    assert draining.counts == PublishCounts(published=1, failed=6)
    assert len({request.headers["webhook-id"] for request in receiver.requests}) == 1


async def test_redirects_are_not_followed() -> None:
    journal = MemoryJournal()
    await stage(journal, 1)
    with receiving() as elsewhere, receiving() as receiver:
        receiver.answers = [(307, {"location": elsewhere.url}, b"")]
        await drain(journal, WebhookPublisher(receiver.url, SECRET), PATIENT).drain_once()
    assert len(receiver.requests) == 1
    assert elsewhere.requests == []


async def test_a_receiver_is_left_alone_for_as_long_as_it_asks() -> None:
    journal = MemoryJournal()
    instance_id = await stage(journal, 1)
    with receiving() as receiver:
        receiver.answers = [(503, {"retry-after": "120"}, b"later")]
        await drain(journal, WebhookPublisher(receiver.url, SECRET)).drain_once()
    (event,) = journal._queues[instance_id].events.values()
    assert event.next_attempt_at - await journal.now() > timedelta(seconds=100)


async def test_nobody_at_the_address_is_no_refusal_and_no_secret_is_told() -> None:
    journal = MemoryJournal()
    instance_id = await stage(journal, 1)
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    publisher = WebhookPublisher(f"http://user:CANARY-word@127.0.0.1:{port}/CANARY-path", SECRET)
    draining = drain(journal, publisher)
    await draining.drain_once()
    await publisher.close()
    (event,) = journal._queues[instance_id].events.values()
    assert (event.attempts, event.refusals) == (draining.counts.failed, 0)
    assert event.last_error == "PublisherUnavailable: 127.0.0.1 did not answer: ConnectError"


async def test_a_receiver_that_says_nothing_runs_out_of_time() -> None:
    journal = MemoryJournal()
    await stage(journal, 1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        publisher = WebhookPublisher(f"http://127.0.0.1:{silent.getsockname()[1]}/", SECRET)
        quickly = PATIENT.__class__(timeout=timedelta(milliseconds=50), backoff=PATIENT.backoff)
        draining = drain(journal, publisher, quickly)
        await draining.drain_once()
        await publisher.close()
    assert draining.counts == PublishCounts(failed=1)


async def test_a_connection_is_used_again_and_a_long_answer_is_not_read_to_its_end() -> None:
    journal = MemoryJournal()
    await stage(journal, 3)
    with receiving() as receiver:
        receiver.answers = [(200, {}, b"thanks"), (200, {}, b"x" * 10_000_000), (200, {}, b"")]
        publisher = WebhookPublisher(receiver.url, SECRET)
        assert await drain(journal, publisher, PROMPT).drain_once() == 3
        await publisher.close()
    assert len(receiver.requests) == 3


def test_an_address_that_is_none_and_a_secret_that_is_none_are_refused_without_repeating_them() -> None:
    for url in ("ftp://x", "/hooks", "https://"):
        with pytest.raises(ValueError, match="begins with http"):
            WebhookPublisher(url, SECRET)
    for secret in ("whsec_", "CANARY", "whsec_" + base64.b64encode(b"too short").decode(), SECRET + "!"):
        with pytest.raises(InvalidWebhookSecret) as refused:
            WebhookPublisher("https://example.com", secret)
        assert "CANARY" not in str(refused.value)


def signed(body: bytes = b'{"a": 1}', at: datetime = NOW, key: bytes = KEY) -> dict[str, str]:
    return signed_headers([key], "e-1", at, body)


def test_the_convention_s_own_example_is_signed_as_it_shows() -> None:
    key = base64.b64decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    body = b'{"test": 2432232314}'
    moment = datetime.fromtimestamp(1614265330, UTC)
    headers = signed_headers([key], "msg_p5jXN8AQM9LWM0D4loKWxJek", moment, body)
    assert headers["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


@pytest.mark.parametrize("seconds", [-299, 0, 299])
def test_a_webhook_is_genuine_within_the_tolerance(seconds) -> None:
    assert verify_webhook(signed(), b'{"a": 1}', SECRET, now=NOW + timedelta(seconds=seconds)) == "e-1"


@pytest.mark.parametrize("seconds", [-301, 301, 10**8])
def test_an_old_webhook_and_one_from_the_future_are_not_genuine(seconds) -> None:
    with pytest.raises(WebhookNotGenuine, match="away from now"):
        verify_webhook(signed(), b'{"a": 1}', SECRET, now=NOW + timedelta(seconds=seconds))


@pytest.mark.parametrize(
    "change",
    [
        {"webhook-id": "e-2"},
        {"webhook-timestamp": str(int(NOW.timestamp()) + 1)},
        {"webhook-timestamp": "1e9"},
        {"webhook-timestamp": "٣"},
        {"webhook-timestamp": ""},
        {"webhook-signature": ""},
        {"webhook-signature": "v1,"},
        {"webhook-signature": "ü"},
        {"webhook-signature": signed(key=OTHER_KEY)["webhook-signature"]},
        {"webhook-signature": signed()["webhook-signature"].replace("v1,", "v2,")},
    ],
)
def test_a_webhook_with_a_changed_header_is_not_genuine(change) -> None:
    with pytest.raises(WebhookNotGenuine):
        verify_webhook(signed() | change, b'{"a": 1}', SECRET, now=NOW)


def test_header_names_are_read_in_any_case_and_one_good_signature_of_several_is_enough() -> None:
    headers = {name.title(): value for name, value in signed().items()}
    headers["Webhook-Signature"] = "v1a,other v1,AAAA " + headers["Webhook-Signature"]
    assert verify_webhook(headers, b'{"a": 1}', SECRET, now=NOW) == "e-1"


@given(st.binary(min_size=1), st.data())
def test_whatever_byte_is_changed_the_webhook_is_not_genuine(body: bytes, data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(body) - 1))
    changed = bytearray(body)
    changed[place] ^= data.draw(st.integers(1, 255))
    headers = signed(body)
    assert verify_webhook(headers, body, SECRET, now=NOW) == "e-1"
    with pytest.raises(WebhookNotGenuine):
        verify_webhook(headers, bytes(changed), SECRET, now=NOW)
