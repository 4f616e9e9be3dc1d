-- Oldest safe version: 0.1.0
-- The price of a call follows from the demand at several prices and from what may be spent now, so the demand is kept.
ALTER TABLE _budget DROP COLUMN price;
ALTER TABLE _budget RENAME COLUMN priced_at TO surveyed_at;
ALTER TABLE _budget ADD COLUMN demand TEXT; -- JSON of domain/schedule/price.ts; NULL: not surveyed yet
UPDATE _budget SET surveyed_at = NULL;
