-- What several instances of catalogued share, beside the published rows: in the schema of database.schema, for the writer alone.

-- Who leads, in one row.
CREATE TABLE _leader (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  -- Counts the claims. Unique, so that a claim changes a key and waits for whoever holds the row FOR KEY SHARE; a renewal does not.
  term bigint NOT NULL DEFAULT 0 UNIQUE,
  holder text,                        -- drawn anew with each claim; null: the last leader has resigned
  beat bigint NOT NULL DEFAULT 0,     -- counts the renewals of a term
  name text,                          -- instance.name of the one that leads, or led last
  advertise text,                     -- its instance.advertise
  pair_id text,                       -- of all the instances' mirrors and inboxes
  key_fingerprint text                -- a keyed hash of the API key: another one's schema is another account's
);
INSERT INTO _leader DEFAULT VALUES;

-- When an instance that stands by last looked who leads: by the clock of this server.
CREATE TABLE _standby (
  name text PRIMARY KEY,              -- instance.name
  seen_at timestamptz NOT NULL DEFAULT now(),
  warm boolean NOT NULL DEFAULT false -- whether its mirror was equal to what is published
);

-- The number of the last delivery: its lock lasts until the commit, so that numbers become visible in their order.
CREATE TABLE _numbering (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  last bigint NOT NULL DEFAULT 0,
  alive_at bigint                     -- when deliveries could be received for the last time, as the leader noted
);
INSERT INTO _numbering DEFAULT VALUES;

-- Deliveries as they were received, by whichever instance; the leader copies them into its inbox.
CREATE TABLE _delivery (
  delivery_id bigint PRIMARY KEY,
  received_at bigint NOT NULL,
  subscription_id text NOT NULL,
  epoch integer NOT NULL,
  peer text NOT NULL,
  content_type text,
  length integer NOT NULL,
  truncated boolean NOT NULL,
  body bytea NOT NULL
);

-- The callback addresses that every instance recognises, as the leader knows them.
CREATE TABLE _callback_epoch (
  subscription_id text NOT NULL,
  epoch integer NOT NULL,
  begun_at bigint NOT NULL,
  announced_at bigint,
  until bigint,
  PRIMARY KEY (subscription_id, epoch)
);
