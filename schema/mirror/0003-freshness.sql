-- Oldest safe version: 0.1.0
-- What scheduling knows: lanes, what visits taught, why a read was made, and the price of a call.

ALTER TABLE record ADD COLUMN lane INTEGER NOT NULL DEFAULT 6;  -- domain/lanes.ts, 0 the most urgent; 6: fill
ALTER TABLE record ADD COLUMN fetched_reason TEXT;              -- why the last stored read was made
ALTER TABLE record ADD COLUMN shape REAL;                       -- what is believed of its change rate (volatility.ts)
ALTER TABLE record ADD COLUMN exposure REAL;                    -- milliseconds
DROP INDEX record_due;
CREATE INDEX record_due ON record (lane, due_at);

ALTER TABLE product ADD COLUMN category TEXT;                   -- the first one that matches; NULL: none
ALTER TABLE product ADD COLUMN sold REAL NOT NULL DEFAULT 0;    -- tickets of reported orders, each halved in thirty days
ALTER TABLE product ADD COLUMN sold_at INTEGER;                 -- when sold was last counted
CREATE INDEX product_category ON product (category) WHERE category IS NOT NULL;
CREATE INDEX product_images_verified ON product (images_verified_at) WHERE withdrawn_at IS NULL;

-- One row: what the limiter has learned, so that a restart forgets neither the rate nor a pause, and the price of a call.
CREATE TABLE budget (
  budget_id INTEGER PRIMARY KEY CHECK (budget_id = 1),
  state TEXT,                       -- JSON of domain/budget.ts
  price REAL,                       -- NULL: not known yet
  priced_at INTEGER,
  category_cadences TEXT            -- JSON: as configured when due instants were planned
) STRICT;
INSERT INTO budget (budget_id) VALUES (1);
