-- Whose memories, and how far their journal has been applied.
CREATE TABLE space (
    id       INTEGER PRIMARY KEY,
    tenant   TEXT NOT NULL,
    user     TEXT NOT NULL,
    segment  INTEGER NOT NULL DEFAULT 0,
    offset   INTEGER NOT NULL DEFAULT 0,
    seq      INTEGER NOT NULL DEFAULT 0,
    next     INTEGER NOT NULL DEFAULT 1,
    tokens   INTEGER NOT NULL DEFAULT 0,  -- of all its memories together
    UNIQUE (tenant, user)
);

-- One row a memory. `key` = space.id << 40 | number: all rows of a space are one range of keys, in every
-- table that carries the key, so "only this space" is a range scan and never a filter.
-- Times are microseconds since 1970, UTC.
CREATE TABLE memory (
    key             INTEGER PRIMARY KEY,
    space           INTEGER NOT NULL,
    id              TEXT NOT NULL,
    version         INTEGER NOT NULL,
    kind            TEXT NOT NULL,
    category        TEXT,
    level           INTEGER NOT NULL,
    created         INTEGER NOT NULL,
    anchor          INTEGER NOT NULL,
    intensity       REAL NOT NULL,
    coefficient     REAL NOT NULL,
    recalls         INTEGER NOT NULL,
    mentions        INTEGER NOT NULL,
    protected       INTEGER NOT NULL,
    recalled_at     INTEGER,
    strengthened_at INTEGER,
    archived_at     INTEGER,
    keep_until      INTEGER,
    revival_at      INTEGER,
    forgotten_at    INTEGER,
    superseded_by   TEXT,
    project         TEXT,
    agent           TEXT,
    role            TEXT,
    privacy         TEXT NOT NULL,
    session         TEXT,
    turn            INTEGER,
    speaker         TEXT,
    trust           TEXT NOT NULL,
    tokens          INTEGER NOT NULL,  -- length in words of the index
    chars           INTEGER NOT NULL,
    asks            INTEGER NOT NULL,  -- it ends in a question
    digest          BLOB NOT NULL,
    rest            TEXT NOT NULL   -- JSON of what is never searched for
);
CREATE UNIQUE INDEX memory_id ON memory (space, id);
CREATE INDEX memory_created ON memory (space, created, id);
CREATE INDEX memory_session ON memory (space, session) WHERE session IS NOT NULL;
CREATE INDEX memory_protected ON memory (space) WHERE protected;

-- What is left of a memory at each level it has reached.
CREATE TABLE text (
    key     INTEGER NOT NULL,
    level   INTEGER NOT NULL,
    trigger TEXT NOT NULL,
    content TEXT NOT NULL,
    PRIMARY KEY (key, level)
) WITHOUT ROWID;

CREATE TABLE relation (
    space  INTEGER NOT NULL,
    source TEXT NOT NULL,
    target TEXT NOT NULL,
    type   TEXT NOT NULL,
    PRIMARY KEY (space, source, target, type)
) WITHOUT ROWID;
CREATE INDEX relation_target ON relation (space, target);

-- The life-cycle log: which event touched which memory, and where the journal tells it.
CREATE TABLE log (
    space   INTEGER NOT NULL,
    seq     INTEGER NOT NULL,
    at      INTEGER NOT NULL,
    type    TEXT NOT NULL,
    memory  TEXT NOT NULL,
    segment INTEGER NOT NULL,
    offset  INTEGER NOT NULL,
    PRIMARY KEY (space, memory, seq)
) WITHOUT ROWID;
CREATE INDEX log_seq ON log (space, seq);

-- Words: a contentless index over tokens made by core.text; the row's own text is the content.
CREATE VIRTUAL TABLE words USING fts5 (
    tokens, content = '', tokenize = "unicode61 remove_diacritics 0 categories 'L* M* N* Co Cn' tokenchars '_'"
);
INSERT INTO words (words, rank) VALUES ('secure-delete', 1);
CREATE VIRTUAL TABLE word_places USING fts5vocab (words, instance);

-- Vector models. The vectors of model N stand in vector_N; once there are many, bits_N holds one bit a
-- dimension (above or below `center`) to make a shortlist from.
CREATE TABLE model (
    id        INTEGER PRIMARY KEY,
    name      TEXT NOT NULL UNIQUE,
    dimension INTEGER NOT NULL,
    vectors   INTEGER NOT NULL DEFAULT 0,
    center    BLOB
);
