-- Oldest safe version: 0.1.0
-- How much of what shoppers see is untrue: what random reads found, in periods of six hours.
CREATE TABLE _audit (
  from_at INTEGER NOT NULL,         -- when the period began
  tier TEXT NOT NULL CHECK (tier IN ('all', 'near', 'middle', 'far')), -- all: of any of its dates
  audited INTEGER NOT NULL,         -- reads that showed whether what the mirror had was true
  untrue INTEGER NOT NULL,          -- of them, those that found something else
  PRIMARY KEY (from_at, tier)
) STRICT, WITHOUT ROWID;
