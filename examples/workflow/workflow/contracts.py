"""The values that cross the steps of the three flows."""

from __future__ import annotations

from datetime import datetime
from enum import Enum

from flowx_runtime import Category, Contract, FlowError, Sensitive, event


class EmploymentType(Enum):
    """How somebody is employed."""

    PERMANENT = "permanent"
    CONTRACTOR = "contractor"
    INTERN = "intern"


class EquipmentRequest(Contract):
    """One item of kit."""

    item: str
    needs_approval: bool


class OnboardEmployee(Contract):
    """Whom to onboard."""

    candidate_id: str
    employment: EmploymentType
    site: str
    equipment: tuple[EquipmentRequest, ...]
    requires_background_check: bool
    national_id: Sensitive[str]


class ValidatedOffer(Contract):
    """The offer is in order."""

    candidate_id: str


class PayrollRecord(Contract):
    """A permanent employee's record."""

    record_id: str


class SupplierAgreement(Contract):
    """A contractor's agreement."""

    agreement_id: str


class Identity(Contract):
    """An account in the directory."""

    employee_id: str


class LaptopOrder(Contract):
    """A laptop on its way."""

    order_id: str


class AccessGrant(Contract):
    """Access to systems."""

    grant_id: str


class Induction(Contract):
    """A place in the induction."""

    slot: str


class Approval(Contract):
    """Somebody approved an item."""

    item: str


class Clearance(Contract):
    """An item needed no approval."""

    item: str


class AssignedEquipment(Contract):
    """An item handed out."""

    item: str
    tag: str


class ProvisionWorkspace(Contract):
    """Whose workspace to provide, and where."""

    employee_id: str
    site: str


class DeskAllocation(Contract):
    """A desk."""

    desk_id: str


class BuildingPass(Contract):
    """A pass."""

    pass_id: str


class WorkspaceReady(Contract):
    """The child's output."""

    desk_id: str
    pass_id: str


class Screening(Contract):
    """Whether a background check was started or waived."""

    state: str


class WelcomePack(Contract):
    """What was sent."""

    reference: str


class OnboardingResult(Contract):
    """The parent's output."""

    employee_id: str
    equipment_issued: int


class OfferWindowClosed(Contract):
    """Which night's window was closed."""

    closed_at: datetime


@event("employee.onboarded", version="1.0.0")
class EmployeeOnboarded(Contract):
    """Somebody has started."""

    employee_id: str
    site: str
    equipment_issued: int


class UnsupportedEmployment(FlowError, code="onboarding.unsupported_employment", category=Category.VALIDATION):
    """This flow onboards permanent employees and contractors only."""


class DepartmentClosed(FlowError, code="onboarding.department_closed", category=Category.UNAVAILABLE):
    """A department did not answer."""
