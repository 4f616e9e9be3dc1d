-- Oldest safe version: 1.0.0
-- Tables of mirror.db, all of them STRICT. Names of those that only the daemon reads begin with `_`. The others are the contract
-- (schema/contract.json), or stand under a view of it (views.sql) that adds what the clock decides.
-- Documents come last in a row: a column behind a long one is only reached through all its pages.
-- Instants end in _at and are epoch milliseconds, UTC. Dates are the venue's, YYYY-MM-DD. Money is in minor units.

-- One row: what this file is, and whom it belongs to.
CREATE TABLE _mirror (
  mirror_id INTEGER PRIMARY KEY CHECK (mirror_id = 1),
  pair_id TEXT NOT NULL,            -- shared with inbox.db: a mirror beside another inbox is refused
  contract_version INTEGER NOT NULL,
  schema_version INTEGER NOT NULL,
  written_by TEXT NOT NULL,         -- "catalogued <version>"
  feed_floor_seq INTEGER NOT NULL DEFAULT 0,
  filled_at INTEGER,                -- when every record had been read once
  language TEXT,                    -- the primary language: visibility, sale status and images come from its reads
  currency TEXT,                    -- the primary currency
  last_delivery_id INTEGER NOT NULL DEFAULT 0,  -- of inbox.db: the last one applied
  -- The size whose file the view images shows, the first that is configured; NULL: no files are kept.
  image_size TEXT,
  feed_id TEXT,                     -- given before anybody can read the file
  -- Of inbox.db: the last told order that was counted, written in the transaction of the counts.
  last_order_number INTEGER NOT NULL DEFAULT 0
) STRICT;

-- The offset of each time zone in use, one row a transition, so that a view can tell a venue's today by itself.
CREATE TABLE _zone_offset (
  timezone TEXT NOT NULL,           -- '' is a product whose zone is unknown
  valid_from INTEGER NOT NULL,
  offset_minutes INTEGER NOT NULL,
  PRIMARY KEY (timezone, valid_from)
) STRICT, WITHOUT ROWID;

CREATE TABLE _product (
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
  sellable INTEGER NOT NULL GENERATED ALWAYS AS (withdrawn_at IS NULL AND sale_status = 'enabled' AND closure_unconfirmed = 0) VIRTUAL,
  -- Why no date is sold. 0: dates decide. 1: not on sale. 2: on sale, but its dates are answered as not on sale. 3: withdrawn.
  shut INTEGER NOT NULL GENERATED ALWAYS AS
    (CASE WHEN withdrawn_at IS NOT NULL THEN 3 WHEN sellable = 0 THEN 1 WHEN dates_off_at IS NOT NULL THEN 2 ELSE 0 END) VIRTUAL,
  category TEXT,                    -- the first one that matches; NULL: none
  sold REAL NOT NULL DEFAULT 0,     -- tickets of reported orders, each halved in thirty days
  sold_at INTEGER,                  -- when sold was last counted
  covered INTEGER NOT NULL DEFAULT 0 CHECK (covered IN (0, 1)),  -- by a working, trusted subscription
  dates_off_at INTEGER,             -- the earliest off_sale_at of its records
  rating_count INTEGER,             -- by how many people; NULL: not said
  weighed_rating INTEGER NOT NULL DEFAULT 4000,  -- of both: src/domain/catalogue/weighed-rating.ts
  asked REAL NOT NULL DEFAULT 0,    -- checks before orders, each halved in thirty days
  asked_at INTEGER,                 -- when asked was last counted
  signal_at INTEGER,                -- the last two polls of the list between which its price or sale status differed
  signal_before_at INTEGER
) STRICT;

-- Texts of a product in one language: the list entry and the single-product read, kept apart.
CREATE TABLE _product_text (
  product_id INTEGER NOT NULL REFERENCES _product,
  language TEXT NOT NULL,
  title TEXT,
  tagline TEXT,
  city_name TEXT,
  city_path TEXT,                   -- city_name as the addresses of pages have it; NULL: it has no letters
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
  -- The last answer whose claim is held: the row keeps what it showed, is stale, and its time to expire begins again; NULL:
  -- nothing is held.
  held_at INTEGER,
  PRIMARY KEY (product_id, language)
) STRICT;

-- A visible product in each mirrored language, as the view `products` shows it but for what the clock decides.
CREATE TABLE product (
  product_id INTEGER NOT NULL,
  language TEXT NOT NULL,
  read_language TEXT NOT NULL,      -- in which the text was read that is shown: its own has none, or no title, where it is another
  language_shown TEXT NOT NULL,
  title TEXT,
  tagline TEXT,
  sale_status TEXT NOT NULL,
  sellable INTEGER NOT NULL,
  disabled_reason TEXT,
  disabled_source TEXT,
  expected_reopening TEXT,
  alternative_product_id INTEGER,
  currency TEXT NOT NULL,
  city_id INTEGER,
  city_name TEXT,
  city_path TEXT,
  country_id INTEGER,
  country_name TEXT,
  venue_id INTEGER,
  latitude REAL,
  longitude REAL,
  timezone TEXT,
  rating REAL,
  rating_count INTEGER,
  checked_at INTEGER NOT NULL,
  changed_at INTEGER NOT NULL,
  stale_at INTEGER NOT NULL,
  held_at INTEGER,                  -- as in _product_text
  shown_stale_at INTEGER NOT NULL GENERATED ALWAYS AS (COALESCE(held_at, stale_at)) STORED,
  expired_at INTEGER NOT NULL GENERATED ALWAYS AS (4 * stale_at - 4 * checked_at + COALESCE(held_at, checked_at)) STORED,
  detail_read_at INTEGER,
  detail_target_ms INTEGER,        -- as long as that read counts as fresh
  utc_offset INTEGER,               -- minutes, until its zone's next change
  offset_until_at INTEGER,          -- NULL: there is none
  next_utc_offset INTEGER,
  -- Taken out of the document.
  slug TEXT,
  url TEXT,
  summary TEXT,
  description TEXT,
  highlights TEXT,
  whats_included TEXT,
  whats_excluded TEXT,
  marketing_restrictions TEXT,
  promo_label TEXT,
  discount_percentage REAL,
  skip_line INTEGER,
  smartphone_ticket INTEGER,
  instant_ticket_delivery INTEGER,
  duration TEXT,
  duration_minutes INTEGER,
  advance_arrival_minutes INTEGER,
  last_admission_minutes INTEGER,
  starting_point_address TEXT,
  starting_point_label TEXT,
  starting_point_city_id INTEGER,
  starting_point_latitude REAL,
  starting_point_longitude REAL,
  languages TEXT,
  live_guide_languages TEXT,
  audio_guide_languages TEXT,
  cancellation_policy TEXT,
  cancellation_window INTEGER,
  supplier TEXT,
  venue_name TEXT,
  venue_address TEXT,
  wheelchair_access INTEGER,
  is_package INTEGER,
  package_products TEXT,
  in_packages TEXT,
  document TEXT,
  PRIMARY KEY (product_id, language)
) STRICT;

CREATE INDEX shown_by_city ON product (city_id, language);

CREATE INDEX shown_by_country ON product (country_id, language);

CREATE INDEX shown_by_venue ON product (venue_id, language);

CREATE INDEX shown_by_supplier ON product (supplier, language);

-- Prices of a product in a currency from one instant to another: what is printed changes as its dates pass, so that each view finds
-- it by its own clock, also while the daemon is dead. The last row is of when none of its dates is left. The rest is the same in all
-- of them, as the list says it.
CREATE TABLE price (
  product_id INTEGER NOT NULL REFERENCES _product,
  currency TEXT NOT NULL,
  until_at INTEGER NOT NULL,        -- excluded
  from_at INTEGER NOT NULL,
  from_price INTEGER,
  prediscount_price INTEGER,        -- before a reduction
  lowest_price INTEGER,
  lowest_adult_price INTEGER,
  price_variant_type TEXT,
  checked_at INTEGER,               -- NULL: only its dates were read
  stale_at INTEGER,
  -- The last answer whose claim is held: the row keeps what it showed, is stale, and its time to expire begins again; NULL:
  -- nothing is held.
  held_at INTEGER,
  shut INTEGER NOT NULL CHECK (shut BETWEEN 0 AND 3),  -- as in _product, which sets it
  shown_stale_at INTEGER GENERATED ALWAYS AS (COALESCE(held_at, stale_at)) STORED,
  expired_at INTEGER GENERATED ALWAYS AS (4 * stale_at - 4 * checked_at + COALESCE(held_at, checked_at)) STORED,
  PRIMARY KEY (product_id, currency, until_at)
) STRICT, WITHOUT ROWID;

-- The first product on sale in the chain of recommendations of a closed product. A chain has at most 8.
CREATE TABLE alternatives (
  product_id INTEGER NOT NULL,
  alternative_product_id INTEGER NOT NULL,
  PRIMARY KEY (product_id, alternative_product_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE product_tags (
  product_id INTEGER NOT NULL REFERENCES _product,
  tag_id INTEGER NOT NULL,
  PRIMARY KEY (product_id, tag_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX product_tags_by_tag ON product_tags (tag_id, product_id);

-- As the list of tags says it in each language. The list in the primary language decides which there are.
CREATE TABLE _tag (
  tag_id INTEGER NOT NULL,
  language TEXT NOT NULL,
  name TEXT,
  type_name TEXT,
  type_group_name TEXT,
  document TEXT NOT NULL,
  checked_at INTEGER NOT NULL,
  changed_at INTEGER NOT NULL,
  stale_at INTEGER NOT NULL,
  PRIMARY KEY (tag_id, language)
) STRICT, WITHOUT ROWID;

CREATE INDEX product_by_city ON _product (city_id) WHERE withdrawn_at IS NULL;

CREATE TABLE _experience (
  experience_id INTEGER PRIMARY KEY,
  title TEXT,
  checked_at INTEGER NOT NULL,
  changed_at INTEGER NOT NULL,
  stale_at INTEGER NOT NULL,
  document_hash TEXT NOT NULL,
  images_verified_at INTEGER,       -- when the newest read that names its images was sent
  -- Taken out of the document, for pages.
  path TEXT,                        -- its title as the addresses of pages have it; NULL: it has no letters
  tagline TEXT,
  description TEXT,
  url TEXT,
  address TEXT,
  city_name TEXT,
  country_name TEXT,
  latitude REAL,
  longitude REAL,
  rating REAL,
  rating_count INTEGER,
  from_price INTEGER,
  currency TEXT,                    -- of from_price
  images TEXT NOT NULL,             -- those that may be published: JSON array of [position, image_key, credit, document]
  document TEXT NOT NULL
) STRICT;

-- As the experiences say it, also of products that are not mirrored.
CREATE TABLE _product_experience (
  product_id INTEGER NOT NULL,
  experience_id INTEGER NOT NULL REFERENCES _experience,
  PRIMARY KEY (product_id, experience_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX product_experience_by_experience ON _product_experience (experience_id, product_id);

-- Of visible products: as the experiences say it, and their own venue.
CREATE TABLE product_experiences (
  product_id INTEGER NOT NULL,
  experience_id INTEGER NOT NULL,
  PRIMARY KEY (product_id, experience_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX product_experiences_by_experience ON product_experiences (experience_id, product_id);

CREATE TABLE image (
  product_id INTEGER NOT NULL REFERENCES _product,
  image_key TEXT NOT NULL,
  position INTEGER NOT NULL,
  small_url TEXT,
  medium_url TEXT,
  large_url TEXT,
  extra_large_url TEXT,
  alt_text TEXT,
  credit TEXT,
  file TEXT,                        -- of the size that _mirror names
  document TEXT NOT NULL,           -- the service's JSON
  first_seen_at INTEGER NOT NULL,
  withdrawn_at INTEGER,             -- when the complete read was sent that no longer returned it; NULL: it stands
  doubted_at INTEGER,               -- when its host said that it is gone: hidden until a read sent later returns it
  PRIMARY KEY (product_id, image_key)
) STRICT;

-- Checkout information in each mirrored language: its own read, or else the primary language's. A read in a language that is not
-- mirrored any more, or of a product that is withdrawn, stays and is not shown.
CREATE TABLE checkout (
  product_id INTEGER NOT NULL REFERENCES _product,
  language TEXT NOT NULL,
  language_shown TEXT NOT NULL,     -- of the read that the row is of
  shown INTEGER NOT NULL CHECK (shown IN (0, 1)),
  has_timeslots INTEGER,
  has_dynamic_pricing INTEGER,
  must_know TEXT,
  good_to_know TEXT,
  checked_at INTEGER NOT NULL,
  changed_at INTEGER NOT NULL,
  stale_at INTEGER NOT NULL,
  -- The last answer whose claim is held: the row keeps what it showed, is stale, and its time to expire begins again; NULL:
  -- nothing is held.
  held_at INTEGER,
  document TEXT NOT NULL,
  PRIMARY KEY (product_id, language)
) STRICT;

-- A variant as the variants read has it, as availability has it, or both.
CREATE TABLE _variant (
  product_id INTEGER NOT NULL REFERENCES _product,
  language TEXT NOT NULL,
  variant_id INTEGER NOT NULL,
  checked_at INTEGER NOT NULL,
  changed_at INTEGER NOT NULL,
  stale_at INTEGER NOT NULL,
  variants_document TEXT,
  availability_document TEXT,
  merged_document TEXT,             -- both: the variants read over availability
  -- As the view shows them: the variants read decides, availability fills in.
  label TEXT,
  variant_type TEXT,
  description TEXT,
  cancellation_policy TEXT,
  cancellation_window INTEGER,
  valid_with TEXT,
  visitors_details TEXT,
  languages TEXT,
  group_ids TEXT,
  -- The last answer whose claim is held: the row keeps what it showed, is stale, and its time to expire begins again; NULL:
  -- nothing is held.
  held_at INTEGER,
  PRIMARY KEY (product_id, language, variant_id)
) STRICT;

-- Dates that one answer covered, a row a tier: an unchanged answer writes nothing else. Each date belongs to one window. A newer
-- answer about some of them leaves a gap between its first and its last date.
CREATE TABLE date_window (
  window_id INTEGER PRIMARY KEY,
  product_id INTEGER NOT NULL,
  currency TEXT NOT NULL,
  from_date TEXT NOT NULL,
  to_date TEXT NOT NULL,
  checked_at INTEGER NOT NULL,
  stale_at INTEGER NOT NULL,        -- one cadence after checked_at
  -- The last answer whose claim is held: the row keeps what it showed, is stale, and its time to expire begins again; NULL:
  -- nothing is held.
  held_at INTEGER,
  shut INTEGER NOT NULL CHECK (shut BETWEEN 0 AND 3),  -- as in _product, which sets it
  max_tickets_per_order INTEGER,
  shown_stale_at INTEGER NOT NULL GENERATED ALWAYS AS (CASE WHEN shut = 2 THEN 0 ELSE COALESCE(held_at, stale_at) END) STORED,
  expired_at INTEGER NOT NULL GENERATED ALWAYS AS (4 * stale_at - 4 * checked_at + COALESCE(held_at, checked_at)) STORED,
  body_hash TEXT NOT NULL,
  variant_ids TEXT NOT NULL         -- JSON array: the variants whose details the answer brought
) STRICT;

CREATE INDEX date_window_of_product ON date_window (product_id, currency, from_date);

-- A date from one instant to another: until a time begins at the venue that takes its price or its state along, and at last until
-- the date ends there. So each view sees by its own clock what is left, also while the daemon is dead. Each time takes its tickets
-- along: from the first one on the view counts those of the others in slot_day.
CREATE TABLE day (
  product_id INTEGER NOT NULL,
  currency TEXT NOT NULL,
  date TEXT NOT NULL,
  until_at INTEGER NOT NULL,        -- excluded
  from_at INTEGER NOT NULL,         -- 0: the whole date, before any of its times has begun
  state TEXT NOT NULL CHECK (state IN ('available', 'sold_out', 'not_on_sale')),
  lowest_price INTEGER,
  lowest_adult_price INTEGER,       -- what a shop may print: an adult pays it (src/domain/catalogue/printed-price.ts)
  price_variant_type TEXT,          -- of the variant whose price that is
  max_tickets INTEGER,
  availability INTEGER,             -- tickets for the times that have not begun
  counted_until_at INTEGER NOT NULL,  -- excluded: until when that is their number, at most until_at
  window_id INTEGER NOT NULL,       -- when it was read
  PRIMARY KEY (product_id, currency, date, until_at)
) STRICT, WITHOUT ROWID;

CREATE INDEX day_by_price ON day
  (currency, date, lowest_adult_price, product_id, lowest_price, price_variant_type, max_tickets, from_at, until_at, window_id) WHERE state = 'available';

-- The times of a date with tickets. `slots` is positional JSON, trailing nulls left off: [[time, ends_at, availability, [[variant_id,
-- max_tickets, retail_price, ticket_value, booking_fee, commission, pricing_restriction, extra], ...], extra], ...]. ends_at is when
-- the time begins at the venue, and is not sold any more; what is no time of the clock lasts until the date ends.
CREATE TABLE slot_day (
  product_id INTEGER NOT NULL,
  currency TEXT NOT NULL,
  date TEXT NOT NULL,
  rest TEXT NOT NULL,               -- [availability, timezone, extra], as answered of the whole date
  slots TEXT NOT NULL,
  PRIMARY KEY (product_id, currency, date)
) STRICT;

-- One row for everything that is fetched by itself, with what is known of its reads and when it is due again.
-- A walk over a list is a record of product 0. Never fetched: due in 1970, in the order of the first fill.
CREATE TABLE _record (
  resource TEXT NOT NULL,           -- products, experiences, tags, product_detail, checkout_information, variants, availability
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
  job_id INTEGER REFERENCES _job,   -- the resync that waits for it
  lane INTEGER NOT NULL DEFAULT 6,  -- domain/lanes.ts, 0 the most urgent; 6: fill
  fetched_reason TEXT,              -- why the last stored read was made
  shape REAL,                       -- what is believed of its change rate (volatility.ts)
  exposure REAL,                    -- milliseconds
  notified_at INTEGER,              -- the newest notification that no later read has answered; NULL: none is open
  -- The last failed order that showed that it had changed: its next read does not update the estimate again.
  told_at INTEGER,
  off_sale_at INTEGER,              -- availability: since when its answers say "not on sale"; NULL: the last one spoke of days
  -- Availability: since when some of its dates are not answered; NULL: the last answer spoke of all.
  unanswered_at INTEGER,
  shows INTEGER,                    -- 1: its last stored answer showed something that can be taken away; NULL: not known
  PRIMARY KEY (resource, product_id, edition, part)
) STRICT, WITHOUT ROWID;

CREATE INDEX record_of_product ON _record (product_id);

CREATE INDEX record_of_job ON _record (job_id) WHERE job_id IS NOT NULL;

-- A walk over a paged list that is under way, page by page, so that a kill costs one page.
CREATE TABLE _walk (
  resource TEXT NOT NULL,
  edition TEXT NOT NULL,
  started_at INTEGER NOT NULL,
  next_page INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  repeated INTEGER NOT NULL,        -- rows met a second time in this attempt
  completed_at INTEGER,             -- the end of the last complete walk: no row repeated, as many as announced
  counted INTEGER,                  -- the most that a page of this attempt counted; NULL: none counted
  unusable INTEGER NOT NULL DEFAULT 0,  -- rows of this attempt that could not be used
  unusable_example TEXT,            -- why, of the first of them
  PRIMARY KEY (resource, edition)
) STRICT, WITHOUT ROWID;

CREATE TABLE _walk_row (
  resource TEXT NOT NULL,
  edition TEXT NOT NULL,
  id INTEGER NOT NULL,
  attempt INTEGER NOT NULL,         -- the newest attempt that met it
  -- The page on which a product stood; where the service has no single-product read, it decides about a notification; NULL: not
  -- known.
  page INTEGER,
  PRIMARY KEY (resource, edition, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE _job (
  job_id INTEGER PRIMARY KEY,
  scope TEXT NOT NULL,              -- what was asked for, as JSON {kinds, product_ids}: an interrupted job is found again by it
  requested_at INTEGER NOT NULL,
  records INTEGER NOT NULL,
  failed INTEGER NOT NULL DEFAULT 0,
  finished_at INTEGER
) STRICT;

-- The freshness target of a resource, as configured; for availability a tier is a span of days from the venue's today.
CREATE TABLE _target (
  resource TEXT NOT NULL,
  tier TEXT NOT NULL,
  target_ms INTEGER NOT NULL,
  first_part INTEGER NOT NULL,
  last_part INTEGER NOT NULL,
  PRIMARY KEY (resource, tier)
) STRICT, WITHOUT ROWID;

CREATE INDEX record_due ON _record (lane, due_at);

CREATE INDEX product_category ON _product (category) WHERE category IS NOT NULL;

CREATE INDEX product_images_verified ON _product (images_verified_at) WHERE withdrawn_at IS NULL;

-- One row: what the limiter has learned, so that a restart forgets neither the rate nor a pause, and the price of a call.
CREATE TABLE _budget (
  budget_id INTEGER PRIMARY KEY CHECK (budget_id = 1),
  state TEXT,                       -- JSON of domain/budget.ts
  surveyed_at INTEGER,
  category_cadences TEXT,           -- JSON: as configured when due instants were planned
  demand TEXT,                      -- JSON of domain/schedule/price.ts; NULL: not surveyed yet
  -- After a changed cadence the records of products up to this one are planned again; NULL: all are.
  replanned_to INTEGER,
  -- For which kinds each product has its records, as JSON: the next start with the same configuration need not go through all of
  -- them; NULL: not known.
  made_for TEXT
) STRICT;

-- The change feed. AUTOINCREMENT: its counter is part of the transaction, so numbers have no gaps and none comes twice,
-- also after old rows were pruned.
CREATE TABLE _change (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  at INTEGER NOT NULL,              -- when the read that found it was sent
  product_id INTEGER NOT NULL,
  kind TEXT NOT NULL,               -- domain/change.ts
  language TEXT,
  date TEXT,
  detail TEXT NOT NULL,             -- JSON
  reason TEXT,                      -- why that read was made
  total_bytes INTEGER NOT NULL DEFAULT 0  -- of this change and of all before it: the size of the feed, without reading it
) STRICT;

CREATE INDEX change_at ON _change (at);

CREATE INDEX change_of_product ON _change (product_id, date);

-- What the last complete walk of its list lacks; of products also those that so far only their own read refused.
CREATE TABLE _absence (
  resource TEXT NOT NULL,           -- products, experiences, tags
  id INTEGER NOT NULL,
  missing_walks INTEGER NOT NULL,   -- complete walks in a row without it, those within half an hour counted once
  first_missing_at INTEGER NOT NULL,
  last_missing_at INTEGER NOT NULL,
  answer TEXT CHECK (answer IN ('gone', 'permanently-gone', 'there')),  -- of a direct read since
  answered_at INTEGER,
  PRIMARY KEY (resource, id)
) STRICT, WITHOUT ROWID;

-- The last result of each operation whose failure no other row shows: domain/conditions/outcome.ts.
CREATE TABLE _outcome (
  operation TEXT PRIMARY KEY,       -- backup
  last_ok_at INTEGER,               -- when it last worked; NULL: not recorded
  failed_at INTEGER,                -- when it first failed since then; NULL: it works
  noticed_at INTEGER,               -- when it last failed; NULL: it works
  affected INTEGER NOT NULL,        -- how many products, calls or attempts fail
  detail TEXT                       -- the reason, where the operation does not say it all
) STRICT;

-- A product that a notification closed, and with which words. In force until ended_at.
CREATE TABLE _closure (
  closure_id INTEGER PRIMARY KEY,
  product_id INTEGER NOT NULL REFERENCES _product,
  delivery_id INTEGER NOT NULL,
  notified_at INTEGER NOT NULL,     -- when the newest delivery that said so was received
  applied_at INTEGER,               -- NULL: one too many at once, it waits for its read
  available_at INTEGER,             -- when the first read since that says available was sent
  confirmed_at INTEGER,             -- when the first read since that says disabled was sent
  ended_at INTEGER,                 -- undone where no read confirmed it, else reopened
  reason TEXT,
  expected_reopening TEXT,
  alternative_product_id INTEGER
) STRICT;

CREATE UNIQUE INDEX closure_in_force ON _closure (product_id) WHERE ended_at IS NULL;

CREATE INDEX closure_applied ON _closure (applied_at);

CREATE INDEX product_alternative ON _product (alternative_product_id) WHERE alternative_product_id IS NOT NULL;

-- Subscriptions to change notifications, as the service is known to have them: no address, token or secret is here.
CREATE TABLE _subscription (
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
  -- Of the changes that reads found and it should have announced, those it did: the newest count most.
  announced REAL NOT NULL DEFAULT 0,
  announceable REAL NOT NULL DEFAULT 0,
  trusted INTEGER NOT NULL DEFAULT 1 CHECK (trusted IN (0, 1)),  -- whether what it covers is read less often
  -- Of the last attempt.
  failure_kind TEXT CHECK (failure_kind IN ('refused', 'missing', 'throttled', 'unreachable', 'failed', 'self-test'))
) STRICT;

-- The mirrored products that it covers; none for products_i_sell, whose list only the service knows.
CREATE TABLE _subscription_product (
  subscription_id TEXT NOT NULL REFERENCES _subscription,
  product_id INTEGER NOT NULL,
  since_at INTEGER,                 -- since when it has been seen to cover it
  PRIMARY KEY (subscription_id, product_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX subscription_product_by_product ON _subscription_product (product_id, subscription_id);

-- The newest notification of each kind about a product.
CREATE TABLE _notice (
  subscription_id TEXT NOT NULL,
  product_id INTEGER NOT NULL,
  change_type TEXT NOT NULL,
  received_at INTEGER NOT NULL,
  -- 1: the mirror showed what an update named as the old value when it was told, so a read that follows must show another.
  awaited INTEGER NOT NULL DEFAULT 0 CHECK (awaited IN (0, 1)),
  PRIMARY KEY (product_id, change_type, subscription_id)
) STRICT, WITHOUT ROWID;

-- A change that a read found and somebody should announce: judged once every notification of it has had its time.
CREATE TABLE _expected_notice (
  product_id INTEGER NOT NULL,
  change_type TEXT NOT NULL,
  since_at INTEGER NOT NULL,        -- the last read that did not show it
  found_at INTEGER NOT NULL,
  PRIMARY KEY (product_id, change_type)
) STRICT, WITHOUT ROWID;

-- Periods in which notifications could not come: of all subscriptions, or of one. Repaired when all that it covers was read since.
CREATE TABLE _gap (
  gap_id INTEGER PRIMARY KEY,
  subscription_id TEXT,             -- NULL: nothing could be received
  from_at INTEGER NOT NULL,
  to_at INTEGER,                    -- NULL: it lasts
  healed_to INTEGER NOT NULL DEFAULT 0,  -- products up to this one were made due
  products INTEGER NOT NULL DEFAULT 0,  -- how many
  closed_at INTEGER
) STRICT;

CREATE INDEX gap_open ON _gap (gap_id) WHERE closed_at IS NULL;

CREATE INDEX image_withdrawn ON image (withdrawn_at) WHERE withdrawn_at IS NOT NULL;

CREATE TABLE _image_credit (
  product_id INTEGER NOT NULL,
  image_key TEXT NOT NULL,
  at INTEGER NOT NULL,              -- when the read that found it was sent
  old TEXT,                         -- NULL: none was asked for
  new TEXT,
  PRIMARY KEY (product_id, image_key, at)
) STRICT, WITHOUT ROWID;

CREATE INDEX image_credit_at ON _image_credit (at);

-- Each time that an image ceased to be shown because the service no longer returned it, or its product.
CREATE TABLE _image_takedown (
  product_id INTEGER NOT NULL,
  image_key TEXT NOT NULL,
  withdrawn_at INTEGER NOT NULL,    -- when the first complete read without it was sent, or its product was withdrawn
  verified_at INTEGER,              -- when the last one that returned it was sent
  cause TEXT NOT NULL CHECK (cause IN ('image', 'product')),
  credit TEXT,
  returned_at INTEGER,              -- a later read returned it again
  PRIMARY KEY (product_id, image_key, withdrawn_at)
) STRICT, WITHOUT ROWID;

CREATE INDEX image_takedown_at ON _image_takedown (withdrawn_at);

-- Copies of the image files: one row an image of a product and size, whether or not its file was fetched yet.
CREATE TABLE _image_file (
  product_id INTEGER NOT NULL,
  image_key TEXT NOT NULL,
  size TEXT NOT NULL,               -- small, medium, large or extra_large
  url TEXT NOT NULL,
  file TEXT,                        -- ab/cd/<checksum>.<extension> in images.directory; NULL: there is none
  checksum TEXT,                    -- SHA-256, lower case hex
  media_type TEXT,                  -- of what the bytes are
  width INTEGER,
  height INTEGER,
  bytes INTEGER,
  etag TEXT,                        -- as the host sent it
  last_modified TEXT,               -- as the host sent it
  fetched_at INTEGER,               -- when the request that brought the file was sent
  checked_at INTEGER,               -- when the host was last asked, whatever it answered
  due_at INTEGER NOT NULL,
  failures INTEGER NOT NULL DEFAULT 0,  -- in a row
  failure TEXT,                     -- of the last one
  -- Gone: hidden until a read of the product sent after checked_at returns it.
  failure_kind TEXT CHECK (failure_kind IN ('gone', 'failed')),
  PRIMARY KEY (product_id, image_key, size)
) STRICT;

-- Entries that product_search has indexed, written only by the transaction that changes a product. A table of its own, with an
-- integer key: VACUUM renumbers the rows of _product_text, and the index needs to know what to forget.
CREATE TABLE search_entries (
  search_id INTEGER PRIMARY KEY,
  product_id INTEGER NOT NULL,
  language TEXT NOT NULL,
  title TEXT,
  tagline TEXT,
  summary TEXT,
  city TEXT,
  venue TEXT,                       -- the title of the venue's experience; where it is not known, what the product calls it
  country TEXT,
  UNIQUE (product_id, language)
) STRICT;

-- A place is a box without extent, rounded outwards; x, y and z are the same place on a globe of radius 1, exactly: the
-- distance of two places follows from them without a cosine, also at the poles and across the antimeridian.
CREATE VIRTUAL TABLE product_places USING rtree(
  product_id, min_latitude, max_latitude, min_longitude, max_longitude, +x REAL, +y REAL, +z REAL
);

-- Products of one venue, and the venue's own arm of product_experiences.
CREATE INDEX product_by_venue ON _product (venue_id) WHERE withdrawn_at IS NULL;

-- Checks before orders that found the mirror wrong: counts by product, tier and day of the report. No
-- order stands here, nor what one was made of. Rows go with retention.changes.
CREATE TABLE _check_count (
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

CREATE INDEX check_count_day ON _check_count (day);

-- Paths of the service profile that the specification does not list: whether the service has them, by what it answered.
CREATE TABLE _offer (
  path TEXT PRIMARY KEY CHECK (path IN ('experiences', 'tags', 'product', 'subscription', 'reactivate')),
  answered_at INTEGER,              -- the last answer that shows that it exists, to the hour; NULL: none ever did
  refused_at INTEGER,               -- the first 404 or 405 since; NULL: none
  not_offered_at INTEGER,           -- since when it counts as not offered; NULL: it is asked as usual
  asked_at INTEGER                  -- when it was last asked while it counts so
) STRICT;

CREATE INDEX record_off_sale ON _record (product_id) WHERE off_sale_at IS NOT NULL;

CREATE INDEX record_unanswered ON _record (product_id, failures) WHERE unanswered_at IS NOT NULL;

-- Search for what people type: words with their endings taken off, and what a typo makes of them. src/mirror/catalogue/search
-- fills all of it, in the transaction that changes a product, and when the file is opened under other rules.
-- Texts of a product in a language as terms, apart by where they stand; the same search_id as in search_entries.
CREATE TABLE _search_text (
  search_id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,               -- the title up to its colon, without the words of its city
  title TEXT NOT NULL,
  city TEXT NOT NULL,
  country TEXT NOT NULL,
  venue TEXT NOT NULL,
  tagline TEXT NOT NULL,
  summary TEXT NOT NULL
) STRICT;

-- A word as people type it, folded, and the term that stands for it; of words written as one, the terms one after the other.
CREATE TABLE search_words (
  word TEXT NOT NULL,
  language TEXT NOT NULL,
  term TEXT NOT NULL,
  documents INTEGER NOT NULL,       -- how many entries have it
  PRIMARY KEY (word, language, term)
) STRICT, WITHOUT ROWID;

CREATE TABLE search_deletes (
  shorter TEXT NOT NULL,
  word TEXT NOT NULL,
  PRIMARY KEY (shorter, word)
) STRICT, WITHOUT ROWID;

CREATE TABLE search_letters (
  letter TEXT PRIMARY KEY,
  folded TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE search_generic_words (
  language TEXT NOT NULL,
  word TEXT NOT NULL,
  PRIMARY KEY (language, word)
) STRICT, WITHOUT ROWID;

-- By which rules all of this was made; another version makes it again.
CREATE TABLE _search_rules (
  rules_id INTEGER PRIMARY KEY CHECK (rules_id = 1),
  version TEXT NOT NULL
) STRICT;

-- A product's place in the service's own order, where the list is asked for in it; the first is 1.
CREATE TABLE _product_list_place (
  product_id INTEGER PRIMARY KEY,
  list_place INTEGER NOT NULL
) STRICT;

-- Products whose stored dates are still to be priced.
CREATE TABLE _unpriced (
  product_id INTEGER PRIMARY KEY
) STRICT;

-- The languages that are mirrored, the primary one among them.
CREATE TABLE languages (
  language TEXT PRIMARY KEY,
  is_primary INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The currencies whose lists are walked, the primary one among them.
CREATE TABLE currencies (
  currency TEXT PRIMARY KEY,
  is_primary INTEGER NOT NULL,
  exponent INTEGER NOT NULL         -- of the minor unit, ISO 4217: src/domain/values/money.ts
) STRICT, WITHOUT ROWID;

-- Counts by city and country are read from here alone.
CREATE INDEX product_by_country ON _product (country_id, city_id, sellable) WHERE withdrawn_at IS NULL;

CREATE VIRTUAL TABLE product_search USING fts5(
  title, tagline, summary, city, venue, product_id UNINDEXED, language UNINDEXED,
  content = 'search_entries', content_rowid = 'search_id', tokenize = 'unicode61 remove_diacritics 2', prefix = '2 3'
);

-- Terms are folded already: "ascii" takes every other letter as it is.
CREATE VIRTUAL TABLE search_terms USING fts5(
  name, title, city, country, venue, tagline, summary,
  content = '_search_text', content_rowid = 'search_id', tokenize = 'ascii', prefix = '2 3'
);

-- Names of the groups of variants. Only availability has them, and the answer of a window may name fewer than another.
CREATE TABLE _variant_group (
  product_id INTEGER NOT NULL REFERENCES _product,
  group_id INTEGER NOT NULL,
  name TEXT NOT NULL,
  read_at INTEGER NOT NULL,
  PRIMARY KEY (product_id, group_id)
) STRICT, WITHOUT ROWID;

-- Shoppers' interest in products, as shops report it: sums in which no shopper can be recognised. A table of its own,
-- because they are counted far more often than a product is read.
CREATE TABLE _interest (
  product_id INTEGER NOT NULL,
  part INTEGER NOT NULL,            -- the window of dates that was looked at; -1: no date was told
  views REAL NOT NULL,              -- seen, checked before an order, and ten for each ticket sold
  counted_at INTEGER NOT NULL,      -- as of when: halved in thirty days
  PRIMARY KEY (product_id, part)
) STRICT, WITHOUT ROWID;

-- Share of outdated data that shoppers see, found by random reads, in periods of six hours.
CREATE TABLE _audit (
  from_at INTEGER NOT NULL,         -- when the period began
  tier TEXT NOT NULL CHECK (tier IN ('all', 'near', 'middle', 'far')),  -- all: of any of its dates
  audited INTEGER NOT NULL,         -- reads that showed whether what the mirror had was true
  outdated INTEGER NOT NULL,        -- of them, those that found something else
  PRIMARY KEY (from_at, tier)
) STRICT, WITHOUT ROWID;

-- Products on sale and bookable days in the primary currency, counted once an hour, for a week.
CREATE TABLE _on_sale (
  counted_at INTEGER PRIMARY KEY,   -- beginning of the hour
  sellable INTEGER NOT NULL,
  days INTEGER NOT NULL
) STRICT;

-- The product list shows some of the changes of dates, and so do changes of products of the same venue or supplier: how
-- many, and how often that is right, is learned from reads.
CREATE TABLE _signal (
  tier TEXT PRIMARY KEY,            -- near, far: the dates that it is about; after the word venue or supplier for siblings
  rightly REAL NOT NULL,            -- pseudo-counts of domain/schedule/signal.ts
  wrongly REAL NOT NULL,
  shown REAL NOT NULL,
  hidden REAL NOT NULL
) STRICT, WITHOUT ROWID;

-- After each pass of a first fill it is asked whether a record still waits for its first read.
CREATE INDEX _record_unread ON _record (failures) WHERE fetched_at IS NULL;

-- The keys of rows that have changed, while rows.publish is set: numbered by their last change, so that a follower
-- that knows all up to a number asks for those above it. Triggers of the daemon's connection write them, in the transaction that
-- changes the row (src/mirror/rows/capture.ts).
CREATE TABLE _row (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  source TEXT NOT NULL,             -- the table
  key TEXT NOT NULL,                -- JSON array of its primary key
  UNIQUE (source, key)
) STRICT;

-- Origin of the numbers; no row: nothing is published.
CREATE TABLE _row_feed (
  row_feed_id INTEGER PRIMARY KEY CHECK (row_feed_id = 1),
  origin TEXT NOT NULL,             -- another one: the numbers start over, and a follower with them
  floor INTEGER NOT NULL,           -- numbers up to it are forgotten
  publish TEXT NOT NULL,            -- shown: rows that views and searches read; all: those of the daemon too
  schema_version INTEGER NOT NULL,  -- with another one, rows may have changed unseen
  -- Where several instances share a database: the newest change that readers may see, as another instance goes on from what is
  -- published there; NULL: all.
  last_seq INTEGER
) STRICT;

-- Which number was the last at an instant: how old the numbers are, to forget them.
CREATE TABLE _row_mark (
  at INTEGER PRIMARY KEY,
  number INTEGER NOT NULL
) STRICT;

-- Of a followed copy only: what it follows, and how far it is.
CREATE TABLE _followed (
  followed_id INTEGER PRIMARY KEY CHECK (followed_id = 1),
  origin TEXT NOT NULL,
  number INTEGER NOT NULL,
  published_at INTEGER NOT NULL     -- by the daemon's clock: all is as it was then
) STRICT;

-- Lists whose last walk met fewer rows than the service counts, or rows that could not be used.
CREATE TABLE _short_list (
  resource TEXT NOT NULL,
  edition TEXT NOT NULL,
  since_at INTEGER NOT NULL,        -- when the first of its short walks in a row ended
  walked_at INTEGER NOT NULL,       -- when the last one ended
  counted INTEGER NOT NULL,
  met INTEGER NOT NULL,
  unusable INTEGER NOT NULL,
  unusable_example TEXT,
  row_hash TEXT NOT NULL,           -- of the ids that were met
  lists INTEGER NOT NULL,           -- that agree, at least half an hour apart
  agreed_at INTEGER NOT NULL,       -- when the last one began that counts
  PRIMARY KEY (resource, edition)
) STRICT, WITHOUT ROWID;

-- Parts of what is shown that the latest answer about a record takes away, until that is applied or taken back.
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
  -- The instant when it was held, and since then not counted where it was applied all the same; NULL: neither.
  held_at INTEGER,
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

INSERT INTO product_search (product_search, rank) VALUES ('rank', 'bm25(10.0, 4.0, 1.0, 6.0, 5.0)');

INSERT INTO _budget (budget_id) VALUES (1);

-- What a storefront does with what is old, by resource and state.
CREATE TABLE policies (
  resource TEXT NOT NULL,
  state TEXT NOT NULL,
  action TEXT NOT NULL,
  expires_after INTEGER,            -- cadences after the read; NULL: 14 days, whatever the cadence
  reason TEXT NOT NULL,
  PRIMARY KEY (resource, state)
) STRICT, WITHOUT ROWID;

INSERT INTO policies VALUES
  ('products', 'fresh', 'show', 4, 'titles and sale status are those of the last list, within its cadence'),
  ('products', 'stale', 'show', 4, 'a title seldom changes; a closure is announced, found by the next read, or held until it is certain'),
  ('products', 'expired', 'check_first', 4, 'nobody has seen it in the list for weeks: it may be gone or closed'),
  ('products', 'unknown', 'hide', 4, 'the service does not list it, or not any more'),
  ('product_prices', 'fresh', 'show_as_from', 4, 'lowest_adult_price, else from_price, which the list says: the chosen date has its own'),
  ('product_prices', 'stale', 'show_as_from', 4, 'it is an indication anyway, also while a move is held; the date that is chosen has its own price'),
  ('product_prices', 'expired', 'hide', 4, 'a price of weeks ago is advertising what may not exist'),
  ('product_prices', 'unknown', 'hide', 4, 'no price was sent, or none that is exact in this currency'),
  ('product_detail', 'fresh', 'show', 4, 'descriptions are those of the last read, within its cadence'),
  ('product_detail', 'stale', 'show', 4, 'texts change seldom, and an old one beats none'),
  ('product_detail', 'expired', 'hide', 4, 'what is said to be included may not be any more: the title stands without it'),
  ('product_detail', 'unknown', 'hide', 4, 'there is no description to show'),
  ('checkout_information', 'fresh', 'show', 4, 'what a customer must know is that of the last read, within its cadence'),
  ('checkout_information', 'stale', 'show', 4, 'it changes seldom, is kept while a loss is held, and must be shown before a sale in any case'),
  ('checkout_information', 'expired', 'check_first', 4, 'what must be shown before a sale may have changed: ask before one is made'),
  ('checkout_information', 'unknown', 'hide', 4, 'what must be shown before a sale is not known: offer none'),
  ('variants', 'fresh', 'show', 4, 'the options are those of the last read, within its cadence'),
  ('variants', 'stale', 'show', 4, 'options change less than monthly, or their loss is held; the dates say which of them are sold'),
  ('variants', 'expired', 'check_first', 4, 'an option may be gone: ask before it is promised'),
  ('variants', 'unknown', 'hide', 4, 'it has no name to be sold under'),
  ('experiences', 'fresh', 'show', 4, 'which product belongs to which venue is that of the last walk'),
  ('experiences', 'stale', 'show', 4, 'a product hardly ever moves to another venue'),
  ('experiences', 'expired', 'show', 4, 'a list by venue that is old still leads to products with a freshness of their own'),
  ('experiences', 'unknown', 'hide', 4, 'the venue was never read: list the product elsewhere'),
  ('tags', 'fresh', 'show', 4, 'the names are those of the last walk'),
  ('tags', 'stale', 'show', 4, 'a tag hardly ever gets another name'),
  ('tags', 'expired', 'show', 4, 'an old name still tells shoppers what its products have in common'),
  ('tags', 'unknown', 'hide', 4, 'the service has no list of tags, or it was not read yet: a tag without a name is no filter'),
  ('images', 'fresh', 'show', NULL, 'confirmed within its cadence: with its credit'),
  ('images', 'stale', 'show', NULL, 'confirmed less than 14 days ago, which the service allows: with its credit'),
  ('images', 'expired', 'hide', NULL, 'not confirmed for 14 days: it may be unpublished, and the view has it no more'),
  ('images', 'unknown', 'hide', NULL, 'no complete read has returned it: there is no licence to show it'),
  ('availability', 'fresh', 'show', 4, 'read within the cadence of its tier'),
  ('availability', 'stale', 'check_first', 4, 'it may have sold out or come back since, or is held: ask when a shopper picks it'),
  ('availability', 'expired', 'hide', 4, 'four reads in a row are missing: nobody knows, so it is neither available nor sold out'),
  ('availability', 'unknown', 'hide', 4, 'a date without a row was never read: it is neither available nor sold out'),
  ('day_prices', 'fresh', 'show', 4, 'lowest_adult_price of that date, and whose it is where no adult can buy, read in time'),
  ('day_prices', 'stale', 'show_as_from', 4, 'it may have changed since, or a move is held: the check before the order brings the amount'),
  ('day_prices', 'expired', 'hide', 4, 'too old to be quoted, even as from'),
  ('day_prices', 'unknown', 'hide', 4, 'sold out, or no price that is exact in this currency');
