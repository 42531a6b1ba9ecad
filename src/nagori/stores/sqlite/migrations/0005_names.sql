-- The names that the rest of the program uses: an owner (tenant and user), appraisal, reinforcement.
ALTER TABLE space RENAME TO owner;
ALTER TABLE memory RENAME COLUMN space TO owner;
ALTER TABLE memory RENAME COLUMN judged_by TO appraised_by;
ALTER TABLE memory RENAME COLUMN strengthened_at TO reinforced_at;
ALTER TABLE relation RENAME COLUMN space TO owner;
ALTER TABLE log RENAME COLUMN space TO owner;
ALTER TABLE turn RENAME COLUMN space TO owner;
ALTER TABLE origin RENAME COLUMN space TO owner;
ALTER TABLE state RENAME COLUMN space TO owner;
UPDATE log SET type = CASE type
    WHEN 'faded' THEN 'compressed'
    WHEN 'strengthened' THEN 'reinforced'
    WHEN 'judged' THEN 'appraised'
    WHEN 'mentioned' THEN 'repeated'
    ELSE 'revival_deferred'
END WHERE type IN ('faded', 'strengthened', 'judged', 'mentioned', 'postponed');
