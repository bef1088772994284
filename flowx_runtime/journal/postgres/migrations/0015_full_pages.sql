-- A page that is not full says that there is no more. What a peer has taken since this claim began to look is no reason
-- for one: those places are filled from what is left, which each pass sees anew. A claim that loses them again and again
-- ends all the same; the peers that win them are at work.

create or replace function {schema}.claim_due(
    p_now timestamptz, p_owner text, p_ttl interval, p_limit integer, p_flows text[], p_versions text[])
returns table (fencing_token bigint, expires_at timestamptz, history json)
language plpgsql set enable_seqscan = off as $$
#variable_conflict use_column
declare
    candidates uuid[];
    paused text[] := {schema}.paused();
    wanted integer := p_limit;
    given integer;
begin
    if '*' = any (paused) then
        return;
    end if;
    for pass in 1 .. 8 loop
        select array_agg(c.instance_id order by c.wake_at) into candidates from (
            select i.instance_id, i.wake_at from {schema}.flow_instance i
            where i.state = 'Suspended' and i.signalled
                and (p_flows is null or (i.flow_id, i.flow_version) in (select * from unnest(p_flows, p_versions)))
                and (paused is null or (i.flow_id <> all (paused) and i.instance_id::text <> all (paused)))
                and not exists (
                    select from {schema}.flow_lease l where l.instance_id = i.instance_id and l.expires_at > now())
            order by i.wake_at limit wanted
            for update of i skip locked) c;
        if coalesce(cardinality(candidates), 0) < wanted then
            select coalesce(candidates, '{{}}') || array_agg(c.instance_id) into candidates from (
                select i.instance_id from {schema}.flow_instance i
                where i.state = 'Suspended' and i.wake_at <= p_now and not i.signalled
                    and (p_flows is null or (i.flow_id, i.flow_version) in (select * from unnest(p_flows, p_versions)))
                    and (paused is null or (i.flow_id <> all (paused) and i.instance_id::text <> all (paused)))
                    and not exists (
                        select from {schema}.flow_lease l where l.instance_id = i.instance_id and l.expires_at > now())
                order by i.wake_at limit wanted - coalesce(cardinality(candidates), 0)
                for update of i skip locked) c;
        end if;
        return query select * from {schema}.acquire_with_history(candidates, p_owner, p_ttl);
        get diagnostics given = row_count;
        exit when coalesce(cardinality(candidates), 0) < wanted or given = wanted;
        wanted := wanted - given;
    end loop;
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
    wanted integer := p_limit;
    given integer;
begin
    if '*' = any (paused) then
        return;
    end if;
    for pass in 1 .. 8 loop
        select array_agg(c.instance_id) into candidates from (
            select i.instance_id from {schema}.flow_lease l
            join {schema}.flow_instance i using (instance_id)
            where l.expires_at <= now() and i.state in ('Pending', 'Running', 'Compensating')
                and (p_flows is null or (i.flow_id, i.flow_version) in (select * from unnest(p_flows, p_versions)))
                and (paused is null or (i.flow_id <> all (paused) and i.instance_id::text <> all (paused)))
            order by l.expires_at limit wanted
            for update of i skip locked) c;
        return query select * from {schema}.acquire_with_history(candidates, p_owner, p_ttl);
        get diagnostics given = row_count;
        exit when coalesce(cardinality(candidates), 0) < wanted or given = wanted;
        wanted := wanted - given;
    end loop;
end
$$;
