-- Why a node could not go on with an instance. A setback counts until something is committed to the instance.

create table {schema}.flow_setback (
    instance_id uuid        primary key references {schema}.flow_instance on delete cascade,
    code        text        not null,
    detail      text        not null,
    node        text        not null,
    times       integer     not null check (times > 0),
    noted_at    timestamptz not null
);
