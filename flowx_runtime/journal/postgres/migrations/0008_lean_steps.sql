-- A step's row is only ever inserted under the lock of its instance's row, by a statement that has found it. Proving
-- that again with every row cost nearly as much as all else that a group of commits does. What belongs to an instance
-- still goes with it, whoever removes it.
alter table {schema}.flow_step drop constraint flow_step_instance_id_fkey;

create function {schema}.remove_steps() returns trigger
language plpgsql as $$
begin
    delete from {schema}.flow_step s using gone where s.instance_id = gone.instance_id;
    return null;
end
$$;

create trigger flow_instance_removes_steps after delete on {schema}.flow_instance
    referencing old table as gone for each statement execute function {schema}.remove_steps();
