-- The statements the host sends. `name:` opens one; the line below it says what it locks.

-- name: start
-- Locks nothing that exists; concurrent starts of one id wait for the first on its primary key.
select s.*, {schema}.paused() from {schema}.start_instance(%s) s;

-- name: commit
-- Locks the instance row until the end of the transaction.
select * from {schema}.commit_and_look(%s);

-- name: lone_start
-- Locks nothing that exists; concurrent starts of one id wait for the first on its primary key. No row: it exists.
with made as (
    insert into {schema}.flow_instance (
        instance_id, flow_id, flow_version, plan_digest, tenant_id, state, fence, input, correlation_id, deadline_at,
        parent_instance_id, parent_scope, parent_step_id, created_at, updated_at)
    values (%s, %s, %s, %s, %s, 'Running', 1, %s::json, %s, %s::timestamptz, %s::uuid, %s, %s::integer,
        now(), now())
    on conflict (instance_id) do nothing
    returning instance_id, created_at),
leased as (
    insert into {schema}.flow_lease (instance_id, owner, fencing_token, expires_at)
    select instance_id, %s::text, 1, created_at + %s::interval from made
    returning expires_at)
select made.created_at, leased.expires_at, {schema}.paused() from made, leased;

-- name: lone_step
-- Locks the instance row. No row: refused, and `commit` says why. A key that exists is an error and writes nothing.
with moved as (
    update {schema}.flow_instance set next_sequence = next_sequence + 1, updated_at = clock_timestamp()
    where instance_id = %s and fence <= %s::bigint and state in ('Pending', 'Running', 'Suspended', 'Compensating')
    returning instance_id, next_sequence - 1 as sequence, updated_at, cancel_reason),
stepped as (
    insert into {schema}.flow_step (
        instance_id, scope, step_id, attempt, name, capability_id, outcome, request, result, error, nondeterministic,
        duration_ms, sequence, committed_at)
    select instance_id, %s::text, %s::integer, %s::integer, %s::text, %s::text, %s::text, %s::json, %s::json,
        %s::json, %s::json, %s::bigint, sequence, updated_at from moved)
select sequence, cancel_reason from moved;

-- name: lone_end
-- Locks the instance row. No row: refused, or there are several waits to clear, and `commit` does it.
with moved as (
    update {schema}.flow_instance set
        state = %s, output = coalesce(%s::json, output), error = coalesce(%s::json, error),
        next_sequence = next_sequence + 1, updated_at = clock_timestamp(), wake_at = null, wake_step_id = null,
        wake_scope = null, wake_signal_id = null, wait_count = 0, signalled = false
    where instance_id = %s and fence <= %s::bigint and state in ('Pending', 'Running', 'Suspended', 'Compensating')
        and wait_count < 2
    returning instance_id, next_sequence - 1 as sequence, updated_at, cancel_reason),
stepped as (
    insert into {schema}.flow_step (
        instance_id, scope, step_id, attempt, name, capability_id, outcome, request, result, error, nondeterministic,
        duration_ms, sequence, committed_at)
    select instance_id, %s::text, %s::integer, %s::integer, %s::text, %s::text, %s::text, %s::json, %s::json,
        %s::json, %s::json, %s::bigint, sequence, updated_at from moved),
given_up as (
    delete from {schema}.flow_lease l using moved
    where l.instance_id = moved.instance_id and l.fencing_token = %s::bigint)
select sequence, cancel_reason from moved;

-- name: claim
-- Locks the instance row and raises its fence before it reads the history.
select * from {schema}.claim(%s, %s, %s);

-- name: claim_due
-- Locks the instance rows it gives out; skips those that are locked.
select * from {schema}.claim_due(%s, %s, %s, %s, %s, %s);

-- name: claim_abandoned
-- Locks the instance rows it gives out; skips those that are locked.
select * from {schema}.claim_abandoned(%s, %s, %s, %s, %s);

-- name: renew
-- Locks the leases it extends, in the order of their ids so that two renewals never wait for each other.
with held as (
    select instance_id from {schema}.flow_lease
    where instance_id = any (%(instances)s) and owner = %(owner)s and expires_at > now()
    order by instance_id for update)
update {schema}.flow_lease l set expires_at = clock_timestamp() + %(ttl)s
    from held where l.instance_id = held.instance_id
    returning l.instance_id;

-- name: release
-- Locks the instance row.
select {schema}.release(%s, %s);

-- name: deliver
-- Locks the instance row, which a parking commit locks as well.
select {schema}.deliver(%s, %s);

-- name: deliver_and_claim
-- Likewise.
select c.* from {schema}.deliver(%s, %s) w(refusal), {schema}.claim_after(w.refusal, %s, %s, %s) c;

-- name: read
-- Locks nothing.
select {schema}.history(%s);

-- name: find
-- Locks nothing.
select {schema}.instance_document(i) from {schema}.flow_instance i
    where (%(flow_id)s::text is null or i.flow_id = %(flow_id)s)
        and (%(flow_version)s::text is null or i.flow_version = %(flow_version)s)
        and (%(states)s::text[] is null or i.state = any (%(states)s))
        and (%(parent)s::uuid is null or i.parent_instance_id = %(parent)s)
    order by i.created_at desc, i.instance_id desc limit %(limit)s;

-- name: events
-- Locks nothing.
select event_id, type, version, payload::text, partition_key from {schema}.outbox_event
    where instance_id = %s order by event_sequence;

-- name: live_leases
-- Locks nothing.
select count(*) from {schema}.flow_lease where instance_id = %s and expires_at > now();

-- name: next_wake
-- Locks nothing.
select min(wake_at) from {schema}.flow_instance where state = 'Suspended';

-- name: now
-- Locks nothing.
select clock_timestamp();

-- name: write_group
-- Locks the instance rows that nobody holds, and answers `busy` for the others.
select case when g.is_start then 'start' else 'commit' end, g.place, g.refusal, g.detail, g.last_sequence, g.moment,
    g.expires_at, p.paused from {schema}.write_group_and_look(%s, %s, %s) g, {schema}.paused() p(paused);

-- name: write_group_with_parked
-- Likewise; concurrent starts of one id wait for the first on its primary key.
select w.*, p.paused from {schema}.paused() p(paused), (
    select case when g.is_start then 'start' else 'commit' end, g.place, g.refusal, g.detail, g.last_sequence, g.moment,
        g.expires_at from {schema}.write_group_and_look(%s, %s, %s) g
    union all
    select 'parked', s.place, s.refusal, null, null, s.moment, null from {schema}.start_parked(%s) s) w;

-- name: start_parked
-- Likewise.
select s.moment, {schema}.paused() from {schema}.start_parked(%s) s where s.refusal is null;

-- name: request_cancel
-- Locks the instance row, which a parking commit locks as well.
select {schema}.request_cancel(%s, %s);

-- name: request_cancel_and_claim
-- Likewise.
select c.* from {schema}.request_cancel(%s, %s) w(refusal), {schema}.claim_after(w.refusal, %s, %s, %s) c;

-- name: reopen
-- Locks the instance row.
select {schema}.reopen(%s, %s);

-- name: reopen_and_claim
-- Likewise.
select c.* from {schema}.reopen(%s, %s) w(refusal), {schema}.claim_after(w.refusal, %s, %s, %s) c;

-- name: mark_published
-- Locks the events.
update {schema}.outbox_event set published_at = clock_timestamp()
    where instance_id = %s and event_id = any (%s) and published_at is null;

-- name: claim_events
-- Locks the first pending event of each instance it claims; skips those that are locked.
select * from {schema}.claim_events(%s, %s, %s, %s, %s);

-- name: settle_events
-- Locks the events it writes.
select {schema}.settle_events(%s, %s, %s, %s, %s);

-- name: poisoned_events
-- Locks nothing.
select instance_id, event_id, event_sequence, type, version, partition_key, payload::text, staged_at, set_aside_at,
        attempts, last_error
    from {schema}.outbox_event
    where published_at is null and set_aside_at is not null and dropped_at is null
        and (%(instance)s::uuid is null or instance_id = %(instance)s)
    order by set_aside_at, event_sequence limit %(limit)s;

-- name: retry_poisoned
-- Locks the events.
update {schema}.outbox_event
    set set_aside_at = null, attempts = 0, refusals = 0, next_attempt_at = clock_timestamp()
    where instance_id = %s and event_id = any (%s)
        and published_at is null and set_aside_at is not null and dropped_at is null
    returning event_id;

-- name: drop_poisoned
-- Locks the events.
update {schema}.outbox_event set dropped_at = clock_timestamp()
    where instance_id = %s and event_id = any (%s)
        and published_at is null and set_aside_at is not null and dropped_at is null
    returning event_id;

-- name: prune
-- Locks the instance rows it removes; skips those that are locked.
select * from {schema}.prune(%s, %s, %s);

-- name: schedules
-- Locks nothing.
select flow_id, cron, time_zone, coalesce(first_version, flow_version), flow_version, considered_until, planned, fired,
    skipped, lost, revision
    from {schema}.flow_schedule where flow_id = any (%s) order by flow_id, cron, time_zone;

-- name: create_schedule
-- Locks nothing that exists; concurrent creations of one row wait for the first on its primary key.
insert into {schema}.flow_schedule (
    flow_id, cron, time_zone, first_version, flow_version, considered_until, planned, fired, skipped, lost, revision)
values (%(flow_id)s, %(cron)s, %(time_zone)s, %(first_version)s, %(flow_version)s, %(considered_until)s, %(planned)s,
    %(fired)s, %(skipped)s, %(lost)s, 1)
on conflict do nothing returning revision;

-- name: update_schedule
-- Locks the row; a concurrent save waits, and then finds the revision moved on.
update {schema}.flow_schedule set
    first_version = %(first_version)s, flow_version = %(flow_version)s, considered_until = %(considered_until)s,
    planned = %(planned)s, fired = %(fired)s, skipped = %(skipped)s, lost = %(lost)s, revision = revision + 1,
    updated_at = now()
where flow_id = %(flow_id)s and cron = %(cron)s and time_zone = %(time_zone)s and revision = %(revision)s
returning revision;

-- name: remove_schedule
-- Locks the row.
delete from {schema}.flow_schedule
where flow_id = %(flow_id)s and cron = %(cron)s and time_zone = %(time_zone)s and revision = %(revision)s
returning revision;

-- name: pause
-- Locks nothing that exists; a pause that is there stays as it is. No row: it was paused.
insert into {schema}.flow_pause (target, reason, paused_at) values (%s, %s, clock_timestamp())
on conflict do nothing returning target;

-- name: unpause
-- Locks the row.
delete from {schema}.flow_pause where target = %s returning target;

-- name: pauses
-- Locks nothing.
select target, reason, paused_at from {schema}.flow_pause order by target collate "C";

-- name: note_setback
-- Locks the setback's row, if there is one.
insert into {schema}.flow_setback as b (code, detail, node, instance_id, times, noted_at)
select %s, %s, %s, i.instance_id, 1, clock_timestamp() from {schema}.flow_instance i where i.instance_id = %s
on conflict (instance_id) do update set
    code = excluded.code, detail = excluded.detail, node = excluded.node, noted_at = excluded.noted_at,
    times = case when b.noted_at >= (
            select i.updated_at from {schema}.flow_instance i where i.instance_id = b.instance_id)
            and (b.code <> 'instance.node_lost' or excluded.code = b.code)
        then b.times + 1 else 1 end;

-- name: setbacks
-- Locks nothing.
select b.instance_id, b.code, b.detail, b.node, b.times, b.noted_at
    from {schema}.flow_setback b join {schema}.flow_instance i using (instance_id)
    where b.instance_id = any (%s) and b.noted_at >= i.updated_at and not {schema}.is_terminal(i.state)
        and (b.code <> 'instance.node_lost' or b.times > 1)
    order by b.noted_at desc;

-- name: count_setbacks
-- Locks nothing.
select count(*) from {schema}.flow_setback b join {schema}.flow_instance i using (instance_id)
    where b.noted_at >= i.updated_at and not {schema}.is_terminal(i.state)
        and (b.code <> 'instance.node_lost' or b.times > 1);

-- name: once_records
-- Locks nothing.
select path, is_done, value::text, type, attempts, error, due_at from {schema}.flow_once
    where instance_id = %s and (path = %s or starts_with(path, %s)) order by path collate "C";

-- name: record_once
-- Locks the instance row.
select * from {schema}.record_once(%s, %s, %s);

-- name: join_node
-- Takes a session lock of the connection it is sent on; locks the node's row.
select {schema}.join_node(%s, %s);

-- name: look_around
-- Locks the rows of nodes whose session lock is free, and their leases; skips those that are locked.
select * from {schema}.look_around(%s, %s, %s, %s);

-- name: leave_node
-- Locks the node's row and its leases.
select {schema}.leave_node(%s, %s, %s);

-- name: tell_nodes
-- Locks nothing but the server's queue of notifications, at its commit, which writes nothing.
select pg_notify(%s, %s);

-- name: session
-- Locks nothing.
select pg_backend_pid();

-- name: lease_of
-- Locks nothing. One row, also where there is no lease.
select clock_timestamp(), (
            select count(*) from {schema}.flow_node n
            where exists (select from pg_stat_activity a where a.pid = n.backend_pid)),
        l.owner, l.fencing_token, l.expires_at
    from (select %s::uuid as instance_id) i left join {schema}.flow_lease l using (instance_id);

-- name: relatives
-- Locks nothing.
select p.instance_id = i.parent_instance_id, p.instance_id, p.flow_id, p.flow_version, p.state
    from {schema}.flow_instance i
    join {schema}.flow_instance p on p.instance_id = i.parent_instance_id or p.parent_instance_id = i.instance_id
    where i.instance_id = %s order by p.created_at, p.instance_id;

-- name: received
-- Locks nothing.
select delivery_id, signal_id, payload::text, received_at, taken_at from {schema}.flow_inbox
    where instance_id = %s order by received_sequence;

-- name: events_of
-- Locks nothing.
select event_id, type, version, staged_at, published_at, set_aside_at, dropped_at, attempts, last_error
    from {schema}.outbox_event where instance_id = %s order by event_sequence;

-- name: count_states
-- Locks nothing.
select state, count(*) from {schema}.flow_instance group by state order by state;

-- name: count_rest
-- Locks nothing.
select due.oldest, coalesce(now() - due.oldest, interval '0'), leases.live, leases.expired,
        (
            select count(*) from {schema}.flow_node n
            where exists (
                select from pg_locks l
                where l.locktype = 'advisory' and l.objsubid = 1 and l.granted and l.pid = n.backend_pid
                    and (l.classid::bigint << 32 | l.objid::bigint) = n.lock_key)), events.pending,
        coalesce(now() - events.oldest, interval '0'), events.poisoned
    from (
        select min(wake_at) as oldest from {schema}.flow_instance where state = 'Suspended' and wake_at <= now()) due,
    (
        select count(*) filter (where expires_at > now()) as live, count(*) filter (where expires_at <= now()) as expired
        from {schema}.flow_lease) leases,
    (
        select count(*) filter (where set_aside_at is null) as pending,
            min(staged_at) filter (where set_aside_at is null) as oldest,
            count(*) filter (where set_aside_at is not null and dropped_at is null) as poisoned
        from {schema}.outbox_event where published_at is null) events;
