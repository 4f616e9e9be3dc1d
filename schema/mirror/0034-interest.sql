-- Oldest safe version: 0.1.0
-- How much shoppers look at products, as shops tell it: sums of which nobody can be told from another. A table of their own,
-- because they are counted far more often than a product is read.
CREATE TABLE _interest (
  product_id INTEGER NOT NULL,
  part INTEGER NOT NULL,            -- the window of dates that was looked at; -1: no date was told
  views REAL NOT NULL,              -- seen, checked before an order, and ten for each ticket sold
  counted_at INTEGER NOT NULL,      -- as of when: halved in thirty days
  PRIMARY KEY (product_id, part)
) STRICT, WITHOUT ROWID;
INSERT INTO _interest SELECT product_id, -1, 10 * sold + asked, max(COALESCE(sold_at, 0), COALESCE(asked_at, 0))
FROM _product WHERE sold > 0 OR asked > 0;
-- The demand for extra calls was surveyed with other weights.
UPDATE _budget SET demand = NULL, surveyed_at = NULL;
