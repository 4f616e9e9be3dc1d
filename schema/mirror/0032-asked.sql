-- Oldest safe version: 0.1.0
-- How often shops have asked lately whether a product can be had: beside what they sold, it orders what is found.
ALTER TABLE _product ADD COLUMN asked REAL NOT NULL DEFAULT 0; -- checks before orders, each halved in thirty days
ALTER TABLE _product ADD COLUMN asked_at INTEGER;              -- when asked was last counted
