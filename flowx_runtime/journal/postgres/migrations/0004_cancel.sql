-- A request to cancel is kept with its instance, where the next commit of whoever runs it meets it.
-- Hosts of the previous version go on with the functions they know: they do not see the request, and a host of this
-- version acts on it when the instance parks.

alter table {schema}.flow_instance add column cancel_reason text;

create or replace function {schema}.instance_document(i {schema}.flow_instance) returns json
language sql stable as $$
    select json_build_object(
        'instance_id', i.instance_id, 'flow_id', i.flow_id, 'flow_version', i.flow_version,
        'plan_digest', i.plan_digest, 'tenant_id', i.tenant_id, 'state', i.state, 'fence', i.fence,
        'input', i.input::text, 'output', i.output::text, 'error', i.error, 'correlation_id', i.correlation_id,
        'deadline_at', i.deadline_at, 'parent_instance_id', i.parent_instance_id, 'parent_scope', i.parent_scope,
        'parent_step_id', i.parent_step_id, 'created_at', i.created_at, 'updated_at', i.updated_at,
        'cancel_reason', i.cancel_reason, 'waits', {schema}.open_waits(i))
$$;

-- The first reason stays. A parked instance counts as signalled, so that a sweep gives it out if nobody else acts.
create function {schema}.request_cancel(p_instance uuid, p_reason text, out refusal text)
language plpgsql as $$
declare
    found_state text;
begin
    select state into found_state from {schema}.flow_instance where instance_id = p_instance for update;
    if not found then
        refusal := 'journal.unknown_instance';
    elsif {schema}.is_terminal(found_state) then
        refusal := 'journal.instance_terminal';
    else
        update {schema}.flow_instance set
            cancel_reason = coalesce(cancel_reason, p_reason), signalled = signalled or state = 'Suspended'
        where instance_id = p_instance;
    end if;
end
$$;

-- As apply_commit; of a commit that was written, `detail` is the reason of a request to cancel. A park that did not
-- know of the request leaves the instance to the sweep: the request and the park both write the instance's row.
create function {schema}.commit_and_look(p json, out refusal text, out detail text, out last_sequence bigint)
language plpgsql as $$
declare
    target uuid := (p ->> 'instance_id')::uuid;
begin
    select a.refusal, a.detail, a.last_sequence into refusal, detail, last_sequence
        from {schema}.apply_commit(p) a;
    if refusal is null then
        select i.cancel_reason into detail from {schema}.flow_instance i where i.instance_id = target;
        if detail is not null and p ->> 'state' = 'Suspended' then
            update {schema}.flow_instance set signalled = true where instance_id = target;
        end if;
    end if;
end
$$;

create function {schema}.write_group_and_look(p_starts json, p_instances uuid[], p_commits json)
returns table (is_start boolean, place bigint, refusal text, detail text, last_sequence bigint,
    moment timestamptz, expires_at timestamptz)
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
#variable_conflict use_column
begin
    return query
    select w.is_start, w.place, w.refusal,
        case when w.is_start or w.refusal is not null then w.detail else i.cancel_reason end,
        w.last_sequence, w.moment, w.expires_at
    from {schema}.write_group(p_starts, p_instances, p_commits) w
    left join {schema}.flow_instance i
        on not w.is_start and w.refusal is null and i.instance_id = p_instances[w.place];
    -- A statement of its own sees what was asked before the rows were locked. Those of others are skipped.
    update {schema}.flow_instance f set signalled = true
    from (
        select i.instance_id from {schema}.flow_instance i
        where i.instance_id = any (p_instances) and i.cancel_reason is not null and i.state = 'Suspended'
            and not i.signalled
        for update skip locked) parked
    where f.instance_id = parked.instance_id;
end
$$;

-- Ended instances that were last written before an instant, with all that belongs to them; oldest first, at most
-- p_limit. One with an event that is not published stays, also where it was set aside, and so does one whose parent is
-- open: the parent's unwind reads it. SKIP LOCKED: what is being written is not waited for.
create function {schema}.prune(p_older_than timestamptz, p_states text[], p_limit integer,
    out instances bigint, out steps bigint, out events bigint, out deliveries bigint)
language plpgsql as $$
declare
    chosen uuid[];
begin
    select array_agg(c.instance_id) into chosen from (
        select i.instance_id from {schema}.flow_instance i
        where i.state = any (p_states) and {schema}.is_terminal(i.state) and i.updated_at < p_older_than
            and not exists (
                select from {schema}.outbox_event e
                where e.instance_id = i.instance_id and e.published_at is null)
            and not exists (
                select from {schema}.flow_instance parent
                where parent.instance_id = i.parent_instance_id and not {schema}.is_terminal(parent.state))
        order by i.created_at limit p_limit
        for update of i skip locked) c;
    select count(*) into steps from {schema}.flow_step where instance_id = any (chosen);
    select count(*) into events from {schema}.outbox_event where instance_id = any (chosen);
    select count(*) into deliveries from {schema}.flow_inbox where instance_id = any (chosen);
    delete from {schema}.flow_lease where instance_id = any (chosen);
    delete from {schema}.flow_instance where instance_id = any (chosen);
    get diagnostics instances = row_count;
end
$$;
