-- The role that nodes work as when their login would bypass row-level security. Without the right to create
-- roles nothing is lost: an ordinary login is bound by the policies, even if it owns the tables.
DO $$ BEGIN
    CREATE ROLE nagori_node NOLOGIN;
EXCEPTION WHEN duplicate_object OR unique_violation OR insufficient_privilege THEN NULL;
END $$;

-- Owners (tenant and user), and the identity of each journal.
CREATE TABLE journal_owner (
    tenant   text COLLATE "C" NOT NULL,
    user_id  text COLLATE "C" NOT NULL,
    identity uuid NOT NULL DEFAULT gen_random_uuid(),
    PRIMARY KEY (tenant, user_id)
);

-- One row an event. The key is the fence: two writers never share a number. `line` is the line of the file
-- journal, checksum included; as text, because jsonb would change numbers and the order of keys.
CREATE TABLE journal (
    tenant  text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    seq     bigint NOT NULL,
    line    text NOT NULL,
    PRIMARY KEY (tenant, user_id, seq)
) PARTITION BY HASH (tenant, user_id);

-- Work to do for an owner: `asked` since the last claim, `claimed` and perhaps not finished, or due by time.
-- A worker holds a lease; `fence` grows with each, so that a worker that slept too long cannot finish for another.
CREATE TABLE work (
    tenant  text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    asked   boolean NOT NULL DEFAULT false,
    claimed boolean NOT NULL DEFAULT false,
    due     timestamptz NOT NULL DEFAULT now(),
    holder  text,
    until   timestamptz,
    fence   bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant, user_id)
);
CREATE INDEX work_waiting ON work (due) WHERE asked OR claimed;
CREATE INDEX work_due ON work (due);

-- Who works alone, and until when (seconds since 1970).
CREATE TABLE lease (
    tenant text COLLATE "C" NOT NULL,
    "user" text COLLATE "C" NOT NULL,
    work   text NOT NULL,
    holder text NOT NULL,
    until  double precision NOT NULL,
    PRIMARY KEY (tenant, "user", work)
);

-- Erased owners, by a digest of their name and a random salt; the name itself only until the erasure is finished.
CREATE TABLE erasure_salt (salt uuid NOT NULL DEFAULT gen_random_uuid());
INSERT INTO erasure_salt DEFAULT VALUES;
CREATE TABLE erased (
    digest   text PRIMARY KEY,
    reopened boolean NOT NULL DEFAULT false,
    tenant   text COLLATE "C",
    user_id  text COLLATE "C"
);

-- Vectors by the text they belong to, so that a text is embedded once and not once a node. Derived data.
CREATE TABLE node_vector (
    tenant  text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    model   text NOT NULL,
    digest  bytea NOT NULL,
    data    bytea NOT NULL,
    PRIMARY KEY (tenant, user_id, model, digest)
);

DO $$
DECLARE
    name text;
BEGIN
    FOR n IN 0..15 LOOP
        EXECUTE format('CREATE TABLE journal_%s PARTITION OF journal FOR VALUES WITH (MODULUS 16, REMAINDER %s)', n, n);
    END LOOP;
    FOREACH name IN ARRAY ARRAY['journal_owner', 'journal', 'work', 'lease', 'node_vector'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', name);
        EXECUTE format('CREATE POLICY own_tenant ON %I'
            ' USING (tenant = (SELECT current_setting(''nagori.tenant'', true)))', name);
    END LOOP;
    -- Partitions are reached through their parent alone, where the policy is.
    CREATE POLICY every_tenant ON journal_owner FOR SELECT
        USING ((SELECT current_setting('nagori.every_tenant', true)) = 'on');
    CREATE POLICY every_tenant ON work
        USING ((SELECT current_setting('nagori.every_tenant', true)) = 'on');
    ALTER TABLE erased ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
    CREATE POLICY names_of_own_tenant ON erased
        USING (tenant IS NULL OR tenant = (SELECT current_setting('nagori.tenant', true))
            OR (SELECT current_setting('nagori.every_tenant', true)) = 'on');
    IF EXISTS (SELECT 1 FROM pg_roles WHERE rolname = 'nagori_node') THEN
        GRANT SELECT ON erasure_salt TO nagori_node;
        GRANT USAGE ON SCHEMA {schema} TO nagori_node;
        GRANT SELECT, INSERT, UPDATE, DELETE
            ON journal_owner, journal, work, lease, node_vector, erased TO nagori_node;
    END IF;
END $$;
