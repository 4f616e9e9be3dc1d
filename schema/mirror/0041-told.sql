-- Oldest safe version: 0.1.0
-- Where several instances share a database: the newest change that readers may see. Another instance goes on from what is
-- published there, and would give out the numbers above it a second time. NULL: all may be seen.
ALTER TABLE _row_feed ADD COLUMN last_seq INTEGER;
