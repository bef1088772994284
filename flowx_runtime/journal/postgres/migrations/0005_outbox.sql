-- Publishing: who has which instance's events at the moment, and when an event that failed is tried again.

alter table {schema}.outbox_event
    add column next_attempt_at timestamptz not null default now(),
    -- Of the attempts, those that failed because of the event itself.
    add column refusals integer not null default 0 check (refusals >= 0),
    -- Somebody gave up an event that was set aside.
    add column dropped_at timestamptz;

create index outbox_event_due on {schema}.outbox_event (next_attempt_at)
    where published_at is null and set_aside_at is null;
create index outbox_event_in_order on {schema}.outbox_event (instance_id, event_sequence)
    where published_at is null and set_aside_at is null;
create index outbox_event_poisoned on {schema}.outbox_event (set_aside_at)
    where published_at is null and set_aside_at is not null and dropped_at is null;
drop index {schema}.outbox_event_pending;

-- No foreign key, as for leases: claims churn. One that outlives its instance is overwritten or expires.
create table {schema}.outbox_claim (
    instance_id uuid        primary key,
    claim_id    uuid        not null,
    owner       text        not null,
    expires_at  timestamptz not null
);

-- Candidates are the instances whose first pending event is due; that event's row is locked while the claim is made.
-- SKIP LOCKED: what another node is claiming is not waited for. A row that was written since the snapshot is judged
-- again as it is now, so an event that was published meanwhile opens no claim.
-- The planner settings, and the `order by` in what is only counted: go through the due events in order, with one look
-- into the index of an instance's pending events for each, also while nothing is known of how many there are.
create function {schema}.claim_events(
    p_claim uuid, p_owner text, p_ttl interval, p_limit integer, p_per_instance integer)
returns table (claimed_at timestamptz, instance_id uuid, event_id uuid, event_sequence bigint, type text, version text,
    partition_key text, payload text, staged_at timestamptz, flow_id text, correlation_id text, attempts integer,
    refusals integer)
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off
set enable_hashjoin = off set enable_mergejoin = off
as $$
#variable_conflict use_column
declare
    now_is timestamptz := clock_timestamp();
    chosen uuid[];
begin
    claimed_at := now_is;
    return next;
    select array_agg(c.instance_id) into chosen from (
        select e.instance_id from {schema}.outbox_event e
        where e.published_at is null and e.set_aside_at is null and e.next_attempt_at <= now_is
            and e.event_sequence = (
                select b.event_sequence from {schema}.outbox_event b
                where b.instance_id = e.instance_id and b.published_at is null and b.set_aside_at is null
                order by b.event_sequence limit 1)
            and not exists (
                select from {schema}.outbox_claim c where c.instance_id = e.instance_id and c.expires_at > now_is)
        order by e.next_attempt_at limit p_limit
        for update of e skip locked) c;
    if chosen is null then
        return;
    end if;
    select array_agg(x.instance_id) into chosen from (
        select h.instance_id, sum(n.pending) over (order by h.place) - n.pending as before_it
        from unnest(chosen) with ordinality as h(instance_id, place)
        cross join lateral (
            select count(*) as pending from (
                select from {schema}.outbox_event e
                where e.instance_id = h.instance_id and e.published_at is null and e.set_aside_at is null
                order by e.event_sequence limit p_per_instance) few) n) x
    where x.before_it < p_limit;
    with won as (
        insert into {schema}.outbox_claim as c (instance_id, claim_id, owner, expires_at)
        select h.instance_id, p_claim, p_owner, now_is + p_ttl from unnest(chosen) as h(instance_id)
        on conflict (instance_id) do update
            set claim_id = excluded.claim_id, owner = excluded.owner, expires_at = excluded.expires_at
            where c.expires_at <= now_is
        returning c.instance_id)
    select array_agg(won.instance_id) into chosen from won;
    -- A statement of its own: it sees what the last claim's owner settled before this one began.
    return query
    select now_is, e.instance_id, e.event_id, e.event_sequence, e.type, e.version, e.partition_key, e.payload::text,
        e.staged_at, i.flow_id, i.correlation_id, e.attempts, e.refusals
    from unnest(chosen) with ordinality as h(instance_id, place)
    join {schema}.flow_instance i on i.instance_id = h.instance_id
    cross join lateral (
        select * from {schema}.outbox_event p
        where p.instance_id = h.instance_id and p.published_at is null and p.set_aside_at is null
        order by p.event_sequence limit p_per_instance) e
    order by h.place, e.event_sequence;
end
$$;

create function {schema}.settle_events(
    p_instances uuid[], p_events uuid[], p_failed json, p_released uuid[], p_claims uuid[]) returns void
language plpgsql
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
declare
    now_is timestamptz := clock_timestamp();
begin
    update {schema}.outbox_event e set published_at = now_is
    from unnest(p_instances, p_events) as x(instance_id, event_id)
    where e.instance_id = x.instance_id and e.event_id = x.event_id and e.published_at is null;
    update {schema}.outbox_event e set
        attempts = e.attempts + 1,
        refusals = e.refusals + f.is_refusal::integer,
        last_error = f.error,
        next_attempt_at = now_is + make_interval(secs => f.retry_in),
        set_aside_at = case when f.is_poison then now_is end
    from json_to_recordset(p_failed) as f(
        claim_id uuid, instance_id uuid, event_id uuid, error text, retry_in double precision, is_refusal boolean,
        is_poison boolean)
    where e.instance_id = f.instance_id and e.event_id = f.event_id
        -- Written so that only the primary key can find it.
        and coalesce(e.published_at, e.set_aside_at) is null
        and exists (
            select from {schema}.outbox_claim c where c.instance_id = f.instance_id and c.claim_id = f.claim_id);
    delete from {schema}.outbox_claim c using unnest(p_released, p_claims) as x(instance_id, claim_id)
    where c.instance_id = x.instance_id and c.claim_id = x.claim_id;
end
$$;

-- As before, except that an event that was dropped keeps nobody.
create or replace function {schema}.prune(p_older_than timestamptz, p_states text[], p_limit integer,
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
                where e.instance_id = i.instance_id and e.published_at is null and e.dropped_at is null)
            and not exists (
                select from {schema}.flow_instance parent
                where parent.instance_id = i.parent_instance_id and not {schema}.is_terminal(parent.state))
        order by i.created_at limit p_limit
        for update of i skip locked) c;
    select count(*) into steps from {schema}.flow_step where instance_id = any (chosen);
    select count(*) into events from {schema}.outbox_event where instance_id = any (chosen);
    select count(*) into deliveries from {schema}.flow_inbox where instance_id = any (chosen);
    delete from {schema}.flow_lease where instance_id = any (chosen);
    delete from {schema}.outbox_claim where instance_id = any (chosen);
    delete from {schema}.flow_instance where instance_id = any (chosen);
    get diagnostics instances = row_count;
end
$$;
