-- What is paused is given out by no claim. The table is empty where nothing is, and then each claim reads it once.

create table {schema}.flow_pause (
    -- The id of a flow or of an instance, or '*' for everything.
    target    text        primary key,
    reason    text        not null,
    paused_at timestamptz not null
);

-- Null where nothing is.
create function {schema}.paused() returns text[]
language sql stable as $$
    select array_agg(target) from {schema}.flow_pause
$$;

-- As before, and what is paused is refused before its lease is looked at: as one that is held, which is what a host of
-- the previous version knows, and with a detail for hosts of this one.
create or replace function {schema}.claim(
    p_instance uuid, p_owner text, p_ttl interval,
    out refusal text, out detail text, out fencing_token bigint, out expires_at timestamptz, out history json)
language plpgsql as $$
declare
    found_state text;
    found_flow text;
begin
    select state, flow_id into found_state, found_flow
        from {schema}.flow_instance where instance_id = p_instance for update;
    if not found then
        refusal := 'journal.unknown_instance';
        return;
    end if;
    if {schema}.is_terminal(found_state) then
        refusal := 'journal.instance_terminal';
        return;
    end if;
    if exists (select from {schema}.flow_pause p where p.target in ('*', found_flow, p_instance::text)) then
        refusal := 'lease.held';
        detail := 'flow.paused';
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

create or replace function {schema}.claim_due(
    p_now timestamptz, p_owner text, p_ttl interval, p_limit integer, p_flows text[], p_versions text[])
returns table (fencing_token bigint, expires_at timestamptz, history json)
language plpgsql set enable_seqscan = off as $$
#variable_conflict use_column
declare
    candidates uuid[];
    paused text[] := {schema}.paused();
begin
    if '*' = any (paused) then
        return;
    end if;
    select array_agg(c.instance_id order by c.wake_at) into candidates from (
        select i.instance_id, i.wake_at from {schema}.flow_instance i
        where i.state = 'Suspended' and i.signalled
            and (p_flows is null or (i.flow_id, i.flow_version) in (select * from unnest(p_flows, p_versions)))
            and (paused is null or (i.flow_id <> all (paused) and i.instance_id::text <> all (paused)))
            and not exists (
                select from {schema}.flow_lease l where l.instance_id = i.instance_id and l.expires_at > now())
        order by i.wake_at limit p_limit
        for update of i skip locked) c;
    if coalesce(cardinality(candidates), 0) < p_limit then
        select coalesce(candidates, '{{}}') || array_agg(c.instance_id) into candidates from (
            select i.instance_id from {schema}.flow_instance i
            where i.state = 'Suspended' and i.wake_at <= p_now and not i.signalled
                and (p_flows is null or (i.flow_id, i.flow_version) in (select * from unnest(p_flows, p_versions)))
                and (paused is null or (i.flow_id <> all (paused) and i.instance_id::text <> all (paused)))
                and not exists (
                    select from {schema}.flow_lease l where l.instance_id = i.instance_id and l.expires_at > now())
            order by i.wake_at limit p_limit - coalesce(cardinality(candidates), 0)
            for update of i skip locked) c;
    end if;
    return query select * from {schema}.acquire_with_history(candidates, p_owner, p_ttl);
end
$$;

create or replace function {schema}.claim_abandoned(
    p_owner text, p_ttl interval, p_limit integer, p_flows text[], p_versions text[])
returns table (fencing_token bigint, expires_at timestamptz, history json)
language plpgsql set enable_seqscan = off as $$
#variable_conflict use_column
declare
    candidates uuid[];
    paused text[] := {schema}.paused();
begin
    if '*' = any (paused) then
        return;
    end if;
    select array_agg(c.instance_id) into candidates from (
        select i.instance_id from {schema}.flow_lease l
        join {schema}.flow_instance i using (instance_id)
        where l.expires_at <= now() and i.state in ('Pending', 'Running', 'Compensating')
            and (p_flows is null or (i.flow_id, i.flow_version) in (select * from unnest(p_flows, p_versions)))
            and (paused is null or (i.flow_id <> all (paused) and i.instance_id::text <> all (paused)))
        order by l.expires_at limit p_limit
        for update of i skip locked) c;
    return query select * from {schema}.acquire_with_history(candidates, p_owner, p_ttl);
end
$$;
