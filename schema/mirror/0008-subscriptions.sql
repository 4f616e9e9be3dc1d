-- Oldest safe version: 0.1.0
-- Subscriptions to change notifications, as the service is known to have them: no address, token or secret is here.
CREATE TABLE subscription (
  subscription_id TEXT PRIMARY KEY,
  declared_id TEXT,                 -- the declaration it is (a part of); NULL: nobody declares it any more
  type TEXT NOT NULL,               -- as declared: product_ids, experience_ids or products_i_sell
  held_type TEXT,                   -- as the service has it; NULL: not known
  status TEXT,                      -- the service's word; ours: accepted (it said none), missing; NULL: never asked
  status_at INTEGER,                -- since when it is that
  change_types TEXT,                -- JSON array; NULL: not known
  entity_ids TEXT,                  -- JSON array; NULL: not known, or products_i_sell
  address TEXT CHECK (address IN ('ours', 'moved', 'foreign')),  -- whose address it calls; NULL: not known
  epoch INTEGER,                    -- of our address
  differences TEXT NOT NULL DEFAULT '[]',  -- JSON array of words: the last comparison with what is declared
  checked_at INTEGER,               -- when it was last read or put
  read_failures INTEGER NOT NULL DEFAULT 0,  -- reads in a row that brought nothing
  read_not_before INTEGER,          -- no read before this instant
  put_at INTEGER,                   -- when a PUT was last accepted
  put_hash TEXT,                    -- of what was put
  wrested_at INTEGER,               -- when a PUT was last sent against an address that is not ours
  tried_at INTEGER,                 -- the last PUT or reactivation, whatever came of it
  failures INTEGER NOT NULL DEFAULT 0,  -- attempts in a row after which it did not work
  failure TEXT,                     -- of the last one: refused or failed, code and words
  not_before INTEGER,               -- no attempt before this instant
  last_delivery_at INTEGER,
  announced REAL NOT NULL DEFAULT 0,        -- of the changes that reads found and it should have announced, those it did: the newest count most
  announceable REAL NOT NULL DEFAULT 0,
  trusted INTEGER NOT NULL DEFAULT 1 CHECK (trusted IN (0, 1))  -- whether what it covers is read less often
) STRICT;

-- The mirrored products that it covers; none for products_i_sell, whose list only the service knows.
CREATE TABLE subscription_product (
  subscription_id TEXT NOT NULL REFERENCES subscription,
  product_id INTEGER NOT NULL,
  PRIMARY KEY (subscription_id, product_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX subscription_product_by_product ON subscription_product (product_id, subscription_id);

CREATE VIEW subscriptions AS
SELECT s.subscription_id, s.type, s.status,
  CASE WHEN s.type <> 'products_i_sell'
    THEN (SELECT count(*) FROM subscription_product c WHERE c.subscription_id = s.subscription_id) END AS covered_products,
  s.last_delivery_at,
  CASE WHEN s.announceable > 0 THEN CAST(s.announced AS REAL) / s.announceable END AS trust
FROM subscription s
WHERE s.declared_id IS NOT NULL;
