-- Whose judgement of feeling and kind a memory carries: a model's name, "user", or NULL for the rules'.
ALTER TABLE memory ADD COLUMN judged_by TEXT;
