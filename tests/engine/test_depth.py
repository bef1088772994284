"""A flow that runs itself comes to an end, by itself or by a clear error, never by the process running out of stack."""

from __future__ import annotations

from datetime import timedelta

import pytest
from engine_plans import Submit, plan, upload
from engine_scene import Scene

from flowx_runtime.authoring.vocabulary import Profile
from flowx_runtime.host.outcome import Completed, Failed
from flowx_runtime.journal.records import State
from flowx_runtime.plan import Branch, Delay, SubFlow


def counting_down(**changes):
    """Runs itself with one letter less, while there are letters."""
    return plan(
        upload(),
        Branch(1, lambda ctx: len(ctx.input.document_id) > 1, 3),
        SubFlow(2, "again", "document.process", "1.0.0", lambda ctx: Submit(document_id=ctx.input.document_id[1:])),
        **changes,
    )


@pytest.mark.parametrize("profile", [Profile.DURABLE, Profile.EPHEMERAL])
async def test_thirty_two_flows_below_one_are_run(profile) -> None:
    scene = Scene(counting_down(profile=profile))
    assert isinstance(await scene.host.run("document.process", Submit(document_id="x" * 33)), Completed)
    assert len(scene.world.effects) == 33


@pytest.mark.parametrize("profile", [Profile.DURABLE, Profile.EPHEMERAL])
async def test_one_more_fails_with_a_clear_error_and_undoes_everything(profile) -> None:
    scene = Scene(counting_down(profile=profile))
    outcome = await scene.host.run("document.process", Submit(document_id="x" * 34))
    assert isinstance(outcome, Failed)
    assert outcome.error.code == "flow.sub_flow_too_deep"
    assert "let the recursion end sooner" in outcome.error.detail
    assert sum(effect.startswith("ocr.cancel") for effect in scene.world.effects) == 33


async def test_the_depth_is_known_after_a_resume() -> None:
    scene = Scene(
        plan(
            upload(),
            Delay(1, "d", timedelta(days=1)),
            SubFlow(2, "again", "document.process", "1.0.0", lambda ctx: ctx.input),
        )
    )
    first = await scene.host.run("document.process", Submit(document_id="d"))
    for _ in range(80):
        if await scene.state(first.instance_id) is not State.SUSPENDED:
            break
        scene.new_host()
        await scene.wake()
    outcome = await scene.host.outcome(first.instance_id)
    assert isinstance(outcome, Failed)
    assert outcome.error.code == "flow.sub_flow_too_deep"
    assert len(scene.journal._entries) == 33
