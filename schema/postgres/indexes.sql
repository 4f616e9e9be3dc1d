-- Beside the primary keys: what the views are read by.
CREATE INDEX ON _product (city_id) WHERE withdrawn_at IS NULL;
CREATE INDEX ON _product (country_id, city_id, sellable) WHERE withdrawn_at IS NULL;
CREATE INDEX ON _product (venue_id) WHERE withdrawn_at IS NULL;
CREATE INDEX ON _product_tag (tag_id, product_id);
CREATE INDEX ON _product_experience (experience_id, product_id);
CREATE INDEX ON _bookable (currency, date, lowest_adult_price, product_id);
CREATE INDEX ON _change (product_id, date);
CREATE INDEX ON _subscription_product (product_id);
-- Places: a box around a point, then the distance. Words: whole terms, as they were prepared.
CREATE INDEX ON product_places USING gist (point(min_longitude, min_latitude));
CREATE INDEX ON _search_text USING gin (string_to_array(name || ' ' || title || ' ' || city || ' ' || country || ' ' || venue || ' ' || tagline || ' ' || summary, ' '));
