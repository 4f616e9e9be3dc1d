-- Oldest safe version: 0.1.0
-- Tables are singular, STRICT and private to the daemon; the views of 0002 are what storefronts read.
-- Documents come last in a row: a column behind a long one is only reached through all its pages.
-- Instants end in _at and are epoch milliseconds, UTC. Dates are the venue's, YYYY-MM-DD. Money is in minor units.

-- One row: what this file is, and whom it belongs to.
CREATE TABLE mirror (
  mirror_id INTEGER PRIMARY KEY CHECK (mirror_id = 1),
  pair_id TEXT NOT NULL,            -- shared with inbox.db: a mirror beside another inbox is refused
  contract_version INTEGER NOT NULL,
  schema_version INTEGER NOT NULL,
  written_by TEXT NOT NULL,         -- "catalogued <version>"
  feed_floor_seq INTEGER NOT NULL DEFAULT 0,
  filled_at INTEGER,                -- when every record had been read once
  language TEXT,                    -- the primary language: visibility, sale status and images come from its reads
  currency TEXT                     -- the primary currency
) STRICT;

-- The offset of each time zone in use, one row a transition, so that a view can tell a venue's today by itself.
CREATE TABLE zone_offset (
  timezone TEXT NOT NULL,           -- '' is a product whose zone is unknown
  valid_from INTEGER NOT NULL,
  offset_minutes INTEGER NOT NULL,
  PRIMARY KEY (timezone, valid_from)
) STRICT, WITHOUT ROWID;

CREATE TABLE product (
  product_id INTEGER PRIMARY KEY,
  timezone TEXT,
  sale_status TEXT NOT NULL CHECK (sale_status IN ('enabled', 'disabled', 'unknown')),
  disabled_reason TEXT,
  disabled_source TEXT CHECK (disabled_source IN ('read', 'notification')),
  expected_reopening TEXT,
  alternative_product_id INTEGER,
  closure_unconfirmed INTEGER NOT NULL DEFAULT 0 CHECK (closure_unconfirmed IN (0, 1)),
  city_id INTEGER,
  country_id INTEGER,
  venue_id INTEGER,
  latitude REAL,
  longitude REAL,
  rating REAL,
  first_seen_at INTEGER NOT NULL,
  read_at INTEGER NOT NULL,         -- when the newest stored read of it was sent: an older one changes nothing
  images_verified_at INTEGER,       -- when the newest complete read of its images was sent
  withdrawn_at INTEGER,
  withdrawn_reason TEXT,
  sellable INTEGER NOT NULL GENERATED ALWAYS AS
    (withdrawn_at IS NULL AND sale_status = 'enabled' AND closure_unconfirmed = 0) VIRTUAL
) STRICT;

-- What is said of a product in one language: the list entry and the single-product read, kept apart.
CREATE TABLE product_text (
  product_id INTEGER NOT NULL REFERENCES product,
  language TEXT NOT NULL,
  title TEXT,
  tagline TEXT,
  city_name TEXT,
  country_name TEXT,
  checked_at INTEGER NOT NULL,
  changed_at INTEGER NOT NULL,
  stale_at INTEGER NOT NULL,
  list_document TEXT,
  list_hash TEXT,
  list_read_at INTEGER,
  detail_document TEXT,
  detail_hash TEXT,
  detail_read_at INTEGER,
  merged_document TEXT,             -- the detail over the list, only where the list has members that the detail lacks
  PRIMARY KEY (product_id, language)
) STRICT;

CREATE TABLE product_price (
  product_id INTEGER NOT NULL REFERENCES product,
  currency TEXT NOT NULL,
  from_price INTEGER,
  read_at INTEGER NOT NULL,
  PRIMARY KEY (product_id, currency)
) STRICT, WITHOUT ROWID;

CREATE TABLE product_tag (
  product_id INTEGER NOT NULL REFERENCES product,
  tag_id INTEGER NOT NULL,
  PRIMARY KEY (product_id, tag_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX product_tag_by_tag ON product_tag (tag_id, product_id);
CREATE INDEX product_by_city ON product (city_id) WHERE withdrawn_at IS NULL;

CREATE TABLE experience (
  experience_id INTEGER PRIMARY KEY,
  title TEXT,
  checked_at INTEGER NOT NULL,
  changed_at INTEGER NOT NULL,
  stale_at INTEGER NOT NULL,
  document_hash TEXT NOT NULL,
  document TEXT NOT NULL
) STRICT;

-- As the experiences say it; the product's own venue is added by the view.
CREATE TABLE product_experience (
  product_id INTEGER NOT NULL,
  experience_id INTEGER NOT NULL REFERENCES experience,
  PRIMARY KEY (product_id, experience_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX product_experience_by_experience ON product_experience (experience_id, product_id);

CREATE TABLE image (
  product_id INTEGER NOT NULL REFERENCES product,
  image_key TEXT NOT NULL,
  position INTEGER NOT NULL,
  credit TEXT,
  document TEXT NOT NULL,           -- the service's JSON: its addresses and the alternative text are read from it
  first_seen_at INTEGER NOT NULL,
  PRIMARY KEY (product_id, image_key)
) STRICT;

CREATE TABLE checkout_information_read (
  product_id INTEGER NOT NULL REFERENCES product,
  language TEXT NOT NULL,
  has_timeslots INTEGER,
  has_dynamic_pricing INTEGER,
  must_know TEXT,
  good_to_know TEXT,
  checked_at INTEGER NOT NULL,
  changed_at INTEGER NOT NULL,
  stale_at INTEGER NOT NULL,
  document TEXT NOT NULL,
  PRIMARY KEY (product_id, language)
) STRICT;

-- A variant as the variants read has it, as availability has it, or both.
CREATE TABLE variant (
  product_id INTEGER NOT NULL REFERENCES product,
  language TEXT NOT NULL,
  variant_id INTEGER NOT NULL,
  checked_at INTEGER NOT NULL,
  changed_at INTEGER NOT NULL,
  stale_at INTEGER NOT NULL,
  variants_document TEXT,
  availability_document TEXT,
  merged_document TEXT,             -- both: the variants read over availability
  PRIMARY KEY (product_id, language, variant_id)
) STRICT;

-- What an availability answer says beyond dates and variants (groups and whatever is unknown), for the near dates.
CREATE TABLE availability_context (
  product_id INTEGER NOT NULL REFERENCES product,
  currency TEXT NOT NULL,
  document TEXT NOT NULL,
  read_at INTEGER NOT NULL,
  PRIMARY KEY (product_id, currency)
) STRICT, WITHOUT ROWID;

-- Non-overlapping spans of dates that one answer covered: an unchanged window costs one row a tier, not thirty-one.
CREATE TABLE availability_span (
  product_id INTEGER NOT NULL,
  currency TEXT NOT NULL,
  from_date TEXT NOT NULL,
  to_date TEXT NOT NULL,
  checked_at INTEGER NOT NULL,
  stale_at INTEGER NOT NULL,
  body_hash TEXT NOT NULL,
  max_tickets_per_order INTEGER,
  variant_ids TEXT NOT NULL,        -- JSON array: the variants whose details the answer brought
  PRIMARY KEY (product_id, currency, from_date)
) STRICT, WITHOUT ROWID;

-- The narrow summary of one date; its slots stand in day_document.
CREATE TABLE day (
  product_id INTEGER NOT NULL,
  currency TEXT NOT NULL,
  date TEXT NOT NULL,
  available INTEGER NOT NULL CHECK (available IN (0, 1)),
  lowest_price INTEGER,
  max_tickets INTEGER,
  availability INTEGER,
  hash TEXT NOT NULL,
  document_id INTEGER,
  PRIMARY KEY (product_id, currency, date)
) STRICT, WITHOUT ROWID;
CREATE INDEX day_bookable ON day (currency, date, lowest_price, product_id, max_tickets) WHERE available = 1;

-- Positional JSON: [availability, timezone, [[minutes, availability, [[variant_id, max_tickets, retail_price,
-- ticket_value, booking_fee, commission, pricing_restriction, extra], ...], extra], ...], extra]; trailing nulls left off.
CREATE TABLE day_document (
  document_id INTEGER PRIMARY KEY,
  document TEXT NOT NULL
) STRICT;

-- One row for everything that is fetched by itself, with what is known of its reads and when it is due again.
-- A walk over a list is a record of product 0. Never fetched: due in 1970, in the order of the first fill.
CREATE TABLE record (
  resource TEXT NOT NULL,           -- products, experiences, product_detail, checkout_information, variants, availability
  product_id INTEGER NOT NULL,
  edition TEXT NOT NULL,            -- language ('en'), currency ('EUR') or both ('en/EUR')
  part INTEGER NOT NULL,            -- availability: which window, counted from the venue's today; else 0
  due_at INTEGER NOT NULL,
  due_reason TEXT NOT NULL,
  fetched_at INTEGER,               -- when the last request that was answered and stored was sent
  changed_at INTEGER,
  stale_at INTEGER,
  body_hash TEXT,
  failures INTEGER NOT NULL DEFAULT 0,  -- in a row
  failed_at INTEGER,
  failure TEXT,
  job_id INTEGER REFERENCES job,    -- the resync that waits for it
  PRIMARY KEY (resource, product_id, edition, part)
) STRICT, WITHOUT ROWID;
CREATE INDEX record_due ON record (due_at);
CREATE INDEX record_of_product ON record (product_id);
CREATE INDEX record_of_job ON record (job_id) WHERE job_id IS NOT NULL;

-- A walk over a paged list that is under way, page by page, so that a kill costs one page.
CREATE TABLE walk (
  resource TEXT NOT NULL,
  edition TEXT NOT NULL,
  started_at INTEGER NOT NULL,
  next_page INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  repeated INTEGER NOT NULL,        -- rows met a second time in this attempt
  completed_at INTEGER,             -- the end of the last complete walk: no row repeated, as many as announced
  PRIMARY KEY (resource, edition)
) STRICT, WITHOUT ROWID;

CREATE TABLE walk_row (
  resource TEXT NOT NULL,
  edition TEXT NOT NULL,
  id INTEGER NOT NULL,
  attempt INTEGER NOT NULL,         -- the newest attempt that met it
  PRIMARY KEY (resource, edition, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE job (
  job_id INTEGER PRIMARY KEY,
  scope TEXT NOT NULL,              -- what was asked for, as JSON {kinds, product_ids}: an interrupted job is found again by it
  requested_at INTEGER NOT NULL,
  records INTEGER NOT NULL,
  failed INTEGER NOT NULL DEFAULT 0,
  finished_at INTEGER
) STRICT;

-- The promise a resource is held to, as configured; for availability a tier is a span of days from the venue's today.
CREATE TABLE promise (
  resource TEXT NOT NULL,
  tier TEXT NOT NULL,
  promise_ms INTEGER NOT NULL,
  first_part INTEGER NOT NULL,
  last_part INTEGER NOT NULL,
  PRIMARY KEY (resource, tier)
) STRICT, WITHOUT ROWID;
