-- Oldest safe version: 0.1.0
-- Names that begin with `_` are private: the others are the contract.

DROP VIEW IF EXISTS alternatives;
DROP VIEW IF EXISTS availability_days;
DROP VIEW IF EXISTS availability_error_rate;
DROP VIEW IF EXISTS availability_slots;
DROP VIEW IF EXISTS bookable_days;
DROP VIEW IF EXISTS changes;
DROP VIEW IF EXISTS checkout_information;
DROP VIEW IF EXISTS cities;
DROP VIEW IF EXISTS countries;
DROP VIEW IF EXISTS currencies;
DROP VIEW IF EXISTS experiences;
DROP VIEW IF EXISTS freshness;
DROP VIEW IF EXISTS images;
DROP VIEW IF EXISTS languages;
DROP VIEW IF EXISTS mirror_info;
DROP VIEW IF EXISTS place_rows;
DROP VIEW IF EXISTS policies;
DROP VIEW IF EXISTS product_experiences;
DROP VIEW IF EXISTS product_popularity;
DROP VIEW IF EXISTS product_prices;
DROP VIEW IF EXISTS product_tags;
DROP VIEW IF EXISTS products;
DROP VIEW IF EXISTS search_deletes;
DROP VIEW IF EXISTS search_entries;
DROP VIEW IF EXISTS search_generic_words;
DROP VIEW IF EXISTS search_letters;
DROP VIEW IF EXISTS search_rows;
DROP VIEW IF EXISTS search_words;
DROP VIEW IF EXISTS subscriptions;
DROP VIEW IF EXISTS variants;
DROP VIEW IF EXISTS withdrawn_products;
ALTER TABLE mirror RENAME TO _mirror;
ALTER TABLE zone_offset RENAME TO _zone_offset;
ALTER TABLE product RENAME TO _product;
ALTER TABLE product_text RENAME TO _product_text;
ALTER TABLE search_entry RENAME TO _search_entry;
ALTER TABLE search_text RENAME TO _search_text;
ALTER TABLE search_word RENAME TO _search_word;
ALTER TABLE search_delete RENAME TO _search_delete;
ALTER TABLE search_letter RENAME TO _search_letter;
ALTER TABLE search_generic_word RENAME TO _search_generic_word;
ALTER TABLE search_rules RENAME TO _search_rules;
ALTER TABLE product_list_place RENAME TO _product_list_place;
ALTER TABLE product_price RENAME TO _product_price;
ALTER TABLE product_tag RENAME TO _product_tag;
ALTER TABLE experience RENAME TO _experience;
ALTER TABLE mirror_language RENAME TO _mirror_language;
ALTER TABLE product_experience RENAME TO _product_experience;
ALTER TABLE image RENAME TO _image;
ALTER TABLE image_credit RENAME TO _image_credit;
ALTER TABLE image_takedown RENAME TO _image_takedown;
ALTER TABLE image_file RENAME TO _image_file;
ALTER TABLE checkout_information_read RENAME TO _checkout_information_read;
ALTER TABLE variant RENAME TO _variant;
ALTER TABLE availability_context RENAME TO _availability_context;
ALTER TABLE availability_span RENAME TO _availability_span;
ALTER TABLE day RENAME TO _day;
ALTER TABLE bookable RENAME TO _bookable;
ALTER TABLE printed_price RENAME TO _printed_price;
ALTER TABLE unpriced RENAME TO _unpriced;
ALTER TABLE day_document RENAME TO _day_document;
ALTER TABLE record RENAME TO _record;
ALTER TABLE closure RENAME TO _closure;
ALTER TABLE walk RENAME TO _walk;
ALTER TABLE walk_row RENAME TO _walk_row;
ALTER TABLE job RENAME TO _job;
ALTER TABLE change RENAME TO _change;
ALTER TABLE absence RENAME TO _absence;
ALTER TABLE experience_absence RENAME TO _experience_absence;
ALTER TABLE offer RENAME TO _offer;
ALTER TABLE hold RENAME TO _hold;
ALTER TABLE alarm RENAME TO _alarm;
ALTER TABLE subscription RENAME TO _subscription;
ALTER TABLE subscription_product RENAME TO _subscription_product;
ALTER TABLE notice RENAME TO _notice;
ALTER TABLE expected_notice RENAME TO _expected_notice;
ALTER TABLE gap RENAME TO _gap;
ALTER TABLE budget RENAME TO _budget;
ALTER TABLE check_count RENAME TO _check_count;
ALTER TABLE promise RENAME TO _promise;
DROP TABLE product_search;
CREATE VIRTUAL TABLE product_search USING fts5(
  title, tagline, summary, city, venue, product_id UNINDEXED, language UNINDEXED,
  content = '_search_entry', content_rowid = 'search_id', tokenize = 'unicode61 remove_diacritics 2', prefix = '2 3'
);
INSERT INTO product_search (product_search, rank) VALUES ('rank', 'bm25(10.0, 4.0, 1.0, 6.0, 5.0)');
INSERT INTO product_search (product_search) SELECT 'rebuild' WHERE EXISTS (SELECT 1 FROM _search_entry);
DROP TABLE search_terms;
CREATE VIRTUAL TABLE search_terms USING fts5(
  name, title, city, country, venue, tagline, summary,
  content = '_search_text', content_rowid = 'search_id', tokenize = 'ascii', prefix = '2 3'
);
INSERT INTO search_terms (search_terms) SELECT 'rebuild' WHERE EXISTS (SELECT 1 FROM _search_text);
