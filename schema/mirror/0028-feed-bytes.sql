-- Oldest safe version: 0.1.0
-- How large the feed is, without reading it: the bytes of a change and of all before it. Changes of older versions count 0.
ALTER TABLE change ADD COLUMN total_bytes INTEGER NOT NULL DEFAULT 0;
