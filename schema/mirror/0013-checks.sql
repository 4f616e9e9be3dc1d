-- Oldest safe version: 0.1.0
-- How often the mirror was wrong when somebody was about to order: counts by product, tier and day of the report. No
-- order stands here, nor what one was made of. Rows go with retention.changes.
CREATE TABLE check_count (
  product_id INTEGER NOT NULL,
  tier TEXT NOT NULL CHECK (tier IN ('near', 'middle', 'far')),
  day INTEGER NOT NULL,             -- whole days since 1970, UTC
  checks INTEGER NOT NULL,          -- that the service answered, of dates that the mirror had
  wrong INTEGER NOT NULL,           -- of them, those that found the mirror wrong
  orders INTEGER NOT NULL,          -- orders that tell whether the mirror was right
  orders_wrong INTEGER NOT NULL,
  tickets INTEGER NOT NULL,         -- of confirmed orders
  said_available INTEGER NOT NULL,  -- of all that were wrong: what was shown could not be had,
  said_sold_out INTEGER NOT NULL,   -- what could be had was not shown,
  said_price INTEGER NOT NULL,      -- it cost something else
  unknown INTEGER NOT NULL,         -- checks and orders of dates that the mirror did not have
  unanswered INTEGER NOT NULL,      -- checks that the service did not answer in time
  PRIMARY KEY (product_id, tier, day)
) STRICT, WITHOUT ROWID;
CREATE INDEX check_count_day ON check_count (day);

-- When a failed order said that a record has changed since its last read: its next read is not taught the same again.
ALTER TABLE record ADD COLUMN told_at INTEGER;

CREATE VIEW availability_error_rate AS
SELECT product_id, tier, sum(checks) AS checks, sum(wrong) AS wrong, sum(orders) AS orders, sum(orders_wrong) AS orders_wrong,
  CAST(sum(wrong) + sum(orders_wrong) AS REAL) / NULLIF(sum(checks) + sum(orders), 0) AS rate,
  sum(said_available) AS said_available, sum(said_sold_out) AS said_sold_out, sum(said_price) AS said_price,
  sum(tickets) AS tickets, sum(unknown) AS unknown, sum(unanswered) AS unanswered, min(day) * 86400000 AS since_at
FROM check_count
GROUP BY product_id, tier;
