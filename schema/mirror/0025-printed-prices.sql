-- Oldest safe version: 0.1.0
-- The price that a shop may print: what an adult pays, of a date and of a product (src/domain/catalogue/printed-price.ts).

ALTER TABLE variant ADD COLUMN variant_type TEXT;   -- as the view shows it: the variants read decides, availability fills in
UPDATE variant SET variant_type = COALESCE(
  CASE WHEN json_type(variants_document, '$.variant_type') = 'text' THEN json_extract(variants_document, '$.variant_type') END,
  CASE WHEN json_type(availability_document, '$.variant_type') = 'text' THEN json_extract(availability_document, '$.variant_type') END);

ALTER TABLE day ADD COLUMN lowest_adult_price INTEGER;
ALTER TABLE day ADD COLUMN price_variant_type TEXT;
ALTER TABLE bookable ADD COLUMN lowest_adult_price INTEGER;
ALTER TABLE bookable ADD COLUMN price_variant_type TEXT;

-- What is printed of a product from the row before on: one look-up, whenever it is asked, also while the daemon is dead.
CREATE TABLE printed_price (
  product_id INTEGER NOT NULL,
  currency TEXT NOT NULL,
  until_at INTEGER NOT NULL,        -- excluded
  lowest_price INTEGER,
  lowest_adult_price INTEGER,
  price_variant_type TEXT,
  PRIMARY KEY (product_id, currency, until_at)
) STRICT, WITHOUT ROWID;

-- Products whose stored dates are still to be priced.
CREATE TABLE unpriced (product_id INTEGER PRIMARY KEY) STRICT;
INSERT INTO unpriced SELECT DISTINCT product_id FROM day;

-- A search for a date goes by the price that it prints.
DROP INDEX bookable_by_price;
CREATE INDEX bookable_by_price ON bookable
  (currency, date, lowest_adult_price, product_id, lowest_price, price_variant_type, max_tickets, from_at, until_at);
