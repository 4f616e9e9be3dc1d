-- Oldest safe version: 1.1.0
-- Columns: bb57539603fcb0c8
-- Columns and tables that 1.1.0 adds. It may be edited until 1.1.0 is released; its checksum then joins those of
-- test/mirror/released-steps.test.ts, and what comes later is 0003.

-- Members of a product's documents that an update announced with another value, as JSON (news.ts). NULL: none.
ALTER TABLE _notice ADD COLUMN awaits TEXT;

-- Members of the latest answers that cannot be read: src/service/shapes.rules.ts says what happens meanwhile.
CREATE TABLE _unreadable (
  resource TEXT NOT NULL,           -- as in _record; products: a row of the product list
  member TEXT NOT NULL,             -- dates[].availability
  product_id INTEGER NOT NULL,      -- 0: a row of the list of experiences or of tags
  edition TEXT NOT NULL,
  part INTEGER NOT NULL,            -- as in _record; of an experience or a tag its id
  example TEXT NOT NULL,            -- what was sent, as JSON, cut
  first_at INTEGER NOT NULL,        -- when the first answer was sent that had it so, and the last one
  last_at INTEGER NOT NULL,
  -- 1: too many records have it so, the answer counts as a failed read, and the mirror keeps what it showed.
  kept INTEGER NOT NULL CHECK (kept IN (0, 1)),
  PRIMARY KEY (resource, member, product_id, edition, part)
) STRICT, WITHOUT ROWID;
--
CREATE INDEX _unreadable_record ON _unreadable (product_id, part);
-- Refused prices and addresses of images stand there now, from their next read on.
DELETE FROM _outcome WHERE operation IN ('image-urls', 'prices');

-- Deliveries since the last good one that nobody understood, at most three, and the first: three of one hour are a gap.
ALTER TABLE _subscription ADD COLUMN not_understood INTEGER NOT NULL DEFAULT 0;
ALTER TABLE _subscription ADD COLUMN not_understood_at INTEGER;

-- The values of a claim that is about one, such as a time zone; NULL: the claim is about an amount.
ALTER TABLE _claim ADD COLUMN shown_as TEXT;
ALTER TABLE _claim ADD COLUMN said_as TEXT;
-- Of what a record has gained within a day: when the first answer was sent that shows it as before; NULL: none.
ALTER TABLE _claim ADD COLUMN back_at INTEGER;

-- In which way the held claims are alike, such as the ratio of their prices; NULL: they only take something away.
ALTER TABLE _held ADD COLUMN likeness TEXT;

-- An answer with variants of another product is not about its own.
CREATE INDEX _variant_owner ON _variant (variant_id);

-- Each read moves its record in the order of what is due, so rows have numbers. `times` is new, of availability: how many times
-- each of its dates has on average, by its last stored answer; NULL: not known.
CREATE TABLE _record_rebuilt (
  resource TEXT NOT NULL, product_id INTEGER NOT NULL, edition TEXT NOT NULL, part INTEGER NOT NULL,
  due_at INTEGER NOT NULL, due_reason TEXT NOT NULL, fetched_at INTEGER, changed_at INTEGER, stale_at INTEGER,
  body_hash TEXT, failures INTEGER NOT NULL DEFAULT 0, failed_at INTEGER, failure TEXT, job_id INTEGER REFERENCES _job,
  lane INTEGER NOT NULL DEFAULT 6, fetched_reason TEXT, shape REAL, exposure REAL, notified_at INTEGER, told_at INTEGER,
  off_sale_at INTEGER, unanswered_at INTEGER, shows INTEGER, times REAL,
  PRIMARY KEY (resource, product_id, edition, part)
) STRICT;
--
INSERT INTO _record_rebuilt SELECT *, NULL FROM _record ORDER BY product_id <> 0, resource, edition, part, product_id;
DROP TABLE _record;
ALTER TABLE _record_rebuilt RENAME TO _record;
CREATE INDEX record_of_product ON _record (product_id);
CREATE INDEX record_of_job ON _record (job_id) WHERE job_id IS NOT NULL;
-- Of what is due at the same instant dates come first, then one product after the other.
CREATE INDEX record_due ON _record (lane, due_at, CASE resource WHEN 'availability' THEN 0 WHEN 'checkout_information'
  THEN 1 WHEN 'experiences' THEN 2 WHEN 'product_detail' THEN 3 WHEN 'products' THEN 4 WHEN 'tags' THEN 5 ELSE 6 END,
  product_id, edition);
CREATE INDEX _record_unread ON _record (failures) WHERE fetched_at IS NULL;

-- Paths without which a mirror can be filled. `refusal`: the service lacks the path, or the key may not read it.
CREATE TABLE _offer_rebuilt (
  path TEXT PRIMARY KEY CHECK (path IN ('experiences', 'tags', 'product', 'checkout_information', 'variants', 'subscription', 'reactivate')),
  answered_at INTEGER,              -- the last answer that shows that it exists; NULL: none ever did
  refused_at INTEGER,               -- the first refusal since; NULL: none
  not_offered_at INTEGER,           -- since when it counts as not offered; NULL: it is asked as usual
  asked_at INTEGER,                 -- when it was last asked while it counts so
  refusal TEXT NOT NULL DEFAULT 'path' CHECK (refusal IN ('path', 'key'))
) STRICT, WITHOUT ROWID;
--
INSERT INTO _offer_rebuilt (path, answered_at, refused_at, not_offered_at, asked_at)
SELECT path, answered_at, refused_at, not_offered_at, asked_at FROM _offer
UNION ALL
SELECT resource, max(fetched_at), NULL, NULL, NULL FROM _record
WHERE resource IN ('checkout_information', 'variants') AND fetched_at IS NOT NULL GROUP BY resource;
--
DROP TABLE _offer;
ALTER TABLE _offer_rebuilt RENAME TO _offer;

-- Further texts of the checkout information.
ALTER TABLE checkout ADD COLUMN pre_purchase TEXT;
ALTER TABLE checkout ADD COLUMN usage TEXT;
ALTER TABLE checkout ADD COLUMN included TEXT;
ALTER TABLE checkout ADD COLUMN excluded TEXT;
ALTER TABLE checkout ADD COLUMN post_purchase TEXT;
UPDATE checkout SET
  pre_purchase = CASE json_type(document, '$.additional_information.pre_purchase') WHEN 'text'
    THEN NULLIF(json_extract(document, '$.additional_information.pre_purchase'), '') END,
  usage = CASE json_type(document, '$.additional_information.usage') WHEN 'text'
    THEN NULLIF(json_extract(document, '$.additional_information.usage'), '') END,
  included = CASE json_type(document, '$.additional_information.included') WHEN 'text'
    THEN NULLIF(json_extract(document, '$.additional_information.included'), '') END,
  excluded = CASE json_type(document, '$.additional_information.excluded') WHEN 'text'
    THEN NULLIF(json_extract(document, '$.additional_information.excluded'), '') END,
  post_purchase = CASE json_type(document, '$.additional_information.post_purchase') WHEN 'text'
    THEN NULLIF(json_extract(document, '$.additional_information.post_purchase'), '') END;

-- The last changes of each subject that may become a wave, and the counts of its answers (trust/wave.rules.ts).
CREATE TABLE _wave (
  subject TEXT PRIMARY KEY,         -- as in _claim
  state TEXT NOT NULL               -- as JSON
) STRICT, WITHOUT ROWID;

-- The times of a date with tickets. `slots` is positional JSON, trailing nulls left off: [[minute, availability,
-- [[variant_id, max_tickets, retail_price, ticket_value, booking_fee, commission, pricing_restriction, extra], ...],
-- extra], ...]. A time is not sold any more so many minutes after zero_at, when it begins at the venue. 1440, and a word
-- in place of the minute, last until the date ends. A number in place of the offers is the place of an earlier time with
-- the same ones.
CREATE TABLE slot_day_rebuilt (
  product_id INTEGER NOT NULL,
  currency TEXT NOT NULL,
  date TEXT NOT NULL,
  rest TEXT NOT NULL,               -- [availability, timezone, extra], as answered of the whole date
  slots TEXT NOT NULL,
  zero_at INTEGER NOT NULL,
  ends TEXT,                        -- JSON array: the instant of each time, where clocks change between them; or NULL
  PRIMARY KEY (product_id, currency, date)
) STRICT;
-- Dates move one by one: copied at once, they would leave the file a quarter larger.
CREATE TEMP TRIGGER slot_day_moved AFTER DELETE ON main.slot_day BEGIN
  INSERT INTO slot_day_rebuilt
  SELECT old.product_id, old.currency, old.date, old.rest, p.value ->> 3, COALESCE(p.value ->> 0, 0),
    CASE WHEN p.value ->> 1 THEN p.value -> 2 END
  FROM json_each(json_array(json((
    SELECT json_array(min(ends_at - 60000 * minute) FILTER (WHERE key = 0),
      min(ends_at - 60000 * minute) <> max(ends_at - 60000 * minute), json_group_array(ends_at ORDER BY key),
      '[' || COALESCE(group_concat('[' || said || ',' || COALESCE(availability, 'null') || ',' || CASE WHEN place < key THEN place ELSE offers END
        || COALESCE(',' || extra, '') || ']', ',' ORDER BY key), '') || ']')
    FROM (
      SELECT key, min(key) OVER (PARTITION BY offers) AS place, ends_at, availability, offers, extra, COALESCE(minute, 1440) AS minute,
        COALESCE(minute, CASE time WHEN 'whole_day' THEN 1440 ELSE json_quote(time) END) AS said
      FROM (
        SELECT key, time, ends_at, availability, offers, extra,
          CASE WHEN time GLOB '[0-2][0-9]:[0-5][0-9]' THEN 60 * substr(time, 1, 2) + substr(time, 4) END AS minute
        FROM (
          SELECT key, value ->> 0 AS time, value ->> 1 AS ends_at, value ->> 2 AS availability, value -> 3 AS offers, value -> 4 AS extra
          FROM jsonb_each(old.slots)
        )
      )
    )
  )))) p;
END;
DELETE FROM slot_day;
DROP TRIGGER slot_day_moved;
--
DROP TABLE slot_day;
ALTER TABLE slot_day_rebuilt RENAME TO slot_day;

-- Instants that every read sets: a walk of the list in which nothing has changed writes these rows alone.
CREATE TABLE _product_read (
  product_id INTEGER PRIMARY KEY,
  read_at INTEGER NOT NULL,         -- when the newest stored read of it was sent: an older one changes nothing
  images_verified_at INTEGER,       -- when the newest complete read of its images was sent
  list_place INTEGER                -- in the service's own order, where the list is asked for in it; from 1
) STRICT;
--
INSERT INTO _product_read SELECT product_id, read_at, images_verified_at, list_place
FROM _product LEFT JOIN _product_list_place USING (product_id) ORDER BY product_id;
DROP TABLE _product_list_place;
DROP INDEX product_images_verified;
ALTER TABLE _product DROP COLUMN read_at;
ALTER TABLE _product DROP COLUMN images_verified_at;

-- Of the texts of a product in one language.
CREATE TABLE _text_read (
  product_id INTEGER NOT NULL,
  language TEXT NOT NULL,
  checked_at INTEGER NOT NULL,
  stale_at INTEGER NOT NULL,
  list_read_at INTEGER,
  detail_read_at INTEGER,
  held_at INTEGER,                  -- as in date_window
  shown_stale_at INTEGER NOT NULL GENERATED ALWAYS AS (COALESCE(held_at, stale_at)) VIRTUAL,
  expired_at INTEGER NOT NULL GENERATED ALWAYS AS (4 * stale_at - 4 * checked_at + COALESCE(held_at, checked_at)) VIRTUAL,
  PRIMARY KEY (product_id, language)
) STRICT, WITHOUT ROWID;
--
INSERT INTO _text_read (product_id, language, checked_at, stale_at, list_read_at, detail_read_at, held_at)
SELECT product_id, language, checked_at, stale_at, list_read_at, detail_read_at, held_at FROM _product_text ORDER BY 1, 2;
-- Made anew: SQLite goes through the whole schema for each column that is dropped.
CREATE TABLE _product_text_rebuilt (
  product_id INTEGER NOT NULL REFERENCES _product, language TEXT NOT NULL, title TEXT, tagline TEXT, city_name TEXT,
  city_path TEXT, country_name TEXT, changed_at INTEGER NOT NULL, list_document TEXT, list_hash TEXT,
  detail_document TEXT, detail_hash TEXT, merged_document TEXT, PRIMARY KEY (product_id, language)
) STRICT;
--
INSERT INTO _product_text_rebuilt SELECT product_id, language, title, tagline, city_name, city_path, country_name,
  changed_at, list_document, list_hash, detail_document, detail_hash, merged_document FROM _product_text ORDER BY rowid;
DROP TABLE _product_text;
ALTER TABLE _product_text_rebuilt RENAME TO _product_text;
ALTER TABLE product DROP COLUMN shown_stale_at;
ALTER TABLE product DROP COLUMN expired_at;
ALTER TABLE product DROP COLUMN checked_at;
ALTER TABLE product DROP COLUMN stale_at;
ALTER TABLE product DROP COLUMN held_at;
ALTER TABLE product DROP COLUMN detail_read_at;

-- Of the prices of a product in one currency, as the list says them.
CREATE TABLE _price_read (
  product_id INTEGER NOT NULL,
  currency TEXT NOT NULL,
  checked_at INTEGER NOT NULL,
  stale_at INTEGER NOT NULL,
  held_at INTEGER,                  -- as in _text_read
  shown_stale_at INTEGER NOT NULL GENERATED ALWAYS AS (COALESCE(held_at, stale_at)) VIRTUAL,
  expired_at INTEGER NOT NULL GENERATED ALWAYS AS (4 * stale_at - 4 * checked_at + COALESCE(held_at, checked_at)) VIRTUAL,
  PRIMARY KEY (product_id, currency)
) STRICT, WITHOUT ROWID;
--
INSERT INTO _price_read (product_id, currency, checked_at, stale_at, held_at)
SELECT product_id, currency, checked_at, stale_at, held_at FROM price WHERE checked_at IS NOT NULL
GROUP BY product_id, currency;
CREATE TABLE price_rebuilt (
  product_id INTEGER NOT NULL REFERENCES _product, currency TEXT NOT NULL, until_at INTEGER NOT NULL,
  from_at INTEGER NOT NULL, from_price INTEGER, prediscount_price INTEGER, lowest_price INTEGER,
  lowest_adult_price INTEGER, price_variant_type TEXT, shut INTEGER NOT NULL CHECK (shut BETWEEN 0 AND 3), PRIMARY KEY (product_id, currency, until_at)
) STRICT, WITHOUT ROWID;
--
INSERT INTO price_rebuilt SELECT product_id, currency, until_at, from_at, from_price, prediscount_price, lowest_price,
  lowest_adult_price, price_variant_type, shut FROM price;
DROP TABLE price;
ALTER TABLE price_rebuilt RENAME TO price;

-- The rows that a walk has met, by page: where the service has no single-product read, a product's page decides about a
-- notification.
CREATE TABLE _walk_page (
  resource TEXT NOT NULL,
  edition TEXT NOT NULL,
  attempt INTEGER NOT NULL,
  page INTEGER NOT NULL,            -- 0: not known
  ids TEXT NOT NULL,                -- JSON array; an attempt has each of them once
  PRIMARY KEY (resource, edition, attempt, page)
) STRICT, WITHOUT ROWID;
--
INSERT INTO _walk_page SELECT resource, edition, attempt, COALESCE(page, 0), json_group_array(id) FROM _walk_row
GROUP BY 1, 2, 3, 4;
DROP TABLE _walk_row;

-- Of tables that are small, or read whole: every connection of a reader would parse them.
DROP INDEX closure_applied;
DROP INDEX gap_open;
DROP INDEX image_credit_at;
DROP INDEX image_takedown_at;
DROP INDEX check_count_day;
