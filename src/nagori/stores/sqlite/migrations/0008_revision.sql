-- A random number that is drawn anew whenever something changes that the log does not tell memory by memory:
-- words of an existing memory, vectors made later, erased memories, a rebuild. A copy of an owner's index in
-- the memory of a process is valid for one number and position (`resident.py`).
ALTER TABLE owner ADD COLUMN revision INTEGER NOT NULL DEFAULT 0;
UPDATE owner SET revision = random();
