-- The version that began a schedule. It names the instances of all occurrences, also those that later versions start:
-- where a clock is set back across a release, an occurrence that was fired is found fired. Null until a node that knows
-- the column saves the row: then it is the row's flow_version as that node found it.

alter table {schema}.flow_schedule add column first_version text;
