-- The same tables as in SQLite, with the same meaning.
SELECT set_config('search_path', current_setting('search_path') || ', ' || quote_ident(n.nspname), true)
FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'vector';
CREATE TABLE concept (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, owner bigint NOT NULL, name text COLLATE "C" NOT NULL,
    memories bigint NOT NULL, model text, vector vector
);
CREATE UNIQUE INDEX concept_name ON concept (owner, name);
CREATE TABLE mention (
    key bigint, concept bigint, weight double precision NOT NULL, PRIMARY KEY (key, concept)
);
CREATE INDEX mention_concept ON mention (concept, key);
CREATE TABLE mention_done (key bigint PRIMARY KEY);

DO $$
DECLARE
    name text;
    own text := '(SELECT nullif(current_setting(''nagori.owner'', true), '''')::bigint)';
BEGIN
    FOREACH name IN ARRAY ARRAY['concept', 'mention', 'mention_done'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY', name);
        EXECUTE format('CREATE POLICY own_rows ON %I USING (%s)', name, CASE
            WHEN name = 'concept' THEN 'owner = ' || own
            ELSE 'key >> 40 = ' || own END);
    END LOOP;
    IF EXISTS (SELECT 1 FROM pg_roles WHERE rolname = 'nagori_node') THEN
        GRANT SELECT, INSERT, UPDATE, DELETE ON concept, mention, mention_done TO nagori_node;
    END IF;
END $$;
