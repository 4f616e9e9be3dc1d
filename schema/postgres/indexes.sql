-- Beside the primary keys: what the views are read by.
CREATE INDEX ON _product (city_id) WHERE withdrawn_at IS NULL;
CREATE INDEX ON _product (country_id, city_id, sellable) WHERE withdrawn_at IS NULL;
CREATE INDEX ON _product (venue_id) WHERE withdrawn_at IS NULL;
CREATE INDEX ON product (city_id, language);
CREATE INDEX ON product (country_id, language);
CREATE INDEX ON product (venue_id, language);
CREATE INDEX ON product_tags (tag_id, product_id);
CREATE INDEX ON product_experiences (experience_id, product_id);
CREATE INDEX ON day (currency, date, lowest_adult_price, product_id) WHERE state = 'available';
CREATE INDEX ON date_window (product_id);
CREATE INDEX ON _change (product_id, date);
CREATE INDEX ON _subscription_product (product_id);
-- Places on a globe of radius 1, and the terms of words as they were prepared.
CREATE INDEX ON product_places USING gist (point(x, y));
CREATE INDEX ON search_words (language, word, term);
CREATE INDEX ON _search_text USING gin (_terms(name, title, city, country, venue, tagline, summary));
