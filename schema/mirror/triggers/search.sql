-- The indexes of the search follow the texts that they index, as well in a copy that follows a daemon. See catalogue.sql.

CREATE TEMP TRIGGER search_entry_added AFTER INSERT ON search_entries BEGIN
  INSERT INTO product_search (rowid, title, tagline, summary, city, venue, product_id, language)
  VALUES (new.search_id, new.title, new.tagline, new.summary, new.city, new.venue, new.product_id, new.language);
END;

CREATE TEMP TRIGGER search_entry_dropped AFTER DELETE ON search_entries BEGIN
  INSERT INTO product_search (product_search, rowid, title, tagline, summary, city, venue, product_id, language)
  VALUES ('delete', old.search_id, old.title, old.tagline, old.summary, old.city, old.venue, old.product_id, old.language);
END;

CREATE TEMP TRIGGER search_entry_changed AFTER UPDATE ON search_entries BEGIN
  INSERT INTO product_search (product_search, rowid, title, tagline, summary, city, venue, product_id, language)
  VALUES ('delete', old.search_id, old.title, old.tagline, old.summary, old.city, old.venue, old.product_id, old.language);
  INSERT INTO product_search (rowid, title, tagline, summary, city, venue, product_id, language)
  VALUES (new.search_id, new.title, new.tagline, new.summary, new.city, new.venue, new.product_id, new.language);
END;

CREATE TEMP TRIGGER search_text_added AFTER INSERT ON _search_text BEGIN
  INSERT INTO search_terms (rowid, name, title, city, country, venue, tagline, summary)
  VALUES (new.search_id, new.name, new.title, new.city, new.country, new.venue, new.tagline, new.summary);
END;

CREATE TEMP TRIGGER search_text_dropped AFTER DELETE ON _search_text BEGIN
  INSERT INTO search_terms (search_terms, rowid, name, title, city, country, venue, tagline, summary)
  VALUES ('delete', old.search_id, old.name, old.title, old.city, old.country, old.venue, old.tagline, old.summary);
END;

CREATE TEMP TRIGGER search_text_changed AFTER UPDATE ON _search_text BEGIN
  INSERT INTO search_terms (search_terms, rowid, name, title, city, country, venue, tagline, summary)
  VALUES ('delete', old.search_id, old.name, old.title, old.city, old.country, old.venue, old.tagline, old.summary);
  INSERT INTO search_terms (rowid, name, title, city, country, venue, tagline, summary)
  VALUES (new.search_id, new.name, new.title, new.city, new.country, new.venue, new.tagline, new.summary);
END;
