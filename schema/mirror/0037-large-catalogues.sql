-- Oldest safe version: 0.1.0
-- After each pass of a first fill it is asked whether a record still waits for its first read.
CREATE INDEX _record_unread ON _record (failures) WHERE fetched_at IS NULL;

-- After a changed cadence the records are planned again, some products at a time: those up to this one are. NULL: all are.
ALTER TABLE _budget ADD COLUMN replanned_to INTEGER;
