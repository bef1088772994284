-- Steps inside capabilities that run at most once.

create table {schema}.flow_once (
    instance_id uuid        not null references {schema}.flow_instance on delete cascade,
    path        text        not null,
    is_done     boolean     not null,
    value       json,
    type        text,
    attempts    integer     not null check (attempts >= 0),
    error       json,
    due_at      timestamptz,
    recorded_at timestamptz not null,
    primary key (instance_id, path)
);

-- Locks the instance row, as a commit does: a former owner cannot slip a record in after a takeover.
create function {schema}.record_once(p_instance uuid, p_token bigint, p_records json)
returns table (reason text, detail text) language plpgsql as $$
declare
    v_fence bigint;
    v_state text;
    v_done  text;
begin
    select i.fence, i.state into v_fence, v_state from {schema}.flow_instance i
        where i.instance_id = p_instance for update;
    if not found then
        return query select 'journal.unknown_instance'::text, null::text;
        return;
    end if;
    if p_token < v_fence then
        return query select 'journal.fenced_out'::text, null::text;
        return;
    end if;
    if {schema}.is_terminal(v_state) then
        return query select 'journal.instance_terminal'::text, null::text;
        return;
    end if;
    select o.path into v_done from {schema}.flow_once o, json_array_elements(p_records) r
        where o.instance_id = p_instance and o.path = r ->> 'path' and o.is_done limit 1;
    if found then
        return query select 'journal.duplicate_step'::text, v_done;
        return;
    end if;
    insert into {schema}.flow_once as o (
        instance_id, path, is_done, value, type, attempts, error, due_at, recorded_at)
    select p_instance, r ->> 'path', (r ->> 'is_done')::boolean, (r ->> 'value')::json, r ->> 'type',
            (r ->> 'attempts')::integer, nullif((r -> 'error')::text, 'null')::json, (r ->> 'due_at')::timestamptz,
            clock_timestamp()
        from json_array_elements(p_records) r
    on conflict (instance_id, path) do update set
        is_done = excluded.is_done, value = excluded.value, type = excluded.type, attempts = excluded.attempts,
        error = excluded.error, due_at = excluded.due_at, recorded_at = excluded.recorded_at;
    return query select null::text, null::text;
end
$$;
