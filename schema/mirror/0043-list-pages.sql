-- Oldest safe version: 0.1.0
-- The page of the list on which a product stood when it was last read. Where the service has no single-product read, that page
-- decides about a notification. NULL: read before it was noted.
ALTER TABLE _walk_row ADD COLUMN page INTEGER;
