-- Oldest safe version: 0.1.0
-- Push is measured: what reads found and subscriptions should have announced, and when nothing could be received.

ALTER TABLE product ADD COLUMN covered INTEGER NOT NULL DEFAULT 0 CHECK (covered IN (0, 1));  -- by a working, trusted subscription

ALTER TABLE subscription_product ADD COLUMN since_at INTEGER;  -- since when it has been seen to cover it

-- The newest notification of each kind about a product.
CREATE TABLE notice (
  subscription_id TEXT NOT NULL,
  product_id INTEGER NOT NULL,
  change_type TEXT NOT NULL,
  received_at INTEGER NOT NULL,
  PRIMARY KEY (product_id, change_type, subscription_id)
) STRICT, WITHOUT ROWID;

-- A change that a read found and somebody should announce: judged once every notification of it has had its time.
CREATE TABLE expected_notice (
  product_id INTEGER NOT NULL,
  change_type TEXT NOT NULL,
  since_at INTEGER NOT NULL,        -- the last read that did not show it
  found_at INTEGER NOT NULL,
  PRIMARY KEY (product_id, change_type)
) STRICT, WITHOUT ROWID;

-- When notifications could not come: of all subscriptions, or of one. Healed when everything it covers was read since.
CREATE TABLE gap (
  gap_id INTEGER PRIMARY KEY,
  subscription_id TEXT,             -- NULL: nothing could be received
  from_at INTEGER NOT NULL,
  to_at INTEGER,                    -- NULL: it lasts
  healed_to INTEGER NOT NULL DEFAULT 0,  -- products up to this one were made due
  products INTEGER NOT NULL DEFAULT 0,   -- how many
  closed_at INTEGER
) STRICT;
CREATE INDEX gap_open ON gap (gap_id) WHERE closed_at IS NULL;
