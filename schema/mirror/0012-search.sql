-- Oldest safe version: 0.1.0
-- Full-text search over what visible products say, and their places. Written only by the transaction that changes a product.

-- What product_search has indexed: src/mirror/search.ts keeps it. A table of its own, with an integer key: rows of product_text are renumbered by VACUUM,
-- and the index needs to know what to forget.
CREATE TABLE search_entry (
  search_id INTEGER PRIMARY KEY,
  product_id INTEGER NOT NULL,
  language TEXT NOT NULL,
  title TEXT,
  tagline TEXT,
  summary TEXT,
  city TEXT,
  venue TEXT,                       -- the title of the venue's experience; where it is not known, what the product calls it
  UNIQUE (product_id, language)
) STRICT;

CREATE VIRTUAL TABLE product_search USING fts5(
  title, tagline, summary, city, venue, product_id UNINDEXED, language UNINDEXED,
  content = 'search_entry', content_rowid = 'search_id', tokenize = 'unicode61 remove_diacritics 2', prefix = '2 3'
);
-- The hidden column "rank": a word of the title counts most, then the city and the venue.
INSERT INTO product_search (product_search, rank) VALUES ('rank', 'bm25(10.0, 4.0, 1.0, 6.0, 5.0)');

CREATE TRIGGER search_entry_added AFTER INSERT ON search_entry BEGIN
  INSERT INTO product_search (rowid, title, tagline, summary, city, venue, product_id, language)
  VALUES (new.search_id, new.title, new.tagline, new.summary, new.city, new.venue, new.product_id, new.language);
END;
CREATE TRIGGER search_entry_dropped AFTER DELETE ON search_entry BEGIN
  INSERT INTO product_search (product_search, rowid, title, tagline, summary, city, venue, product_id, language)
  VALUES ('delete', old.search_id, old.title, old.tagline, old.summary, old.city, old.venue, old.product_id, old.language);
END;
CREATE TRIGGER search_entry_changed AFTER UPDATE ON search_entry BEGIN
  INSERT INTO product_search (product_search, rowid, title, tagline, summary, city, venue, product_id, language)
  VALUES ('delete', old.search_id, old.title, old.tagline, old.summary, old.city, old.venue, old.product_id, old.language);
  INSERT INTO product_search (rowid, title, tagline, summary, city, venue, product_id, language)
  VALUES (new.search_id, new.title, new.tagline, new.summary, new.city, new.venue, new.product_id, new.language);
END;

-- A place is a box without extent, rounded outwards; x, y and z are the same place on a globe of radius 1, exactly: the
-- distance of two places follows from them without a cosine, also at the poles and across the antimeridian.
CREATE VIRTUAL TABLE product_places USING rtree(
  product_id, min_latitude, max_latitude, min_longitude, max_longitude, +x REAL, +y REAL, +z REAL
);

-- Products of one venue, and the venue's own arm of product_experiences.
CREATE INDEX product_by_venue ON product (venue_id) WHERE withdrawn_at IS NULL;

INSERT INTO search_entry (product_id, language, title, tagline, summary, city, venue)
SELECT product_id, language, title, tagline,
  CASE json_type(document, '$.summary') WHEN 'text' THEN json_extract(document, '$.summary') END,
  city_name,
  COALESCE(venue_title, CASE json_type(document, '$.venue.name') WHEN 'text' THEN json_extract(document, '$.venue.name') END)
FROM (
  SELECT t.*, e.title AS venue_title, COALESCE(t.merged_document, t.detail_document, t.list_document) AS document
  FROM product_text t
  JOIN product p ON p.product_id = t.product_id
  LEFT JOIN experience e ON e.experience_id = p.venue_id
  WHERE p.withdrawn_at IS NULL
)
ORDER BY product_id, language;
INSERT INTO product_search (product_search) VALUES ('optimize');

INSERT INTO product_places (product_id, min_latitude, max_latitude, min_longitude, max_longitude, x, y, z)
SELECT product_id, latitude, latitude, longitude, longitude,
  cos(radians(latitude)) * cos(radians(longitude)), cos(radians(latitude)) * sin(radians(longitude)), sin(radians(latitude))
FROM product
WHERE withdrawn_at IS NULL AND latitude BETWEEN -90 AND 90 AND longitude BETWEEN -180 AND 180
ORDER BY product_id;

-- By what is found can be ordered. No power function: sales are halved once a month.
CREATE VIEW product_popularity AS
SELECT p.product_id, p.sellable,
  0.5 * min(max(COALESCE(p.rating, 3.0), 0.0), 5.0) / 5.0 + 0.5 * (1.0 - 10.0 / (10.0 + p.sold / (1 << CAST(
    min(max((julianday('now')-2440587.5)*86400000 - COALESCE(p.sold_at, 0), 0.0) / 2592000000.0, 60.0) AS INTEGER)))) AS popularity
FROM product p
WHERE p.withdrawn_at IS NULL;

-- What is mirrored: the primary ones, and the editions of the product list that are walked.
CREATE VIEW languages AS
SELECT language, max(is_primary) AS is_primary
FROM (
  SELECT m.language, 1 AS is_primary FROM mirror m WHERE m.language IS NOT NULL
  UNION ALL
  SELECT substr(r.edition, 1, instr(r.edition, '/') - 1), 0 FROM record r WHERE r.resource = 'products' AND r.product_id = 0
)
GROUP BY language;

CREATE VIEW currencies AS
SELECT currency, max(is_primary) AS is_primary
FROM (
  SELECT m.currency, 1 AS is_primary FROM mirror m WHERE m.currency IS NOT NULL
  UNION ALL
  SELECT substr(r.edition, instr(r.edition, '/') + 1), 0 FROM record r WHERE r.resource = 'products' AND r.product_id = 0
)
GROUP BY currency;

-- As before, each step by key: without CROSS JOIN every product is looked at.
DROP VIEW alternatives;
CREATE VIEW alternatives AS
WITH RECURSIVE recommended (product_id, candidate_id, depth) AS (
  SELECT p.product_id, p.alternative_product_id, 1
  FROM product p
  WHERE p.alternative_product_id IS NOT NULL AND p.withdrawn_at IS NULL AND p.sellable = 0 AND p.closure_unconfirmed = 0
  UNION ALL
  SELECT r.product_id, c.alternative_product_id, r.depth + 1
  FROM recommended r
  CROSS JOIN product c ON c.product_id = r.candidate_id
  WHERE c.sellable = 0 AND +c.alternative_product_id IS NOT NULL AND r.depth < 8
)
SELECT r.product_id, r.candidate_id AS alternative_product_id
FROM recommended r
CROSS JOIN product a ON a.product_id = r.candidate_id
WHERE a.sellable = 1 AND r.candidate_id <> r.product_id;
