-- Oldest safe version: 0.1.0
-- Search for what people type: words with their endings taken off, and what a typo makes of them. src/mirror/catalogue/search
-- fills all of it, in the transaction that changes a product, and where an older version has written the mirror when it is opened.

-- What a product says in a language as terms, apart by where it says it; the same search_id as in search_entry.
CREATE TABLE search_text (
  search_id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,               -- the title up to its colon, without the words of its city
  title TEXT NOT NULL,
  city TEXT NOT NULL,
  country TEXT NOT NULL,
  venue TEXT NOT NULL,
  tagline TEXT NOT NULL,
  summary TEXT NOT NULL
) STRICT;

-- Terms are folded already: "ascii" takes every other letter as it is.
CREATE VIRTUAL TABLE search_terms USING fts5(
  name, title, city, country, venue, tagline, summary,
  content = 'search_text', content_rowid = 'search_id', tokenize = 'ascii', prefix = '2 3'
);

CREATE TRIGGER search_text_added AFTER INSERT ON search_text BEGIN
  INSERT INTO search_terms (rowid, name, title, city, country, venue, tagline, summary)
  VALUES (new.search_id, new.name, new.title, new.city, new.country, new.venue, new.tagline, new.summary);
END;
CREATE TRIGGER search_text_dropped AFTER DELETE ON search_text BEGIN
  INSERT INTO search_terms (search_terms, rowid, name, title, city, country, venue, tagline, summary)
  VALUES ('delete', old.search_id, old.name, old.title, old.city, old.country, old.venue, old.tagline, old.summary);
END;
CREATE TRIGGER search_text_changed AFTER UPDATE ON search_text BEGIN
  INSERT INTO search_terms (search_terms, rowid, name, title, city, country, venue, tagline, summary)
  VALUES ('delete', old.search_id, old.name, old.title, old.city, old.country, old.venue, old.tagline, old.summary);
  INSERT INTO search_terms (rowid, name, title, city, country, venue, tagline, summary)
  VALUES (new.search_id, new.name, new.title, new.city, new.country, new.venue, new.tagline, new.summary);
END;

ALTER TABLE search_entry ADD COLUMN country TEXT;
UPDATE search_entry SET country = (SELECT t.country_name FROM product_text t
  WHERE t.product_id = search_entry.product_id AND t.language = search_entry.language);

-- A word as people type it, folded, and the term that stands for it; of words written as one, the terms one after the other.
CREATE TABLE search_word (
  word TEXT NOT NULL,
  language TEXT NOT NULL,
  term TEXT NOT NULL,
  documents INTEGER NOT NULL,       -- how many entries have it
  PRIMARY KEY (word, language, term)
) STRICT, WITHOUT ROWID;

CREATE TABLE search_delete (
  shorter TEXT NOT NULL,
  word TEXT NOT NULL,
  PRIMARY KEY (shorter, word)
) STRICT, WITHOUT ROWID;

CREATE TABLE search_letter (letter TEXT PRIMARY KEY, folded TEXT NOT NULL) STRICT, WITHOUT ROWID;

CREATE TABLE search_generic_word (
  language TEXT NOT NULL,
  word TEXT NOT NULL,
  PRIMARY KEY (language, word)
) STRICT, WITHOUT ROWID;

-- By which rules all of this was made; another version makes it again.
CREATE TABLE search_rules (
  rules_id INTEGER PRIMARY KEY CHECK (rules_id = 1),
  version TEXT NOT NULL
) STRICT;

CREATE VIEW search_words AS SELECT language, word, term, documents FROM search_word;
CREATE VIEW search_deletes AS SELECT shorter, word FROM search_delete;
CREATE VIEW search_letters AS SELECT letter, folded FROM search_letter;
CREATE VIEW search_generic_words AS SELECT language, word FROM search_generic_word;

-- What was found, by the rowid of search_terms and of product_search: typed, as no virtual table is.
CREATE VIEW search_entries AS
SELECT search_id, product_id, language, title, tagline, summary, city, country, venue FROM search_entry;

-- The same as product_search, with types: entry is what MATCH asks, as in: WHERE entry MATCH 'word'.
CREATE VIEW search_rows AS
SELECT s.product_search AS entry, s.rank AS rank, CAST(s.product_id AS INTEGER) AS product_id, CAST(s.language AS TEXT) AS language,
  CAST(s.title AS TEXT) AS title, CAST(s.tagline AS TEXT) AS tagline, CAST(s.summary AS TEXT) AS summary,
  CAST(s.city AS TEXT) AS city, CAST(s.venue AS TEXT) AS venue
FROM product_search s;

-- A product's place in the service's own order, where the list is asked for in it; the first is 1.
CREATE TABLE product_list_place (
  product_id INTEGER PRIMARY KEY,
  list_place INTEGER NOT NULL
) STRICT;

ALTER TABLE product ADD COLUMN rating_count INTEGER;   -- by how many people; NULL: not said
UPDATE product SET rating_count = (
  SELECT CASE json_type(t.document, '$.ratings.total') WHEN 'integer' THEN json_extract(t.document, '$.ratings.total') END
  FROM (SELECT product_id, language, COALESCE(merged_document, detail_document, list_document) AS document FROM product_text) t
  JOIN mirror m ON m.language = t.language WHERE t.product_id = product.product_id);
-- Nobody rates with no star: that is what no rating looks like.
UPDATE product SET rating = NULL WHERE rating <= 0 OR rating_count = 0;

-- By what is found can be ordered. No power function: sales are halved once a month. The place is the one in the service's
-- order, halved for every doubling of own sales; where that order is not known, a rating counts as much as there are
-- people behind it: with ten of them half, the other half is 4 of 5.
DROP VIEW product_popularity;
CREATE VIEW product_popularity AS
SELECT product_id, sellable,
  0.5 * min(max(COALESCE(rating, 3.0), 0.0), 5.0) / 5.0 + 0.5 * (1.0 - 10.0 / (10.0 + recent)) AS popularity,
  list_place, rating_count, weighed_rating, CAST(recent AS INTEGER) AS recent_sales,
  max(1, COALESCE(list_place, 10001 - 2 * weighed_rating)
    >> ((recent >= 1) + (recent >= 2) + (recent >= 4) + (recent >= 8) + (recent >= 16) + (recent >= 32) + (recent >= 64)
      + (recent >= 128) + (recent >= 256) + (recent >= 512))) AS place
FROM (
  SELECT p.product_id, p.sellable, p.rating, p.rating_count, l.list_place,
    CAST(round(1000 * (40.0 + min(max(COALESCE(p.rating, 4.0), 0.0), 5.0) * CASE WHEN p.rating IS NULL THEN 0 ELSE COALESCE(p.rating_count, 10) END)
      / (10.0 + CASE WHEN p.rating IS NULL THEN 0 ELSE COALESCE(p.rating_count, 10) END)) AS INTEGER) AS weighed_rating,
    p.sold / (1 << CAST(min(max((julianday('now')-2440587.5)*86400000 - COALESCE(p.sold_at, 0), 0.0) / 2592000000.0, 60.0) AS INTEGER)) AS recent
  FROM product p
  LEFT JOIN product_list_place l ON l.product_id = p.product_id
  WHERE p.withdrawn_at IS NULL
);
