-- Oldest safe version: 1.0.0
-- Tables of inbox.db, the daemon's own durable file: never shared with a storefront.

CREATE TABLE inbox (
  inbox_id INTEGER PRIMARY KEY CHECK (inbox_id = 1),
  pair_id TEXT NOT NULL,            -- shared with mirror.db
  stopped_at INTEGER,               -- the last clean stop; NULL while running, so a crash is noticed
  -- Counted for ever. As many were received as the last number given out, less the numbers that were skipped.
  applied INTEGER NOT NULL DEFAULT 0,
  superseded INTEGER NOT NULL DEFAULT 0,
  quarantined INTEGER NOT NULL DEFAULT 0,
  skipped_numbers INTEGER NOT NULL DEFAULT 0,
  heartbeat_at INTEGER,             -- the last instant at which a delivery could have been received
  master_fingerprint TEXT,          -- tells that the master secret has changed; not the secret
  stored_bytes INTEGER NOT NULL DEFAULT 0,  -- of bodies as they are stored, and 512 for each row
  bodies_gone INTEGER NOT NULL DEFAULT 0,  -- ever: to stay within the budget
  -- Of the mirror beside it: 'none' not made yet; 'any' repaired, any mirror is paired; 'known' the one of this pair id, and
  -- none or an empty one is a loss.
  mirror_state TEXT NOT NULL DEFAULT 'known' CHECK (mirror_state IN ('none', 'any', 'known')),
  mirror_inode TEXT,                -- of the mirror that was opened last
  -- No change number above it was ever given out: a mirror that is filled again or older goes on above it.
  feed_ceiling INTEGER NOT NULL DEFAULT 0,
  feed_newest INTEGER NOT NULL DEFAULT 0,  -- numbers up to it were given out
  watched_since INTEGER             -- since when conditions are watched: no period covers an earlier time
) STRICT;

-- Notifications as they came: bytes, stored before they are answered. Nothing here has been believed yet.
CREATE TABLE delivery (
  delivery_id INTEGER PRIMARY KEY AUTOINCREMENT,  -- never used again: the mirror remembers the last one it applied
  received_at INTEGER NOT NULL,
  subscription_id TEXT NOT NULL,    -- whose callback address was called
  epoch INTEGER NOT NULL,
  peer TEXT NOT NULL,               -- the caller, behind the proxies that are believed
  content_type TEXT,
  length INTEGER NOT NULL,          -- bytes that came; more than the body has where it is truncated
  truncated INTEGER NOT NULL CHECK (truncated IN (0, 1)),
  sha256 TEXT NOT NULL,             -- of the body as stored
  state TEXT NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'applied', 'superseded', 'quarantined')),
  reason TEXT,                      -- why it was settled so
  settled_at INTEGER,
  replay_of INTEGER,                -- the delivery that this one repeats because a person asked for it
  body BLOB NOT NULL,               -- last, so that lists do not read through it
  coding INTEGER CHECK (coding IN (0, 1)),  -- of the body: NULL as it came, 1 zstd, 0 gone, to stay within the budget
  CHECK ((state = 'waiting') = (settled_at IS NULL))
) STRICT;

CREATE INDEX delivery_waiting ON delivery (delivery_id) WHERE state = 'waiting';

CREATE INDEX delivery_settled ON delivery (settled_at) WHERE settled_at IS NOT NULL;

CREATE INDEX delivery_quarantined ON delivery (delivery_id, length(body)) WHERE state = 'quarantined';

-- The newest delivery of each subscription: stays when the delivery itself is gone.
CREATE TABLE last_delivery (
  subscription_id TEXT PRIMARY KEY,
  received_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Callback addresses: a token is made of the master secret, the subscription and the epoch, and only the latter are here.
CREATE TABLE callback_epoch (
  subscription_id TEXT NOT NULL,
  epoch INTEGER NOT NULL,
  begun_at INTEGER NOT NULL,        -- accepted from here on
  announced_at INTEGER,             -- when the service was told of it; NULL: still to be done
  until INTEGER,                    -- accepted before this instant; NULL: as long as no newer one was announced
  PRIMARY KEY (subscription_id, epoch)
) STRICT, WITHOUT ROWID;

-- In the order in which bodies go: what is in quarantine last.
CREATE INDEX delivery_spent ON delivery (state = 'quarantined', delivery_id) WHERE state <> 'waiting' AND coding IS NOT 0;

CREATE TRIGGER delivery_in AFTER INSERT ON delivery BEGIN
  UPDATE inbox SET stored_bytes = stored_bytes + length(NEW.body) + 512;
END;

CREATE TRIGGER delivery_out AFTER DELETE ON delivery BEGIN
  UPDATE inbox SET stored_bytes = stored_bytes - length(OLD.body) - 512;
END;

CREATE TRIGGER delivery_body_gone AFTER UPDATE OF body ON delivery BEGIN
  UPDATE inbox SET stored_bytes = stored_bytes + length(NEW.body) - length(OLD.body);
END;

-- The instant from which the time since boot counts: a later process of the same boot goes by it, whatever the wall clock shows.
CREATE TABLE machine_clock (
  clock_id INTEGER PRIMARY KEY CHECK (clock_id = 1),
  boot_id TEXT,                     -- names the boot; NULL: the machine has no names for them
  booted_at INTEGER NOT NULL,       -- the believed instant of the boot
  confirmed INTEGER NOT NULL CHECK (confirmed IN (0, 1)),  -- whether the service has agreed
  doubted_at INTEGER                -- when the clock was last in doubt; NULL: never
) STRICT;

-- Orders that storefronts told of under an id, so that each counts once. Hashes alone: nobody reads an order out of them.
CREATE TABLE told_order (
  order_number INTEGER PRIMARY KEY, -- mirror.db remembers the last one it counted: those above it were never counted
  id_sha256 TEXT NOT NULL UNIQUE,
  contents_sha256 TEXT NOT NULL,    -- of the id together with what was told: the same id with other contents is refused
  told_at INTEGER NOT NULL
) STRICT;

CREATE INDEX told_order_age ON told_order (told_at);

-- Periods in which a condition (src/domain/conditions/) was shown. They stand here to outlive a mirror that is repaired or filled
-- again.
CREATE TABLE condition_period (
  period_id INTEGER PRIMARY KEY,
  code TEXT NOT NULL,
  began_at INTEGER NOT NULL,        -- since when it held
  ended_at INTEGER,                 -- NULL: it still holds
  says TEXT NOT NULL,               -- what was wrong when it was shown first
  acknowledged_at INTEGER,
  acknowledged TEXT,                -- why a person has acknowledged it, until it ends
  CHECK ((acknowledged IS NULL) = (acknowledged_at IS NULL))
) STRICT;

CREATE UNIQUE INDEX condition_period_open ON condition_period (code) WHERE ended_at IS NULL;

CREATE INDEX condition_period_ended ON condition_period (ended_at) WHERE ended_at IS NOT NULL;

-- Searches without results, counted by day. Words alone, of nobody: words that could be a person's address or number are not
-- kept (src/domain/search/fruitless.ts).
CREATE TABLE fruitless_search (
  day INTEGER NOT NULL,             -- whole days since 1970, UTC
  words TEXT NOT NULL,
  searches INTEGER NOT NULL,
  PRIMARY KEY (day, words)
) STRICT, WITHOUT ROWID;
