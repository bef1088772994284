-- Whoever delivers to an instance, cancels or reopens it goes on with it, if it may go on: claimed in the transaction
-- that says so, nobody can take it up in between.

-- Passes the refusal of what was to be written before on; null: it was written. Nothing of an instance that is held,
-- paused, ended, or parked at waits that nothing has met.
create function {schema}.claim_after(
    p_refusal text, p_instance uuid, p_owner text, p_ttl interval,
    out refusal text, out fencing_token bigint, out expires_at timestamptz, out history json)
language plpgsql as $$
begin
    refusal := p_refusal;
    if refusal is null and exists (
        select from {schema}.flow_instance i
        where i.instance_id = p_instance and (i.signalled or i.state <> 'Suspended'))
    then
        select c.fencing_token, c.expires_at, c.history into fencing_token, expires_at, history
            from {schema}.claim(p_instance, p_owner, p_ttl) c;
    end if;
end
$$;
