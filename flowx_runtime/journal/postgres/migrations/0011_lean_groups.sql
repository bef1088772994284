-- As write_group, which finds requests to cancel where it judges: that statement sees what was asked before the rows
-- were locked. Reading the rows once more, and looking for parked ones among them, took a third of a group's time.

create or replace function {schema}.write_group_and_look(p_starts json, p_instances uuid[], p_commits json)
returns table (is_start boolean, place bigint, refusal text, detail text, last_sequence bigint,
    moment timestamptz, expires_at timestamptz)
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
#variable_conflict use_column
declare
    locked uuid[];
    now_is timestamptz := clock_timestamp();
begin
    if p_starts is not null then
        return query
        with n as materialized (
            select x.* from rows from (json_to_recordset(p_starts) as (
                owner text, ttl double precision, instance_id uuid, flow_id text, flow_version text, plan_digest text,
                input text, deadline_at timestamptz, correlation_id text, tenant_id text, parent_instance_id uuid,
                parent_scope text, parent_step_id integer)) with ordinality as x(
                owner, ttl, instance_id, flow_id, flow_version, plan_digest, input, deadline_at, correlation_id,
                tenant_id, parent_instance_id, parent_scope, parent_step_id, place)),
        made as (
            insert into {schema}.flow_instance (
                instance_id, flow_id, flow_version, plan_digest, tenant_id, state, fence, input, correlation_id,
                deadline_at, parent_instance_id, parent_scope, parent_step_id, created_at, updated_at)
            select n.instance_id, n.flow_id, n.flow_version, n.plan_digest, n.tenant_id, 'Running', 1, n.input::json,
                n.correlation_id, n.deadline_at, n.parent_instance_id, n.parent_scope, n.parent_step_id, now_is, now_is
            from n order by n.instance_id
            on conflict (instance_id) do nothing
            returning instance_id),
        leased as (
            insert into {schema}.flow_lease (instance_id, owner, fencing_token, expires_at)
            select n.instance_id, n.owner, 1, now_is + make_interval(secs => n.ttl)
            from made join n on n.instance_id = made.instance_id)
        select true, n.place, case when made.instance_id is null then 'busy' end, null::text, null::bigint, now_is,
            now_is + make_interval(secs => n.ttl)
        from n left join made on made.instance_id = n.instance_id;
    end if;
    if p_commits is null then
        return;
    end if;
    select array_agg(i.instance_id) into locked from (
        select instance_id from {schema}.flow_instance
        where instance_id = any (p_instances) for update skip locked) i;
    return query
    with c as materialized (
        select x.* from rows from (json_to_recordset(p_commits) as (
            instance_id uuid, fencing_token bigint, rows json, events json, state text, waits json, output text,
            error json, release boolean)) with ordinality as x(
            instance_id, fencing_token, rows, events, state, waits, output, error, release, place)),
    r as materialized (
        select c.instance_id, x.*
        from c, rows from (json_to_recordset(c.rows) as (
            scope text, step_id integer, attempt integer, name text, capability_id text, outcome text, request text,
            result text, error json, captured json, duration_ms bigint)) with ordinality as x(
            scope, step_id, attempt, name, capability_id, outcome, request, result, error, captured, duration_ms,
            ordinal)),
    repeated as materialized (
        select r.instance_id from r group by r.instance_id, r.scope, r.step_id, r.attempt having count(*) > 1
        union
        select r.instance_id from r
        join {schema}.flow_step s on s.instance_id = r.instance_id and s.scope = r.scope and s.step_id = r.step_id
            and s.attempt = r.attempt),
    judged as materialized (
        select c.*, i.next_sequence, i.next_event, i.wait_count, i.cancel_reason, coalesce(c.state, i.state) as moved_to,
            coalesce(json_array_length(c.rows), 0) as row_count, coalesce(json_array_length(c.events), 0) as event_count,
            (c.waits -> 0 ->> 'wake_at')::timestamptz as wake_at, (c.waits -> 0 ->> 'step_id')::integer as wake_step_id,
            c.waits -> 0 ->> 'scope' as wake_scope, c.waits -> 0 ->> 'signal_id' as wake_signal_id,
            case
                when i.instance_id is null then 'busy'
                when c.fencing_token < i.fence then 'journal.fenced_out'
                when {schema}.is_terminal(i.state) then 'journal.instance_terminal'
                when c.waits is not null and exists (
                    select from {schema}.flow_inbox b
                    where b.instance_id = c.instance_id and b.taken_at is null
                        and b.signal_id = c.waits -> 0 ->> 'signal_id') then 'journal.signal_arrived'
                when exists (select from repeated where repeated.instance_id = c.instance_id)
                    then 'journal.duplicate_step'
            end as refusal,
            case
                when c.fencing_token < i.fence then format('the fence is at %s', i.fence)
                when {schema}.is_terminal(i.state) then format('the instance is %s', i.state)
                else c.waits -> 0 ->> 'signal_id'
            end as detail
        from c left join {schema}.flow_instance i on i.instance_id = c.instance_id and i.instance_id = any (locked)),
    ok as materialized (
        select * from judged where judged.refusal is null),
    stepped as (
        insert into {schema}.flow_step (
            instance_id, scope, step_id, attempt, sequence, name, capability_id, outcome, request, result, error,
            nondeterministic, duration_ms, committed_at)
        select r.instance_id, r.scope, r.step_id, r.attempt, ok.next_sequence + r.ordinal - 1, r.name, r.capability_id,
            r.outcome, r.request::json, r.result::json, r.error, r.captured, r.duration_ms, now_is
        from r join ok on ok.instance_id = r.instance_id),
    staged as (
        insert into {schema}.outbox_event (
            instance_id, event_id, event_sequence, type, version, partition_key, payload, staged_at)
        select ok.instance_id, e.event_id, ok.next_event + e.ordinal - 1, e.type, e.version, e.partition_key,
            e.payload::json, now_is
        from ok, rows from (json_to_recordset(ok.events) as (
            event_id uuid, type text, version text, partition_key text, payload text)) with ordinality as e(
            event_id, type, version, partition_key, payload, ordinal)
        on conflict (instance_id, event_id) do nothing),
    unwaited as (
        delete from {schema}.flow_wait w using ok
        where w.instance_id = ok.instance_id and ok.wait_count > 1 and ok.state is not null),
    moved as (
        update {schema}.flow_instance f set
            next_sequence = ok.next_sequence + ok.row_count,
            next_event = ok.next_event + ok.event_count,
            updated_at = now_is,
            state = ok.moved_to,
            output = coalesce(ok.output::json, f.output),
            error = coalesce(ok.error, f.error),
            wake_at = case when ok.state is null then f.wake_at else ok.wake_at end,
            wake_step_id = case when ok.state is null then f.wake_step_id else ok.wake_step_id end,
            wake_scope = case when ok.state is null then f.wake_scope else ok.wake_scope end,
            wake_signal_id = case when ok.state is null then f.wake_signal_id else ok.wake_signal_id end,
            wait_count = case when ok.state is null then f.wait_count else (ok.wake_at is not null)::integer end,
            -- A park that did not know of a request to cancel leaves the instance to the sweep.
            signalled = (ok.state is null and f.signalled)
                or (ok.moved_to = 'Suspended' and ok.cancel_reason is not null)
        from ok where f.instance_id = ok.instance_id),
    given_up as (
        delete from {schema}.flow_lease l using ok
        where l.instance_id = ok.instance_id and l.fencing_token = ok.fencing_token
            and ((ok.release and ok.moved_to = 'Suspended') or {schema}.is_terminal(ok.moved_to))),
    expired as (
        update {schema}.flow_lease l set expires_at = least(l.expires_at, now_is) from ok
        where l.instance_id = ok.instance_id and l.fencing_token = ok.fencing_token
            and ok.release and ok.moved_to <> 'Suspended' and not {schema}.is_terminal(ok.moved_to))
    select false, judged.place, judged.refusal,
        case when judged.refusal is null then judged.cancel_reason else judged.detail end,
        judged.next_sequence + judged.row_count - 1, now_is, null::timestamptz
    from judged;
end
$$;
