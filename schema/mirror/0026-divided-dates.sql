-- Oldest safe version: 0.1.0
-- Each date is divided at its times when it is stored, and not when it comes near: the index of what was still to be divided was
-- written at as many places as an answer has dates, and prices that change on the way through a day are few.
DROP INDEX bookable_whole;
INSERT OR IGNORE INTO unpriced SELECT DISTINCT product_id FROM bookable WHERE whole = 1;
ALTER TABLE bookable DROP COLUMN whole;
-- Elsewhere the same time is another instant.
DROP TRIGGER product_zone_changed;
CREATE TRIGGER product_zone_changed AFTER UPDATE OF timezone ON product WHEN new.timezone IS NOT old.timezone BEGIN
  INSERT OR IGNORE INTO unpriced VALUES (new.product_id);
END;
