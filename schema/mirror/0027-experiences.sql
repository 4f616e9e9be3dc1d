-- Oldest safe version: 0.1.0
-- The languages that are mirrored, the primary one among them.
CREATE TABLE mirror_language (
  language TEXT PRIMARY KEY
) STRICT, WITHOUT ROWID;
INSERT INTO mirror_language
SELECT language FROM mirror WHERE language IS NOT NULL
UNION
SELECT substr(edition, 1, instr(edition, '/') - 1) FROM record WHERE resource = 'products' AND product_id = 0;

-- What the list of experiences says that pages show. The list is read again at once, because what is stored has been read without it.
ALTER TABLE experience ADD COLUMN tagline TEXT;
ALTER TABLE experience ADD COLUMN url TEXT;
ALTER TABLE experience ADD COLUMN address TEXT;
ALTER TABLE experience ADD COLUMN city_name TEXT;
ALTER TABLE experience ADD COLUMN country_name TEXT;
ALTER TABLE experience ADD COLUMN latitude REAL;
ALTER TABLE experience ADD COLUMN longitude REAL;
ALTER TABLE experience ADD COLUMN rating REAL;
ALTER TABLE experience ADD COLUMN rating_count INTEGER;
ALTER TABLE experience ADD COLUMN from_price INTEGER;
ALTER TABLE experience ADD COLUMN currency TEXT;    -- of from_price
UPDATE record SET due_at = 0 WHERE resource = 'experiences' AND due_at > 0;

-- Counts by city and country are read from here alone.
CREATE INDEX product_by_country ON product (country_id, city_id, sellable) WHERE withdrawn_at IS NULL;
