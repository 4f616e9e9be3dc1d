-- Oldest safe version: 0.1.0
-- Notifications as they came: bytes, stored before they are answered. Nothing here has been believed yet.
CREATE TABLE delivery (
  delivery_id INTEGER PRIMARY KEY AUTOINCREMENT,  -- never used again: the mirror remembers the last one it applied
  received_at INTEGER NOT NULL,
  subscription_id TEXT NOT NULL,                  -- whose callback address was called
  epoch INTEGER NOT NULL,
  peer TEXT NOT NULL,                             -- the caller, behind the proxies that are believed
  content_type TEXT,
  length INTEGER NOT NULL,                        -- bytes that came; more than the body has where it is truncated
  truncated INTEGER NOT NULL CHECK (truncated IN (0, 1)),
  sha256 TEXT NOT NULL,                           -- of the body as stored
  state TEXT NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'applied', 'superseded', 'quarantined')),
  reason TEXT,                                    -- why it was settled so
  settled_at INTEGER,
  replay_of INTEGER,                              -- the delivery that this one repeats because a person asked for it
  body BLOB NOT NULL,                             -- last, so that lists do not read through it
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

-- Counted for ever. How many were received is the last number given out, less the numbers that were skipped.
ALTER TABLE inbox ADD COLUMN applied INTEGER NOT NULL DEFAULT 0;
ALTER TABLE inbox ADD COLUMN superseded INTEGER NOT NULL DEFAULT 0;
ALTER TABLE inbox ADD COLUMN quarantined INTEGER NOT NULL DEFAULT 0;
ALTER TABLE inbox ADD COLUMN skipped_numbers INTEGER NOT NULL DEFAULT 0;
ALTER TABLE inbox ADD COLUMN heartbeat_at INTEGER;          -- the last instant at which a delivery could have been received
ALTER TABLE inbox ADD COLUMN master_fingerprint TEXT;       -- tells that the master secret has changed; not the secret

-- Callback addresses: a token is made of the master secret, the subscription and the epoch, and only the latter are here.
CREATE TABLE callback_epoch (
  subscription_id TEXT NOT NULL,
  epoch INTEGER NOT NULL,
  begun_at INTEGER NOT NULL,        -- accepted from here on
  announced_at INTEGER,             -- when the service was told of it; NULL: still to be done
  until INTEGER,                    -- accepted before this instant; NULL: as long as no newer one was announced
  PRIMARY KEY (subscription_id, epoch)
) STRICT, WITHOUT ROWID;
