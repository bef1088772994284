"""What the flows can do, and how each effect is undone."""

from __future__ import annotations

from flowx_runtime import Authenticated, Internal, Permission, ScheduledFire, StepContext, capability
from workflow.company import Company
from workflow.contracts import (
    AccessGrant,
    Approval,
    AssignedEquipment,
    BuildingPass,
    Clearance,
    DeskAllocation,
    EquipmentRequest,
    Identity,
    Induction,
    LaptopOrder,
    OfferWindowClosed,
    OnboardEmployee,
    PayrollRecord,
    ProvisionWorkspace,
    Screening,
    SupplierAgreement,
    ValidatedOffer,
    WelcomePack,
)


class Department:
    """What every capability of this application needs."""

    def __init__(self, company: Company) -> None:
        self._company = company


@capability("offer.validate", version="1.0.0", authorization=Authenticated(), idempotent=True)
class ValidateOffer(Department):
    """Validate offer."""

    async def execute(self, request: OnboardEmployee, ctx: StepContext) -> ValidatedOffer:
        return ValidatedOffer(candidate_id=request.candidate_id)


@capability(
    "payroll.open",
    version="1.0.0",
    authorization=Permission("payroll.write"),
    idempotent=True,
    side_effects=("payroll",),
)
class OpenPayrollRecord(Department):
    """Open payroll record."""

    async def execute(self, request: OnboardEmployee, ctx: StepContext) -> PayrollRecord:
        self._company.do("payroll.open", request.candidate_id)
        return PayrollRecord(record_id=request.candidate_id)


@capability("payroll.close", version="1.0.0", authorization=Internal(), idempotent=True, side_effects=("payroll",))
class ClosePayrollRecord(Department):
    """Close payroll record."""

    async def execute(self, request: PayrollRecord, ctx: StepContext) -> None:
        self._company.undo("payroll.close", "payroll.open", request.record_id)


@capability(
    "supplier.sign",
    version="1.0.0",
    authorization=Permission("suppliers.write"),
    idempotent=True,
    side_effects=("supplier",),
)
class SignSupplierAgreement(Department):
    """Sign supplier agreement."""

    async def execute(self, request: OnboardEmployee, ctx: StepContext) -> SupplierAgreement:
        self._company.do("supplier.sign", request.candidate_id)
        return SupplierAgreement(agreement_id=request.candidate_id)


@capability("supplier.void", version="1.0.0", authorization=Internal(), idempotent=True, side_effects=("supplier",))
class VoidSupplierAgreement(Department):
    """Void supplier agreement."""

    async def execute(self, request: SupplierAgreement, ctx: StepContext) -> None:
        self._company.undo("supplier.void", "supplier.sign", request.agreement_id)


@capability(
    "identity.create",
    version="1.0.0",
    authorization=Permission("identity.write"),
    idempotent=True,
    side_effects=("identity",),
)
class CreateIdentity(Department):
    """Create identity."""

    async def execute(self, request: OnboardEmployee, ctx: StepContext) -> Identity:
        self._company.do("identity.create", request.candidate_id)
        return Identity(employee_id=request.candidate_id)


@capability("identity.disable", version="1.0.0", authorization=Internal(), idempotent=True, side_effects=("identity",))
class DisableIdentity(Department):
    """Disable identity."""

    async def execute(self, request: Identity, ctx: StepContext) -> None:
        self._company.undo("identity.disable", "identity.create", request.employee_id)


@capability(
    "hardware.order",
    version="1.0.0",
    authorization=Permission("hardware.write"),
    idempotent=True,
    side_effects=("hardware",),
)
class OrderLaptop(Department):
    """Order laptop."""

    async def execute(self, request: Identity, ctx: StepContext) -> LaptopOrder:
        self._company.do("hardware.order", request.employee_id)
        return LaptopOrder(order_id=request.employee_id)


@capability("hardware.cancel", version="1.0.0", authorization=Internal(), idempotent=True, side_effects=("hardware",))
class CancelLaptopOrder(Department):
    """Cancel laptop order."""

    async def execute(self, request: LaptopOrder, ctx: StepContext) -> None:
        self._company.undo("hardware.cancel", "hardware.order", request.order_id)


@capability(
    "access.grant", version="1.0.0", authorization=Permission("access.write"), idempotent=True, side_effects=("access",)
)
class GrantSystemAccess(Department):
    """Grant system access."""

    async def execute(self, request: Identity, ctx: StepContext) -> AccessGrant:
        self._company.do("access.grant", request.employee_id)
        return AccessGrant(grant_id=request.employee_id)


@capability("access.revoke", version="1.0.0", authorization=Internal(), idempotent=True, side_effects=("access",))
class RevokeSystemAccess(Department):
    """Revoke system access."""

    async def execute(self, request: AccessGrant, ctx: StepContext) -> None:
        self._company.undo("access.revoke", "access.grant", request.grant_id)


@capability("induction.book", version="1.0.0", authorization=Authenticated(), idempotent=True)
class ScheduleInduction(Department):
    """Schedule induction."""

    async def execute(self, request: Identity, ctx: StepContext) -> Induction:
        return Induction(slot="monday")


@capability("equipment.approve", version="1.0.0", authorization=Authenticated(), idempotent=True)
class RecordEquipmentApproval(Department):
    """Record equipment approval."""

    async def execute(self, request: EquipmentRequest, ctx: StepContext) -> Approval:
        return Approval(item=request.item)


@capability("equipment.auto_clear", version="1.0.0", authorization=Authenticated(), idempotent=True)
class AutoClearEquipment(Department):
    """Auto clear equipment."""

    async def execute(self, request: EquipmentRequest, ctx: StepContext) -> Clearance:
        return Clearance(item=request.item)


@capability(
    "equipment.assign",
    version="1.0.0",
    authorization=Permission("equipment.write"),
    idempotent=True,
    side_effects=("equipment",),
)
class AssignEquipment(Department):
    """Assign equipment."""

    async def execute(self, request: EquipmentRequest, ctx: StepContext) -> AssignedEquipment:
        self._company.do("equipment.assign", request.item)
        return AssignedEquipment(item=request.item, tag=ctx.idempotency_key)


@capability("equipment.return", version="1.0.0", authorization=Internal(), idempotent=True, side_effects=("equipment",))
class ReturnEquipment(Department):
    """Return equipment."""

    async def execute(self, request: AssignedEquipment, ctx: StepContext) -> None:
        self._company.undo("equipment.return", "equipment.assign", request.item)


@capability(
    "workspace.allocate_desk", version="1.0.0", authorization=Internal(), idempotent=True, side_effects=("workspace",)
)
class AllocateDesk(Department):
    """Allocate desk."""

    async def execute(self, request: ProvisionWorkspace, ctx: StepContext) -> DeskAllocation:
        self._company.do("workspace.allocate_desk", request.employee_id)
        return DeskAllocation(desk_id=request.employee_id)


@capability(
    "workspace.release_desk", version="1.0.0", authorization=Internal(), idempotent=True, side_effects=("workspace",)
)
class ReleaseDesk(Department):
    """Release desk."""

    async def execute(self, request: DeskAllocation, ctx: StepContext) -> None:
        self._company.undo("workspace.release_desk", "workspace.allocate_desk", request.desk_id)


@capability("workspace.issue_pass", version="1.0.0", authorization=Internal(), idempotent=True, side_effects=("pass",))
class IssueBuildingPass(Department):
    """Issue building pass."""

    async def execute(self, request: ProvisionWorkspace, ctx: StepContext) -> BuildingPass:
        self._company.do("workspace.issue_pass", request.employee_id)
        return BuildingPass(pass_id=request.employee_id)


@capability("workspace.cancel_pass", version="1.0.0", authorization=Internal(), idempotent=True, side_effects=("pass",))
class CancelBuildingPass(Department):
    """Cancel building pass."""

    async def execute(self, request: BuildingPass, ctx: StepContext) -> None:
        self._company.undo("workspace.cancel_pass", "workspace.issue_pass", request.pass_id)


@capability("screening.start", version="1.0.0", authorization=Authenticated(), idempotent=True)
class StartBackgroundCheck(Department):
    """Start background check."""

    async def execute(self, request: Identity, ctx: StepContext) -> Screening:
        return Screening(state="started")


@capability("screening.waive", version="1.0.0", authorization=Authenticated(), idempotent=True)
class WaiveBackgroundCheck(Department):
    """Waive background check."""

    async def execute(self, request: Identity, ctx: StepContext) -> Screening:
        return Screening(state="waived")


@capability("welcome.send", version="1.0.0", authorization=Authenticated(), idempotent=True)
class SendWelcomePack(Department):
    """Send welcome pack."""

    async def execute(self, request: Identity, ctx: StepContext) -> WelcomePack:
        return WelcomePack(reference=self._company.do("welcome.send", request.employee_id))


@capability("offer.close_window", version="1.0.0", authorization=Internal(), idempotent=True)
async def close_offer_window(request: ScheduledFire, ctx: StepContext) -> OfferWindowClosed:
    """Close the window of the night that was due, however late it runs."""
    return OfferWindowClosed(closed_at=request.occurrence_at)
