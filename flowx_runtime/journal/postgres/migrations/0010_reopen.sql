-- An instance whose undo failed goes back once more: an operator has mended what was in its way.
-- The lease it leaves is over, so that a sweep finds the instance among the abandoned ones.

create function {schema}.reopen(p_instance uuid, p_by text, out refusal text)
language plpgsql as $$
declare
    i record;
    moment timestamptz := clock_timestamp();
begin
    select state, fence, next_sequence into i
        from {schema}.flow_instance where instance_id = p_instance for update;
    if not found then
        refusal := 'journal.unknown_instance';
    elsif not {schema}.is_terminal(i.state) then
        refusal := 'journal.not_needed';
    elsif i.state <> 'CompensationFailed' then
        refusal := 'journal.instance_terminal';
    else
        insert into {schema}.flow_step (
            instance_id, scope, step_id, attempt, sequence, name, capability_id, outcome, committed_at)
        select p_instance, 'reopened', 0, 1 + count(*), i.next_sequence, p_by, 'flow.reopened', 'Success', moment
            from {schema}.flow_step s where s.instance_id = p_instance and s.scope = 'reopened';
        update {schema}.flow_instance set
            state = 'Compensating', fence = i.fence + 1, next_sequence = i.next_sequence + 1, updated_at = moment
        where instance_id = p_instance;
        insert into {schema}.flow_lease values (p_instance, '', i.fence + 1, moment)
            on conflict (instance_id) do update set
                owner = excluded.owner, fencing_token = excluded.fencing_token, expires_at = excluded.expires_at;
    end if;
end
$$;
