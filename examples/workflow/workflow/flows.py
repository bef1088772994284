"""`employee.onboard`, the child it composes, `workspace.provision`, and `offer.window.close`, which nobody calls."""

from __future__ import annotations

from flowx_runtime import Flow, FlowBuilder, Merge, MissedFire, Profile, ScheduledFire, cron_trigger, flow, http_trigger
from workflow.capabilities import (
    AllocateDesk,
    AssignEquipment,
    AutoClearEquipment,
    CancelBuildingPass,
    CancelLaptopOrder,
    ClosePayrollRecord,
    CreateIdentity,
    DisableIdentity,
    GrantSystemAccess,
    IssueBuildingPass,
    OpenPayrollRecord,
    OrderLaptop,
    RecordEquipmentApproval,
    ReleaseDesk,
    ReturnEquipment,
    RevokeSystemAccess,
    ScheduleInduction,
    SendWelcomePack,
    SignSupplierAgreement,
    StartBackgroundCheck,
    ValidateOffer,
    VoidSupplierAgreement,
    WaiveBackgroundCheck,
    close_offer_window,
)
from workflow.contracts import (
    BuildingPass,
    DeskAllocation,
    EmployeeOnboarded,
    EmploymentType,
    EquipmentRequest,
    Identity,
    OfferWindowClosed,
    OnboardEmployee,
    OnboardingResult,
    ProvisionWorkspace,
    UnsupportedEmployment,
    WorkspaceReady,
)
from workflow.policies import DIRECTORY_SERVICE, FACILITIES_UNDO


@flow("workspace.provision", version="1.0.0", profile=Profile.DURABLE, owner="facilities", deadline="PT20S")
class ProvisionWorkspaceFlow(Flow[ProvisionWorkspace, WorkspaceReady]):
    """A desk and a pass."""

    def define(self, flow: FlowBuilder[ProvisionWorkspace, WorkspaceReady]) -> None:
        flow.step(AllocateDesk).compensate_with(ReleaseDesk).with_policy(FACILITIES_UNDO)
        flow.step(IssueBuildingPass).compensate_with(CancelBuildingPass)
        flow.returns(
            lambda ctx: WorkspaceReady(desk_id=ctx.get(DeskAllocation).desk_id, pass_id=ctx.get(BuildingPass).pass_id)
        )


@flow("employee.onboard", version="2.0.0", profile=Profile.DURABLE, owner="people-ops", deadline="PT60S")
@http_trigger("POST", "/api/v1/onboarding", idempotent=True)
class OnboardEmployeeFlow(Flow[OnboardEmployee, OnboardingResult]):
    """Everything a new colleague needs on the first day."""

    def define(self, flow: FlowBuilder[OnboardEmployee, OnboardingResult]) -> None:
        flow.step(ValidateOffer)
        (
            flow.switch(lambda ctx: ctx.input.employment)
            .case(EmploymentType.PERMANENT, lambda b: b.step(OpenPayrollRecord).compensate_with(ClosePayrollRecord))
            .case(
                EmploymentType.CONTRACTOR,
                lambda b: b.step(SignSupplierAgreement).compensate_with(VoidSupplierAgreement),
            )
            .default(lambda b: b.fail(UnsupportedEmployment))
        )
        # flowx: ignore[FLOWX1061] every host of this application has the key ring of `app.py`
        flow.step(CreateIdentity).compensate_with(DisableIdentity).with_policy(DIRECTORY_SERVICE)
        flow.parallel(
            lambda hardware: hardware.step(OrderLaptop).compensate_with(CancelLaptopOrder),
            lambda access: access.step(GrantSystemAccess).compensate_with(RevokeSystemAccess),
            ScheduleInduction,
            merge=Merge.ALL_MUST_SUCCEED,
        )
        flow.for_each(
            lambda ctx: ctx.input.equipment,
            lambda item: (
                item.when(
                    lambda ctx: ctx.get(EquipmentRequest).needs_approval, lambda b: b.step(RecordEquipmentApproval)
                )
                .otherwise(lambda b: b.step(AutoClearEquipment))
                .step(AssignEquipment)
                .compensate_with(ReturnEquipment)
            ),
            max_concurrency=1,
        )
        flow.sub_flow(
            ProvisionWorkspaceFlow,
            lambda ctx: ProvisionWorkspace(employee_id=ctx.get(Identity).employee_id, site=ctx.input.site),
        )
        (
            flow.when(
                lambda ctx: ctx.input.requires_background_check, lambda b: b.step(StartBackgroundCheck)
            ).otherwise(lambda b: b.step(WaiveBackgroundCheck))
        )
        flow.step(SendWelcomePack)
        flow.emit(
            EmployeeOnboarded,
            lambda ctx: EmployeeOnboarded(
                employee_id=ctx.get(Identity).employee_id,
                site=ctx.input.site,
                equipment_issued=len(ctx.input.equipment),
            ),
        )
        flow.returns(
            lambda ctx: OnboardingResult(
                employee_id=ctx.get(Identity).employee_id, equipment_issued=len(ctx.input.equipment)
            )
        )


@flow("offer.window.close", version="1.0.0", profile=Profile.DURABLE, owner="people-ops", deadline="PT10M")
@cron_trigger("0 2 * * *", time_zone="Europe/Berlin", missed_fire=MissedFire.RUN_ONCE)
class CloseOfferWindowFlow(Flow[ScheduledFire, OfferWindowClosed]):
    """Every night, the offers of the day before can no longer be accepted."""

    def define(self, flow: FlowBuilder[ScheduledFire, OfferWindowClosed]) -> None:
        flow.step(close_offer_window)
        flow.returns(lambda ctx: ctx.get(OfferWindowClosed))
