-- Oldest safe version: 0.1.0
-- What the latest answer about a record takes away of what is shown, and what becomes of answers that do so together.
ALTER TABLE _record ADD COLUMN shows INTEGER;   -- 1: its last stored answer showed something that can be taken away; NULL: read before this was noted
-- The last answer that claims what is held, beside what the row shows: it is stale, and its time to expire begins again; NULL: it is not held.
ALTER TABLE _availability_span ADD COLUMN held_at INTEGER;
ALTER TABLE _product_text ADD COLUMN held_at INTEGER;
ALTER TABLE _product_price ADD COLUMN held_at INTEGER;
ALTER TABLE _variant ADD COLUMN held_at INTEGER;
ALTER TABLE _checkout_information_read ADD COLUMN held_at INTEGER;
CREATE TABLE _claim (
  subject TEXT NOT NULL,            -- what is counted and held apart: near-dates, far-dates, variants …
  resource TEXT NOT NULL,
  product_id INTEGER NOT NULL,
  edition TEXT NOT NULL,
  part INTEGER NOT NULL,
  shown INTEGER,                    -- how much was shown before, or the lowest price, in minor units
  said INTEGER,                     -- the same by the latest answer
  first_at INTEGER NOT NULL,        -- when the first answer was sent that said so, and the last one
  last_at INTEGER NOT NULL,
  held_at INTEGER,                  -- when it was held, and since when it counts no more where it was applied all the same; NULL: neither
  applied_at INTEGER,               -- when the mirror took it over; NULL: it shows what it had
  PRIMARY KEY (subject, resource, product_id, edition, part)
) STRICT, WITHOUT ROWID;
CREATE INDEX _claim_product ON _claim (product_id);
-- Claims of one subject that are held, because too many records make them.
CREATE TABLE _held (
  subject TEXT PRIMARY KEY,
  opened_at INTEGER NOT NULL,
  state TEXT NOT NULL,              -- held, asking, taken-back, reported, ended
  next_at INTEGER NOT NULL,         -- when the sample under way is judged
  sampled_at INTEGER,               -- when it was drawn
  sample TEXT NOT NULL,             -- the records that it asks, as JSON
  shares TEXT NOT NULL,             -- of the last three samples: the share that still claimed it, as JSON
  decision TEXT,                    -- approved, rejected; NULL: no person has decided
  decided_until INTEGER,
  ended_at INTEGER
) STRICT, WITHOUT ROWID;
-- Products missing from the list are claims like any other.
ALTER TABLE _absence DROP COLUMN release;
ALTER TABLE _absence DROP COLUMN rejected;
DROP TABLE _hold;
DROP TABLE _field;
DELETE FROM _alarm WHERE kind = 'sale-contradicted';
