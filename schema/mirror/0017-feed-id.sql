-- Oldest safe version: 0.1.0
-- Tells one run of the change feed from the next: a cursor belongs to the feed that it was taken from.
ALTER TABLE mirror ADD COLUMN feed_id TEXT;       -- given before anybody can read the file

DROP VIEW mirror_info;
CREATE VIEW mirror_info AS
SELECT contract_version, schema_version, written_by, feed_floor_seq, filled_at, feed_id
FROM mirror;
