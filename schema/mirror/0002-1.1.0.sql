-- Oldest safe version: 1.1.0
-- Columns and tables that 1.1.0 adds. It may be edited until 1.1.0 is released; its checksum then joins those of
-- test/mirror/released-steps.test.ts, and what comes later is 0003.

-- Members of the product's documents that an update announced with another value, as JSON (domain/push/news.ts). NULL: none.
ALTER TABLE _notice ADD COLUMN awaits TEXT;

-- Deliveries since the last good one that nobody understood, at most three, and the first of them: three of one hour are a gap.
ALTER TABLE _subscription ADD COLUMN not_understood INTEGER NOT NULL DEFAULT 0;
ALTER TABLE _subscription ADD COLUMN not_understood_at INTEGER;
