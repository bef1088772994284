-- How far each schedule has been considered, and what was decided and not yet noted as started. A row belongs to no
-- instance: the table is small, read whole by every node once per sweep, and written once or twice per occurrence.
-- A later version of a flow goes on with the row, so that it does not fire again what an earlier one fired.

create table {schema}.flow_schedule (
    flow_id          text        not null,
    cron             text        not null,
    time_zone        text        not null,
    -- The newest version that has served it.
    flow_version     text        not null,
    considered_until timestamptz not null,
    -- [{{"occurrence_at", "flow_version", "release_at"}}]: any node may start these, the key of the instance settles it.
    planned          json        not null,
    fired            bigint      not null default 0 check (fired >= 0),
    skipped          bigint      not null default 0 check (skipped >= 0),
    lost             bigint      not null default 0 check (lost >= 0),
    -- A save names the revision it has seen; a later one refuses it.
    revision         bigint      not null check (revision >= 1),
    updated_at       timestamptz not null default now(),
    primary key (flow_id, cron, time_zone)
);
