-- The model whose vectors a space is searched with. The vectors of another one are made beside them, and
-- this changes when they are complete.
ALTER TABLE space ADD COLUMN model TEXT;
UPDATE space SET model = (SELECT name FROM model WHERE vectors > 0 ORDER BY vectors DESC, id LIMIT 1);
