-- Oldest safe version: 0.1.0
-- The product list shows some of the changes of dates: how many, and how often it is right, is learned from reads.
CREATE TABLE _signal (
  tier TEXT PRIMARY KEY,            -- near, far: the dates that it is about
  rightly REAL NOT NULL,            -- pseudo-counts of domain/schedule/signal.ts
  wrongly REAL NOT NULL,
  shown REAL NOT NULL,
  hidden REAL NOT NULL
) STRICT, WITHOUT ROWID;
-- The last two looks at the list between which a product's price or sale status differed.
ALTER TABLE _product ADD COLUMN signal_at INTEGER;
ALTER TABLE _product ADD COLUMN signal_before_at INTEGER;
