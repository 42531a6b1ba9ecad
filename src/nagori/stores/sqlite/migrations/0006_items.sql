-- Rows of other programs, kept exactly as they were given. `namespace` joins its labels (stores/sql.py), `value`
-- is JSON, `ttl` is in microseconds like the times.
CREATE TABLE item (
    owner     INTEGER NOT NULL,
    id        TEXT NOT NULL,
    namespace TEXT NOT NULL,
    key       TEXT NOT NULL,
    value     TEXT NOT NULL,
    created   INTEGER NOT NULL,
    updated   INTEGER NOT NULL,
    ttl       INTEGER,
    expires   INTEGER,
    PRIMARY KEY (owner, id)
);
CREATE INDEX item_place ON item (owner, namespace, key);
CREATE INDEX item_expires ON item (owner, expires) WHERE expires IS NOT NULL;
