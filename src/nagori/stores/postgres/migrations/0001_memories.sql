CREATE EXTENSION IF NOT EXISTS vector SCHEMA public;
SELECT set_config('search_path', current_setting('search_path') || ', ' || quote_ident(n.nspname), true)
FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'vector';

-- The same tables as in SQLite, with the same meaning. Texts sort by code point everywhere, hence COLLATE "C".
CREATE TABLE owner (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant text COLLATE "C" NOT NULL, "user" text COLLATE "C" NOT NULL,
    seq bigint NOT NULL DEFAULT 0, mark bigint NOT NULL DEFAULT 0, journal text NOT NULL DEFAULT '',
    next bigint NOT NULL DEFAULT 1, tokens bigint NOT NULL DEFAULT 0, erased bigint NOT NULL DEFAULT 0,
    model text, UNIQUE (tenant, "user")
);

-- The hot columns of a memory. `key` = owner << 40 | number.
CREATE TABLE memory (
    key bigint PRIMARY KEY, owner bigint NOT NULL, id text COLLATE "C" NOT NULL, version bigint NOT NULL,
    kind text NOT NULL, category text, level smallint NOT NULL, created bigint NOT NULL, anchor bigint NOT NULL,
    intensity double precision NOT NULL, coefficient double precision NOT NULL, recalls bigint NOT NULL,
    mentions bigint NOT NULL, protected boolean NOT NULL, recalled_at bigint, reinforced_at bigint,
    archived_at bigint, keep_until bigint, revival_at bigint, forgotten_at bigint, superseded_by text,
    appraised_by text, project text, agent text, role text, privacy text NOT NULL, session text, turn bigint,
    speaker text, trust text NOT NULL, tokens integer NOT NULL, chars integer NOT NULL, asks boolean NOT NULL,
    digest bytea NOT NULL, rest text NOT NULL
);
CREATE UNIQUE INDEX memory_id ON memory (owner, id);
CREATE INDEX memory_created ON memory (owner, created, id);
CREATE INDEX memory_session ON memory (owner, session) WHERE session IS NOT NULL;
CREATE INDEX memory_protected ON memory (owner) WHERE protected;

CREATE TABLE text (
    key bigint, level smallint, trigger text NOT NULL, content text NOT NULL, PRIMARY KEY (key, level)
);
CREATE TABLE relation (
    owner bigint, source text COLLATE "C", target text COLLATE "C", type text COLLATE "C",
    PRIMARY KEY (owner, source, target, type)
);
CREATE INDEX relation_target ON relation (owner, target);
CREATE TABLE log (
    owner bigint, seq bigint, at bigint NOT NULL, type text NOT NULL, memory text COLLATE "C",
    PRIMARY KEY (owner, memory, seq)
);
CREATE INDEX log_seq ON log (owner, seq);
CREATE TABLE turn (
    owner bigint NOT NULL, seq bigint NOT NULL, id text NOT NULL, session text NOT NULL, idx bigint NOT NULL,
    role text NOT NULL, speaker text, at bigint NOT NULL, project text, agent text, agent_role text, host text,
    ref text, transcript text, uri text, text text NOT NULL, processed boolean NOT NULL,
    PRIMARY KEY (owner, seq)
);
CREATE UNIQUE INDEX turn_id ON turn (owner, id);
CREATE INDEX turn_session ON turn (owner, session, seq);
CREATE INDEX turn_place ON turn (owner, session, idx);
CREATE INDEX turn_pending ON turn (owner, seq) WHERE NOT processed;
CREATE TABLE origin (owner bigint, memory text COLLATE "C", turn bigint, PRIMARY KEY (owner, memory, turn));
CREATE INDEX origin_turn ON origin (owner, turn);
CREATE TABLE state (
    owner bigint, key text, value text NOT NULL, plain text COLLATE "C", PRIMARY KEY (owner, key)
);
CREATE INDEX state_plain ON state (key, plain) WHERE plain IS NOT NULL;
CREATE TABLE item (
    owner bigint, id text COLLATE "C", namespace text COLLATE "C" NOT NULL, key text COLLATE "C" NOT NULL,
    value text NOT NULL, created bigint NOT NULL, updated bigint NOT NULL, ttl bigint, expires bigint,
    PRIMARY KEY (owner, id)
);
CREATE INDEX item_place ON item (owner, namespace, key);
CREATE INDEX item_expires ON item (owner, expires) WHERE expires IS NOT NULL;

-- Words: in which memories a term (its hash) occurs, and how often.
CREATE TABLE posting (
    owner bigint, term bigint, key bigint, times integer NOT NULL, PRIMARY KEY (owner, term, key) INCLUDE (times)
) PARTITION BY HASH (owner);

-- Vectors, of any dimension: `h` in half precision and of length 1, to scan; `v` as it was given, to measure.
CREATE TABLE model (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text NOT NULL UNIQUE, dimension integer NOT NULL,
    center bytea
);
CREATE TABLE embedding (
    owner bigint NOT NULL, model integer NOT NULL, key bigint NOT NULL, digest bytea NOT NULL,
    h halfvec NOT NULL, v vector NOT NULL, PRIMARY KEY (owner, model, key)
) PARTITION BY HASH (owner);

-- A power that is 0 where it is too small, instead of an error.
CREATE FUNCTION fading_power(rate double precision, x double precision) RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
$$ SELECT CASE WHEN rate <= 0 THEN (x <= 0)::int WHEN x * ln(rate) < -600 THEN 0 ELSE power(rate, x) END $$;

DO $$
DECLARE
    name text;
    own text := '(SELECT nullif(current_setting(''nagori.owner'', true), '''')::bigint)';
    every text := '(SELECT current_setting(''nagori.every_tenant'', true)) = ''on''';
BEGIN
    FOREACH name IN ARRAY ARRAY['posting', 'embedding'] LOOP
        FOR n IN 0..15 LOOP
            EXECUTE format('CREATE TABLE %I PARTITION OF %I FOR VALUES WITH (MODULUS 16, REMAINDER %s)',
                name || '_' || n, name, n);
        END LOOP;
    END LOOP;
    ALTER TABLE embedding ALTER COLUMN h SET STORAGE MAIN; -- in the row, where it is scanned
    FOREACH name IN ARRAY ARRAY['owner', 'memory', 'relation', 'log', 'turn', 'origin', 'state',
                                'item', 'posting', 'embedding', 'text'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY', name);
        EXECUTE format('CREATE POLICY own_rows ON %I USING (%s)', name, CASE
            WHEN name = 'owner' THEN 'tenant = (SELECT current_setting(''nagori.tenant'', true))'
            WHEN name = 'text' THEN 'key >> 40 = ' || own
            ELSE 'owner = ' || own END);
    END LOOP;
    -- Across tenants only names and times can be seen: who is known, and whose work is due.
    EXECUTE 'CREATE POLICY every_tenant ON owner FOR SELECT USING (' || every || ')';
    EXECUTE 'CREATE POLICY every_tenant ON state FOR SELECT USING (length(plain) < 40 AND ' || every || ')';
    IF EXISTS (SELECT 1 FROM pg_roles WHERE rolname = 'nagori_node') THEN
        GRANT SELECT, INSERT, UPDATE, DELETE ON owner, memory, text, relation, log, turn, origin, state,
            item, posting, model, embedding TO nagori_node;
    END IF;
END $$;
