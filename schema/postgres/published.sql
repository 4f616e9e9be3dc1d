-- Which state of which mirror stands here: one row.
CREATE TABLE IF NOT EXISTS _published (
  published_id int PRIMARY KEY DEFAULT 1 CHECK (published_id = 1),
  origin text NOT NULL,             -- what the states belong to: another one, and followers begin anew
  state bigint NOT NULL,            -- raised with every publication
  floor bigint NOT NULL,            -- what was deleted up to it is forgotten
  pair_id text NOT NULL,            -- of the mirror and its inbox
  schema_version bigint NOT NULL,   -- of the mirror's tables
  contract_version bigint NOT NULL, -- of its views
  source_origin text NOT NULL,      -- the mirror's own numbers of rows …
  source_number bigint NOT NULL,    -- … and how far they were
  published_at bigint NOT NULL,     -- by the daemon's clock
  application_id bigint NOT NULL    -- of the mirror's file: tables of development versions lack it
);

-- The keys of rows that are no more, for followers: kept for a week.
CREATE TABLE IF NOT EXISTS _gone (
  source text COLLATE "C" NOT NULL, -- the table
  key text COLLATE "C" NOT NULL,    -- JSON array of its primary key
  state bigint NOT NULL,
  at bigint NOT NULL,
  PRIMARY KEY (source, key)
);
CREATE INDEX IF NOT EXISTS _gone_state ON _gone (state);
