-- One function per write, so that a write is one statement and one round trip, and many can be sent as one.
-- Each takes the instance row's lock first. What follows sees, as a new statement in READ COMMITTED, all that the
-- previous holder of the lock committed. A refusal leaves nothing written.

-- The waits of a parked instance, as the host reads them.
create function {schema}.open_waits(i {schema}.flow_instance) returns json
language sql stable as $$
    select case
        when i.wait_count = 0 then null
        when i.wait_count = 1 then json_build_array(json_build_object(
            'scope', i.wake_scope, 'step_id', i.wake_step_id, 'wake_at', i.wake_at, 'signal_id', i.wake_signal_id))
        else (
            select json_agg(json_build_object('scope', w.scope, 'step_id', w.step_id, 'wake_at', w.wake_at,
                'signal_id', w.signal_id) order by w.wake_at, w.step_id, w.scope)
            from {schema}.flow_wait w where w.instance_id = i.instance_id)
    end
$$;

-- Payloads travel as strings: json inside json would lose the difference between no value and null.
create function {schema}.instance_document(i {schema}.flow_instance) returns json
language sql stable as $$
    select json_build_object(
        'instance_id', i.instance_id, 'flow_id', i.flow_id, 'flow_version', i.flow_version,
        'plan_digest', i.plan_digest, 'tenant_id', i.tenant_id, 'state', i.state, 'fence', i.fence,
        'input', i.input::text, 'output', i.output::text, 'error', i.error, 'correlation_id', i.correlation_id,
        'deadline_at', i.deadline_at, 'parent_instance_id', i.parent_instance_id, 'parent_scope', i.parent_scope,
        'parent_step_id', i.parent_step_id, 'created_at', i.created_at, 'updated_at', i.updated_at,
        'waits', {schema}.open_waits(i))
$$;

-- All that a resume reads, as one document; null for an unknown instance.
create function {schema}.history(p_instance uuid) returns json
language sql stable as $$
    select json_build_object(
        'instance', {schema}.instance_document(i),
        'rows', (
            select json_agg(json_build_object(
                'scope', s.scope, 'step_id', s.step_id, 'attempt', s.attempt, 'sequence', s.sequence,
                'name', s.name, 'capability_id', s.capability_id, 'outcome', s.outcome,
                'request', s.request::text, 'result', s.result::text, 'error', s.error,
                'captured', s.nondeterministic, 'duration_ms', s.duration_ms, 'committed_at', s.committed_at)
                order by s.sequence)
            from {schema}.flow_step s where s.instance_id = i.instance_id),
        'inbox', (
            select json_agg(json_build_object(
                'delivery_id', d.delivery_id, 'signal_id', d.signal_id, 'payload', d.payload::text,
                'received_sequence', d.received_sequence) order by d.received_sequence)
            from {schema}.flow_inbox d where d.instance_id = i.instance_id and d.taken_at is null))
    from {schema}.flow_instance i where i.instance_id = p_instance
$$;

create function {schema}.is_terminal(p_state text) returns boolean
language sql immutable as $$
    select p_state in ('Completed', 'Failed', 'TimedOut', 'CompensationFailed', 'Cancelled')
$$;

-- Ends with a history where the instance was there already, with a lease where it was not.
create function {schema}.start_instance(
    p json, out created_at timestamptz, out expires_at timestamptz, out history json)
language plpgsql as $$
declare
    n record;
begin
    select * into n from json_to_record(p) as x(
        owner text, ttl double precision, instance_id uuid, flow_id text, flow_version text, plan_digest text, input text, deadline_at timestamptz,
        correlation_id text, tenant_id text, parent_instance_id uuid, parent_scope text, parent_step_id integer);
    created_at := clock_timestamp();
    -- The primary key settles concurrent starts: the others wait here for the first, and then insert nothing.
    insert into {schema}.flow_instance (
        instance_id, flow_id, flow_version, plan_digest, tenant_id, state, fence, input, correlation_id, deadline_at,
        parent_instance_id, parent_scope, parent_step_id, created_at, updated_at)
    values (
        n.instance_id, n.flow_id, n.flow_version, n.plan_digest, n.tenant_id, 'Running', 1, n.input::json,
        n.correlation_id, n.deadline_at, n.parent_instance_id, n.parent_scope, n.parent_step_id, created_at, created_at)
    on conflict (instance_id) do nothing;
    if found then
        expires_at := created_at + make_interval(secs => n.ttl);
        insert into {schema}.flow_lease values (n.instance_id, n.owner, 1, expires_at);
    else
        history := {schema}.history(n.instance_id);
    end if;
end
$$;

create function {schema}.deliver(p_instance uuid, p json, out refusal text)
language plpgsql as $$
declare
    i record;
    d record;
begin
    -- Writes the row that a parking commit writes: whichever of the two comes second sees the first.
    select state, next_delivery, wake_signal_id, wait_count into i
        from {schema}.flow_instance where instance_id = p_instance for update;
    if not found then
        refusal := 'journal.unknown_instance';
        return;
    end if;
    select * into d from json_to_record(p) as x(delivery_id text, signal_id text, payload text);
    if exists (select from {schema}.flow_inbox b where b.instance_id = p_instance and b.delivery_id = d.delivery_id) then
        return;
    end if;
    if {schema}.is_terminal(i.state) then
        refusal := 'journal.instance_terminal';
        return;
    end if;
    insert into {schema}.flow_inbox values (
        p_instance, d.delivery_id, d.signal_id, d.payload::json, i.next_delivery, clock_timestamp());
    update {schema}.flow_instance f set
        next_delivery = i.next_delivery + 1,
        signalled = f.signalled or (i.wait_count > 0 and i.wake_signal_id is not distinct from d.signal_id)
            or (i.wait_count > 1 and exists (
                select from {schema}.flow_wait w where w.instance_id = p_instance and w.signal_id = d.signal_id))
    where f.instance_id = p_instance;
end
$$;

create function {schema}.apply_commit(p json, out refusal text, out detail text, out last_sequence bigint)
language plpgsql as $$
declare
    c record;
    i record;
    w record;
    moved_to text;
    written bigint := 0;
    staged bigint := 0;
    moment timestamptz := clock_timestamp();
begin
    select * into c from json_to_record(p) as x(
        instance_id uuid, fencing_token bigint, rows json, events json, taken text[], state text, waits json,
        output text, error json, release boolean, parent_delivery json);
    select state, fence, next_sequence, next_event, wait_count, parent_instance_id into i
        from {schema}.flow_instance where instance_id = c.instance_id for update;
    if not found then
        refusal := 'journal.unknown_instance';
        return;
    end if;
    if c.fencing_token < i.fence then
        refusal := 'journal.fenced_out';
        detail := format('the fence is at %s', i.fence);
        return;
    end if;
    if {schema}.is_terminal(i.state) then
        refusal := 'journal.instance_terminal';
        detail := format('the instance is %s', i.state);
        return;
    end if;
    if c.taken is not null then
        select format('delivery %L is not in the inbox', t.delivery_id) into detail
            from (
                select x.delivery_id, row_number() over (partition by x.delivery_id) as occurrence
                from unnest(c.taken) as x(delivery_id)) t
            where t.occurrence > 1 or not exists (
                select from {schema}.flow_inbox b
                where b.instance_id = c.instance_id and b.delivery_id = t.delivery_id and b.taken_at is null)
            limit 1;
        if found then
            refusal := 'journal.duplicate_step';
            return;
        end if;
    end if;
    if c.waits is not null then
        select string_agg(distinct b.signal_id, ', ') into detail
            from {schema}.flow_inbox b
            join json_to_recordset(c.waits) as x(signal_id text) on x.signal_id = b.signal_id
            where b.instance_id = c.instance_id and b.taken_at is null
                and b.delivery_id <> all (coalesce(c.taken, '{{}}'));
        if detail is not null then
            refusal := 'journal.signal_arrived';
            return;
        end if;
    end if;

    if c.rows is not null then
        insert into {schema}.flow_step (
            instance_id, scope, step_id, attempt, sequence, name, capability_id, outcome, request, result, error,
            nondeterministic, duration_ms, committed_at)
        select c.instance_id, r.scope, r.step_id, r.attempt, i.next_sequence + r.position - 1, r.name, r.capability_id,
            r.outcome, r.request::json, r.result::json, r.error, r.captured, r.duration_ms, moment
        from rows from (json_to_recordset(c.rows) as (
            scope text, step_id integer, attempt integer, name text, capability_id text, outcome text, request text,
            result text, error json, captured json, duration_ms bigint)) with ordinality as r(
            scope, step_id, attempt, name, capability_id, outcome, request, result, error, captured, duration_ms,
            position)
        on conflict (instance_id, scope, step_id, attempt) do nothing;
        get diagnostics written = row_count;
        if written < json_array_length(c.rows) then
            -- Rare, so it is cheaper to take back than to look first. Nothing else has been written yet.
            delete from {schema}.flow_step where instance_id = c.instance_id and sequence >= i.next_sequence;
            refusal := 'journal.duplicate_step';
            detail := 'a row with its key exists';
            return;
        end if;
    end if;
    if c.events is not null then
        -- An event id is minted once and kept with its row; staging it again is the same event.
        insert into {schema}.outbox_event (
            instance_id, event_id, event_sequence, type, version, partition_key, payload, staged_at)
        select c.instance_id, e.event_id, i.next_event + e.position - 1, e.type, e.version, e.partition_key,
            e.payload::json, moment
        from rows from (json_to_recordset(c.events) as (
            event_id uuid, type text, version text, partition_key text, payload text)) with ordinality as e(
            event_id, type, version, partition_key, payload, position)
        on conflict (instance_id, event_id) do nothing;
        staged := json_array_length(c.events);
    end if;
    if c.taken is not null then
        update {schema}.flow_inbox b set taken_at = moment
            where b.instance_id = c.instance_id and b.delivery_id = any (c.taken);
    end if;

    moved_to := coalesce(c.state, i.state);
    if c.state is null and c.output is null and c.error is null then
        update {schema}.flow_instance f set
            next_sequence = i.next_sequence + written, next_event = i.next_event + staged, updated_at = moment
            where f.instance_id = c.instance_id;
    else
        if c.state is not null and i.wait_count > 1 then
            delete from {schema}.flow_wait where instance_id = c.instance_id;
        end if;
        if json_array_length(c.waits) > 1 then
            insert into {schema}.flow_wait (instance_id, scope, step_id, wake_at, signal_id)
            select c.instance_id, x.scope, x.step_id, x.wake_at, x.signal_id
            from json_to_recordset(c.waits) as x(scope text, step_id integer, wake_at timestamptz, signal_id text);
        end if;
        select x.* into w
            from json_to_recordset(c.waits) as x(scope text, step_id integer, wake_at timestamptz, signal_id text)
            order by x.wake_at, x.step_id, x.scope limit 1;
        update {schema}.flow_instance f set
            next_sequence = i.next_sequence + written,
            next_event = i.next_event + staged,
            updated_at = moment,
            state = moved_to,
            output = coalesce(c.output::json, f.output),
            error = coalesce(c.error, f.error),
            wake_at = case when c.state is null then f.wake_at else w.wake_at end,
            wake_step_id = case when c.state is null then f.wake_step_id else w.step_id end,
            wake_scope = case when c.state is null then f.wake_scope else w.scope end,
            wake_signal_id = case when c.state is null then f.wake_signal_id else w.signal_id end,
            wait_count = case when c.state is null then f.wait_count else coalesce(json_array_length(c.waits), 0) end,
            signalled = c.state is null and f.signalled
        where f.instance_id = c.instance_id;
    end if;
    if c.release or {schema}.is_terminal(moved_to) then
        perform {schema}.give_up(c.instance_id, c.fencing_token, moved_to);
    end if;
    if c.parent_delivery is not null and i.parent_instance_id is not null then
        perform {schema}.deliver(i.parent_instance_id, c.parent_delivery);
    end if;
    last_sequence := i.next_sequence + written - 1;
end
$$;

-- Called under the instance row's lock. Work that is still to be done keeps an expired lease, by which it is found.
create function {schema}.give_up(p_instance uuid, p_token bigint, p_state text) returns void
language plpgsql as $$
begin
    if p_state = 'Suspended' or {schema}.is_terminal(p_state) then
        delete from {schema}.flow_lease where instance_id = p_instance and fencing_token = p_token;
    else
        update {schema}.flow_lease set expires_at = least(expires_at, clock_timestamp())
            where instance_id = p_instance and fencing_token = p_token;
    end if;
end
$$;

create function {schema}.release(p_instance uuid, p_token bigint) returns void
language plpgsql as $$
declare
    found_state text;
begin
    select state into found_state from {schema}.flow_instance where instance_id = p_instance for update;
    if found then
        perform {schema}.give_up(p_instance, p_token, found_state);
    end if;
end
$$;

-- Called under the instance rows' locks. Raises each fence with its lease, before any history is read.
create function {schema}.acquire(p_instances uuid[], p_owner text, p_ttl interval)
returns table (instance_id uuid, fencing_token bigint, expires_at timestamptz)
language plpgsql as $$
#variable_conflict use_column
declare
    moment timestamptz := clock_timestamp();
begin
    return query
    with taken as (
        insert into {schema}.flow_lease as l (instance_id, owner, fencing_token, expires_at)
        select i.instance_id, p_owner, i.fence + 1, moment + p_ttl
        from {schema}.flow_instance i where i.instance_id = any (p_instances)
        on conflict (instance_id) do update
            set owner = excluded.owner, fencing_token = excluded.fencing_token, expires_at = excluded.expires_at
            where l.expires_at <= moment
        returning l.instance_id, l.fencing_token, l.expires_at),
    raised as (
        update {schema}.flow_instance i set fence = taken.fencing_token
        from taken where i.instance_id = taken.instance_id)
    select taken.instance_id, taken.fencing_token, taken.expires_at from taken;
end
$$;

-- Gives the acquired instances in the order asked for. The history is read by statements of their own, which see the
-- raised fence.
create function {schema}.acquire_with_history(p_instances uuid[], p_owner text, p_ttl interval)
returns table (fencing_token bigint, expires_at timestamptz, history json)
language plpgsql as $$
declare
    a record;
begin
    for a in
        select x.instance_id, x.fencing_token, x.expires_at from {schema}.acquire(p_instances, p_owner, p_ttl) x
        join unnest(p_instances) with ordinality as o(instance_id, position) using (instance_id)
        order by o.position
    loop
        fencing_token := a.fencing_token;
        expires_at := a.expires_at;
        history := {schema}.history(a.instance_id);
        return next;
    end loop;
end
$$;

create function {schema}.claim(
    p_instance uuid, p_owner text, p_ttl interval,
    out refusal text, out detail text, out fencing_token bigint, out expires_at timestamptz, out history json)
language plpgsql as $$
declare
    found_state text;
begin
    select state into found_state from {schema}.flow_instance where instance_id = p_instance for update;
    if not found then
        refusal := 'journal.unknown_instance';
        return;
    end if;
    if {schema}.is_terminal(found_state) then
        refusal := 'journal.instance_terminal';
        return;
    end if;
    select a.fencing_token, a.expires_at into fencing_token, expires_at
        from {schema}.acquire(array[p_instance], p_owner, p_ttl) a;
    if not found then
        refusal := 'lease.held';
        select format('held by %s', l.owner) into detail from {schema}.flow_lease l where l.instance_id = p_instance;
        return;
    end if;
    history := {schema}.history(p_instance);
end
$$;

-- Candidates are chosen by an old snapshot and locked; `acquire` then looks at their leases as they are now.
-- SKIP LOCKED: what another node is writing or claiming at this moment is not waited for.
-- No scan of whole tables: a plan made while they were small is kept when they are large.
create function {schema}.claim_due(
    p_now timestamptz, p_owner text, p_ttl interval, p_limit integer, p_flows text[], p_versions text[])
returns table (fencing_token bigint, expires_at timestamptz, history json)
language plpgsql set enable_seqscan = off as $$
#variable_conflict use_column
declare
    candidates uuid[];
begin
    select array_agg(c.instance_id order by c.wake_at) into candidates from (
        select i.instance_id, i.wake_at from {schema}.flow_instance i
        where i.state = 'Suspended' and i.signalled
            and (p_flows is null or (i.flow_id, i.flow_version) in (select * from unnest(p_flows, p_versions)))
            and not exists (
                select from {schema}.flow_lease l where l.instance_id = i.instance_id and l.expires_at > now())
        order by i.wake_at limit p_limit
        for update of i skip locked) c;
    if coalesce(cardinality(candidates), 0) < p_limit then
        select coalesce(candidates, '{{}}') || array_agg(c.instance_id) into candidates from (
            select i.instance_id from {schema}.flow_instance i
            where i.state = 'Suspended' and i.wake_at <= p_now and not i.signalled
                and (p_flows is null or (i.flow_id, i.flow_version) in (select * from unnest(p_flows, p_versions)))
                and not exists (
                    select from {schema}.flow_lease l where l.instance_id = i.instance_id and l.expires_at > now())
            order by i.wake_at limit p_limit - coalesce(cardinality(candidates), 0)
            for update of i skip locked) c;
    end if;
    return query select * from {schema}.acquire_with_history(candidates, p_owner, p_ttl);
end
$$;

create function {schema}.claim_abandoned(
    p_owner text, p_ttl interval, p_limit integer, p_flows text[], p_versions text[])
returns table (fencing_token bigint, expires_at timestamptz, history json)
language plpgsql set enable_seqscan = off as $$
#variable_conflict use_column
declare
    candidates uuid[];
begin
    select array_agg(c.instance_id) into candidates from (
        select i.instance_id from {schema}.flow_lease l
        join {schema}.flow_instance i using (instance_id)
        where l.expires_at <= now() and i.state in ('Pending', 'Running', 'Compensating')
            and (p_flows is null or (i.flow_id, i.flow_version) in (select * from unnest(p_flows, p_versions)))
        order by l.expires_at limit p_limit
        for update of i skip locked) c;
    return query select * from {schema}.acquire_with_history(candidates, p_owner, p_ttl);
end
$$;
