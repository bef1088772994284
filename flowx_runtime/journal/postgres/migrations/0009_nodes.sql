-- The nodes that are there. Each holds a session advisory lock on a connection of its own: when its process dies, the
-- server drops the lock at once, and a peer frees its leases without waiting for them to run out. The fence keeps that
-- safe where the node turns out to be alive.

create table {schema}.flow_node (
    owner       text        primary key,
    -- Drawn anew for each session, so that a peer who tries it never stands in the way of a node that comes back.
    lock_key    bigint      not null,
    backend_pid integer     not null,
    joined_at   timestamptz not null,
    seen_at     timestamptz not null,
    -- A peer found the lock free. A node whose connection was cut has until the next look to come back.
    missed_at   timestamptz
);

create function {schema}.join_node(p_owner text, p_key bigint) returns boolean
language plpgsql as $$
begin
    if not pg_try_advisory_lock(p_key) then
        return false;
    end if;
    insert into {schema}.flow_node as n (owner, lock_key, backend_pid, joined_at, seen_at)
    values (p_owner, p_key, pg_backend_pid(), clock_timestamp(), clock_timestamp())
    on conflict (owner) do update set lock_key = excluded.lock_key, backend_pid = excluded.backend_pid,
        joined_at = excluded.joined_at, seen_at = excluded.seen_at, missed_at = null;
    return true;
end
$$;

-- Expired, and not deleted: abandoned work is found among the expired leases.
create function {schema}.free_leases(p_owner text) returns bigint
language sql as $$
    with held as (
        select instance_id from {schema}.flow_lease
        where owner = p_owner and expires_at > clock_timestamp() order by instance_id for update skip locked),
    freed as (
        update {schema}.flow_lease l set expires_at = clock_timestamp()
        from held where l.instance_id = held.instance_id returning 1)
    select count(*) from freed
$$;

-- Says whether this session is still the one that joined, how many leases were freed, and whether a node is missing
-- that may yet come back. A node that has not joined since the server started lost its lock with the server, not with
-- its process: its leases count until they run out.
create function {schema}.look_around(
    p_owner text, p_key bigint, p_grace interval, p_ttl interval,
    out is_here boolean, out freed bigint, out is_missing boolean)
language plpgsql as $$
declare
    n record;
    moment timestamptz := clock_timestamp();
begin
    freed := 0;
    is_missing := false;
    select true into is_here from {schema}.flow_node
        where owner = p_owner and lock_key = p_key and backend_pid = pg_backend_pid();
    is_here := coalesce(is_here, false);
    if not is_here then
        return;
    end if;
    update {schema}.flow_node set seen_at = moment where owner = p_owner and seen_at < moment - p_ttl / 3;
    for n in select owner, lock_key from {schema}.flow_node where owner <> p_owner order by owner loop
        if not pg_try_advisory_xact_lock(n.lock_key) then
            continue;
        end if;
        select * into n from {schema}.flow_node f
            where f.owner = n.owner and f.lock_key = n.lock_key for update skip locked;
        if not found then
            continue;
        end if;
        if n.missed_at is null then
            update {schema}.flow_node set missed_at = moment where owner = n.owner;
            is_missing := true;
        elsif moment - n.missed_at < p_grace then
            is_missing := true;
        elsif n.joined_at > pg_postmaster_start_time() or n.missed_at < moment - p_ttl then
            freed := freed + {schema}.free_leases(n.owner);
            delete from {schema}.flow_node where owner = n.owner;
        end if;
    end loop;
end
$$;

create function {schema}.leave_node(p_owner text, p_channel text, p_word text) returns bigint
language plpgsql as $$
declare
    freed bigint := {schema}.free_leases(p_owner);
begin
    delete from {schema}.flow_node where owner = p_owner;
    perform pg_notify(p_channel, p_word);
    return freed;
end
$$;
