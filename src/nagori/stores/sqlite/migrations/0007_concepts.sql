-- Concepts that memories mention, for association. `memories` counts the mentions; a concept without any is
-- deleted. `vector` is that of its name under `model`.
CREATE TABLE concept (
    id       INTEGER PRIMARY KEY,
    owner    INTEGER NOT NULL,
    name     TEXT NOT NULL,
    memories INTEGER NOT NULL,
    model    TEXT,
    vector   BLOB
);
CREATE UNIQUE INDEX concept_name ON concept (owner, name);
CREATE TABLE mention (
    key     INTEGER NOT NULL,
    concept INTEGER NOT NULL,
    weight  REAL NOT NULL,
    PRIMARY KEY (key, concept)
) WITHOUT ROWID;
CREATE INDEX mention_concept ON mention (concept, key);
-- Memories whose mentions are here. It is filled when association is first used.
CREATE TABLE mention_done (key INTEGER PRIMARY KEY);
