-- Oldest safe version: 0.1.0
-- The ledger of images (specification §1 rule 4). A row of `image` stays when its image goes, for as long as the change
-- feed reaches back. A complete read confirms every image that it returns at once, so while a row stands, that is verified
-- when its product says: product.images_verified_at. What ended stands in image_takedown with the read that ended it.

ALTER TABLE image ADD COLUMN withdrawn_at INTEGER;  -- when the complete read was sent that no longer returned it; NULL: it stands
ALTER TABLE image ADD COLUMN doubted_at INTEGER;    -- when its host said that it is gone: hidden until a read sent later returns it
CREATE INDEX image_withdrawn ON image (withdrawn_at) WHERE withdrawn_at IS NOT NULL;

CREATE TABLE image_credit (
  product_id INTEGER NOT NULL,
  image_key TEXT NOT NULL,
  at INTEGER NOT NULL,              -- when the read that found it was sent
  old TEXT,                         -- NULL: none was asked for
  new TEXT,
  PRIMARY KEY (product_id, image_key, at)
) STRICT, WITHOUT ROWID;
CREATE INDEX image_credit_at ON image_credit (at);

-- Each time that an image ceased to be shown because the service no longer returned it, or its product.
CREATE TABLE image_takedown (
  product_id INTEGER NOT NULL,
  image_key TEXT NOT NULL,
  withdrawn_at INTEGER NOT NULL,    -- when the first complete read without it was sent, or its product was withdrawn
  verified_at INTEGER,              -- when the last one that returned it was sent
  cause TEXT NOT NULL CHECK (cause IN ('image', 'product')),
  credit TEXT,
  returned_at INTEGER,              -- a later read returned it again
  PRIMARY KEY (product_id, image_key, withdrawn_at)
) STRICT, WITHOUT ROWID;
CREATE INDEX image_takedown_at ON image_takedown (withdrawn_at);

-- The size whose file the view shows, the first that is configured; NULL: no files are kept.
ALTER TABLE mirror ADD COLUMN image_size TEXT;

-- Fails closed: nothing is shown that no complete read has returned for 14 days, by the reader's own clock.
-- Rounded: cut off, now is a millisecond short at times, and that would be one too long.
DROP VIEW images;
CREATE VIEW images AS
SELECT i.product_id, i.position, i.image_key,
  json_extract(i.document, '$.small') AS small_url,
  json_extract(i.document, '$.medium') AS medium_url,
  json_extract(i.document, '$.large') AS large_url,
  json_extract(i.document, '$.extra_large') AS extra_large_url,
  json_extract(i.document, '$.alt_text') AS alt_text,
  i.credit,
  (SELECT f.file FROM image_file f, mirror m
    WHERE f.product_id = i.product_id AND f.image_key = i.image_key AND f.size = m.image_size) AS file,
  p.images_verified_at AS verified_at, p.images_verified_at + 1209600000 AS expires_at, i.document
FROM image i
JOIN product p ON p.product_id = i.product_id
WHERE p.withdrawn_at IS NULL
  AND i.withdrawn_at IS NULL
  AND (i.doubted_at IS NULL OR i.doubted_at < p.images_verified_at)
  AND CAST((julianday('now')-2440587.5)*86400000 + 0.5 AS INTEGER) >= p.images_verified_at - 86400000
  AND CAST((julianday('now')-2440587.5)*86400000 + 0.5 AS INTEGER) < p.images_verified_at + 1209600000;
