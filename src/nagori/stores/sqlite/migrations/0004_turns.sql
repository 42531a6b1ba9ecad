-- A position is the number of an event. The mark of that event and the identity of the journal show a journal
-- that was exchanged or cut; a store of 0.1 knows neither.
ALTER TABLE space DROP COLUMN segment;
ALTER TABLE space DROP COLUMN offset;
ALTER TABLE space ADD COLUMN mark INTEGER NOT NULL DEFAULT 0;
ALTER TABLE space ADD COLUMN journal TEXT NOT NULL DEFAULT '';
ALTER TABLE space ADD COLUMN erased INTEGER NOT NULL DEFAULT 0;  -- of the memories that ever were
ALTER TABLE log DROP COLUMN segment;
ALTER TABLE log DROP COLUMN offset;

-- What was said, as it was recorded. `idx` is its place in the session.
CREATE TABLE turn (
    space      INTEGER NOT NULL,
    seq        INTEGER NOT NULL,
    id         TEXT NOT NULL,
    session    TEXT NOT NULL,
    idx        INTEGER NOT NULL,
    role       TEXT NOT NULL,
    speaker    TEXT,
    at         INTEGER NOT NULL,
    project    TEXT,
    agent      TEXT,
    agent_role TEXT,
    host       TEXT,
    ref        TEXT,
    transcript TEXT,
    uri        TEXT,
    text       TEXT NOT NULL,
    processed  INTEGER NOT NULL,
    PRIMARY KEY (space, seq)
);
CREATE UNIQUE INDEX turn_id ON turn (space, id);
CREATE INDEX turn_session ON turn (space, session, seq);
CREATE INDEX turn_place ON turn (space, session, idx);
CREATE INDEX turn_pending ON turn (space, seq) WHERE NOT processed;

-- Which memories were formed from which turns.
CREATE TABLE origin (
    space  INTEGER NOT NULL,
    memory TEXT NOT NULL,
    turn   INTEGER NOT NULL,
    PRIMARY KEY (space, memory, turn)
) WITHOUT ROWID;
CREATE INDEX origin_turn ON origin (space, turn);

-- Named values that events left. `value` is JSON; `plain` is the value itself where it is a text, because the
-- quotes and escapes of JSON sort differently.
CREATE TABLE state (
    space INTEGER NOT NULL,
    key   TEXT NOT NULL,
    value TEXT NOT NULL,
    plain TEXT,
    PRIMARY KEY (space, key)
) WITHOUT ROWID;
CREATE INDEX state_plain ON state (key, plain) WHERE plain IS NOT NULL;

-- Who works alone, and until when (seconds since 1970). By name, not by number: a rebuild changes nothing here.
CREATE TABLE lease (
    tenant TEXT NOT NULL,
    user   TEXT NOT NULL,
    work   TEXT NOT NULL,
    holder TEXT NOT NULL,
    until  REAL NOT NULL,
    PRIMARY KEY (tenant, user, work)
) WITHOUT ROWID;
