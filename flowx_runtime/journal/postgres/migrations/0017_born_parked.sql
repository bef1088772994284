-- A flow that begins with a wait is parked by the insert that makes it. Started and then parked it would leave a dead
-- version of its row and a dead lease behind, which take more room than the instance itself.

-- `refusal` is 'busy' where the instance exists; start_instance then says more.
create function {schema}.start_parked(p_starts json)
returns table (place bigint, refusal text, moment timestamptz)
language plpgsql
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    now_is timestamptz := clock_timestamp();
begin
    return query
    with n as materialized (
        select x.* from rows from (json_to_recordset(p_starts) as (
            instance_id uuid, flow_id text, flow_version text, plan_digest text, input text, deadline_at timestamptz,
            correlation_id text, tenant_id text, parent_instance_id uuid, parent_scope text, parent_step_id integer,
            parked json)) with ordinality as x(
            instance_id, flow_id, flow_version, plan_digest, input, deadline_at, correlation_id, tenant_id,
            parent_instance_id, parent_scope, parent_step_id, parked, place)),
    made as (
        insert into {schema}.flow_instance (
            instance_id, flow_id, flow_version, plan_digest, tenant_id, state, fence, input, correlation_id,
            deadline_at, parent_instance_id, parent_scope, parent_step_id, created_at, updated_at, wake_at,
            wake_step_id, wake_scope, wake_signal_id, wait_count)
        select n.instance_id, n.flow_id, n.flow_version, n.plan_digest, n.tenant_id, 'Suspended', 1, n.input::json,
            n.correlation_id, n.deadline_at, n.parent_instance_id, n.parent_scope, n.parent_step_id, now_is, now_is,
            (n.parked ->> 'wake_at')::timestamptz, (n.parked ->> 'step_id')::integer, n.parked ->> 'scope',
            n.parked ->> 'signal_id', 1
        from n order by n.instance_id
        on conflict (instance_id) do nothing
        returning instance_id)
    select n.place, case when made.instance_id is null then 'busy' end, now_is
    from n left join made on made.instance_id = n.instance_id;
end
$$;
