-- Which state of which mirror stands here: one row.
CREATE TABLE IF NOT EXISTS _published (
  published_id int PRIMARY KEY DEFAULT 1 CHECK (published_id = 1),
  origin text NOT NULL,             -- what the states belong to: another one, and followers begin anew
  state bigint NOT NULL,            -- raised with every publication
  floor bigint NOT NULL,            -- what was changed up to it is forgotten
  pair_id text NOT NULL,            -- of the mirror and its inbox
  schema_version bigint NOT NULL,   -- of the mirror's tables
  contract_version bigint NOT NULL, -- of its views
  source_origin text NOT NULL,      -- the mirror's own numbers of rows …
  source_number bigint NOT NULL,    -- … and how far they were
  published_at bigint NOT NULL,     -- by the daemon's clock
  application_id bigint NOT NULL    -- of the mirror's file: tables of development versions lack it
);

-- Former origins, and the last state of each. Whoever begins to publish begins another one: states that a database lost with
-- its last commits are of none, whatever number comes after them.
CREATE TABLE IF NOT EXISTS _origin (
  origin text PRIMARY KEY,
  until bigint NOT NULL
);

-- The keys that a state changed, for followers; the rows themselves say nothing of it. Only added to, and forgotten from below.
CREATE TABLE IF NOT EXISTS _row (
  row_id bigint GENERATED ALWAYS AS IDENTITY,
  state bigint NOT NULL,
  source text COLLATE "C" NOT NULL, -- the table
  keys jsonb NOT NULL,              -- array of keys, each an array of the primary key's values; where no row has one it is gone
  n bigint NOT NULL,                -- how many they are
  at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (state, row_id)
);

-- Hashes of the SQL of this schema's views and functions. A later version replaces what differs.
CREATE TABLE IF NOT EXISTS _made (
  name text COLLATE "C" PRIMARY KEY,
  kind text NOT NULL CHECK (kind IN ('table', 'view', 'functions')),
  hash text NOT NULL                -- of its text; of a table's the empty one
);
