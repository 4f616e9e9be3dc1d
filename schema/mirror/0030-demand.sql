-- The price of a call follows from the demand at several prices and from what may be spent now, so the demand is kept.
ALTER TABLE budget DROP COLUMN price;
ALTER TABLE budget RENAME COLUMN priced_at TO surveyed_at;
ALTER TABLE budget ADD COLUMN demand TEXT; -- JSON of domain/schedule/price.ts; NULL: not surveyed yet
UPDATE budget SET surveyed_at = NULL;
