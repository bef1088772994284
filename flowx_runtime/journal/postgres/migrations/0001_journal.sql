-- The journal's tables. Every primary key begins with instance_id, so the schema can be distributed by it.
-- Payloads are json, not jsonb: their text comes back as it was written.

create table {schema}.flow_instance (
    instance_id        uuid        primary key,
    flow_id            text        not null,
    flow_version       text        not null,
    plan_digest        text        not null,
    tenant_id          text,
    state              text        not null check (state in (
        'Pending', 'Running', 'Suspended', 'Compensating',
        'Completed', 'Failed', 'TimedOut', 'CompensationFailed', 'Cancelled')),
    -- The highest fencing token given out. A write with a lower one is refused.
    fence              bigint      not null check (fence >= 0),
    -- Allocators, moved under this row's lock.
    next_sequence      bigint      not null default 1,
    next_event         bigint      not null default 1,
    next_delivery      bigint      not null default 1,
    input              json        not null,
    output             json,
    error              json,
    correlation_id     text        not null default '',
    deadline_at        timestamptz,
    parent_instance_id uuid,
    parent_scope       text        not null default '',
    parent_step_id     integer     check (parent_step_id >= 0),
    created_at         timestamptz not null,
    updated_at         timestamptz not null,
    -- The earliest open wait. Where there is more than one, flow_wait has them all.
    wake_at            timestamptz,
    wake_step_id       integer     check (wake_step_id >= 0),
    wake_scope         text,
    wake_signal_id     text,
    wait_count         integer     not null default 0,
    -- A delivery came in for an open wait and nobody has gone on with it yet.
    signalled          boolean     not null default false,
    constraint wake_is_whole check ((wake_at is null) = (wake_step_id is null)
        and (wake_at is null) = (wake_scope is null) and (wake_at is null) = (wait_count = 0)),
    constraint parked_means_waiting check ((state = 'Suspended') = (wake_at is not null))
) with (fillfactor = 85);
-- A step's commit changes next_sequence and updated_at alone. Neither is in an index, also not in a partial one's
-- condition, so that the new row version stays on its page and no index is written (a heap-only update).

create index flow_instance_due on {schema}.flow_instance (wake_at) where state = 'Suspended';
create index flow_instance_signalled on {schema}.flow_instance (wake_at) where state = 'Suspended' and signalled;
create index flow_instance_newest on {schema}.flow_instance (created_at);
create index flow_instance_children on {schema}.flow_instance (parent_instance_id) where parent_instance_id is not null;

-- A lease row exists for every instance that is neither parked nor ended, held or expired: abandoned work is found
-- among the expired ones. A parked instance that is being worked on has one as well.
-- No foreign key: leases churn, and each is written under the lock of its instance's row.
create table {schema}.flow_lease (
    instance_id   uuid        primary key,
    owner         text        not null,
    fencing_token bigint      not null check (fencing_token >= 1),
    expires_at    timestamptz not null
);
create index flow_lease_expiry on {schema}.flow_lease (expires_at);

create table {schema}.flow_wait (
    instance_id uuid        not null references {schema}.flow_instance on delete cascade,
    scope       text        not null,
    step_id     integer     not null check (step_id >= 0),
    wake_at     timestamptz not null,
    signal_id   text,
    primary key (instance_id, scope, step_id)
);

-- Append-only. `sequence` is unique within the instance because the instance row allocates it; an index to prove it
-- again would be written with every step.
create table {schema}.flow_step (
    instance_id      uuid        not null references {schema}.flow_instance on delete cascade,
    scope            text        not null,
    step_id          integer     not null check (step_id >= 0),
    attempt          integer     not null check (attempt >= 1),
    sequence         bigint      not null,
    name             text        not null default '',
    capability_id    text        not null,
    outcome          text        not null check (outcome in ('Success', 'Failure', 'Compensated', 'Degraded')),
    request          json,
    result           json,
    error            json,
    nondeterministic json,
    duration_ms      bigint      not null default 0,
    committed_at     timestamptz not null,
    primary key (instance_id, scope, step_id, attempt)
);

create table {schema}.flow_inbox (
    instance_id       uuid        not null references {schema}.flow_instance on delete cascade,
    delivery_id       text        not null,
    signal_id         text        not null,
    payload           json        not null,
    received_sequence bigint      not null,
    received_at       timestamptz not null,
    -- A taken delivery stays, so that the same delivery id is known when it comes again.
    taken_at          timestamptz,
    primary key (instance_id, delivery_id)
);

create table {schema}.outbox_event (
    instance_id    uuid        not null references {schema}.flow_instance on delete cascade,
    event_id       uuid        not null,
    event_sequence bigint      not null,
    type           text        not null,
    version        text        not null,
    partition_key  text        not null,
    payload        json        not null,
    staged_at      timestamptz not null,
    published_at   timestamptz,
    attempts       integer     not null default 0 check (attempts >= 0),
    set_aside_at   timestamptz,
    last_error     text,
    primary key (instance_id, event_id)
);
create index outbox_event_pending on {schema}.outbox_event (staged_at)
    where published_at is null and set_aside_at is null;
