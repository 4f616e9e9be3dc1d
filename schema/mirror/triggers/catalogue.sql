-- Rows that several writers change follow the rows that decide them. Each connection that writes a mirror makes these triggers for
-- itself, once the schema is up to date (src/kernel/sqlite/database-file.ts): in the file every reader would parse them.

CREATE TEMP TRIGGER product_differs AFTER UPDATE OF
  sale_status, closure_unconfirmed, disabled_reason, disabled_source, expected_reopening, alternative_product_id, city_id, country_id, venue_id,
  latitude, longitude, timezone, rating, rating_count ON _product
BEGIN
  UPDATE product SET (sellable, sale_status, disabled_reason, disabled_source, expected_reopening, alternative_product_id, city_id, country_id,
      venue_id, latitude, longitude, timezone, rating, rating_count, utc_offset, offset_until_at, next_utc_offset) =
    (SELECT sellable, sale_status, disabled_reason, disabled_source, expected_reopening, alternative_product_id, city_id, country_id,
      venue_id, latitude, longitude, timezone, rating, rating_count,
      (SELECT offset_minutes FROM _zone_offset WHERE timezone = new.timezone ORDER BY valid_from LIMIT 1),
      (SELECT valid_from FROM _zone_offset WHERE timezone = new.timezone ORDER BY valid_from LIMIT 1 OFFSET 1),
      (SELECT offset_minutes FROM _zone_offset WHERE timezone = new.timezone ORDER BY valid_from LIMIT 1 OFFSET 1)
    FROM _product WHERE product_id = new.product_id)
  WHERE product_id = new.product_id;
END;

CREATE TEMP TRIGGER product_withdrawn AFTER UPDATE OF withdrawn_at ON _product WHEN new.withdrawn_at IS NOT NULL
BEGIN
  DELETE FROM product WHERE product_id = new.product_id;
  DELETE FROM product_tags WHERE product_id = new.product_id;
END;

CREATE TEMP TRIGGER experience_linked AFTER INSERT ON _product_experience
BEGIN
  INSERT INTO product_experiences SELECT product_id, new.experience_id FROM _product
    WHERE product_id = new.product_id AND withdrawn_at IS NULL AND venue_id IS NOT new.experience_id;
END;

CREATE TEMP TRIGGER experience_unlinked AFTER DELETE ON _product_experience
BEGIN
  DELETE FROM product_experiences WHERE product_id = old.product_id AND experience_id = old.experience_id
    AND NOT EXISTS (SELECT 1 FROM _product WHERE product_id = old.product_id AND venue_id = old.experience_id);
END;

CREATE TEMP TRIGGER product_linked AFTER INSERT ON _product
BEGIN
  INSERT INTO product_experiences SELECT product_id, experience_id FROM _product_experience WHERE product_id = new.product_id AND new.withdrawn_at IS NULL
    UNION SELECT new.product_id, new.venue_id WHERE new.venue_id IS NOT NULL AND new.withdrawn_at IS NULL;
END;

CREATE TEMP TRIGGER product_linked_anew AFTER UPDATE OF venue_id, withdrawn_at ON _product
WHEN (new.venue_id, new.withdrawn_at IS NULL) IS NOT (old.venue_id, old.withdrawn_at IS NULL)
BEGIN
  DELETE FROM product_experiences WHERE product_id = new.product_id;
  INSERT INTO product_experiences SELECT product_id, experience_id FROM _product_experience WHERE product_id = new.product_id AND new.withdrawn_at IS NULL
    UNION SELECT new.product_id, new.venue_id WHERE new.venue_id IS NOT NULL AND new.withdrawn_at IS NULL;
END;

CREATE TEMP TRIGGER product_withdrawn_or_back AFTER UPDATE OF withdrawn_at ON _product
WHEN (old.withdrawn_at IS NULL) <> (new.withdrawn_at IS NULL) BEGIN
  UPDATE checkout SET shown = new.withdrawn_at IS NULL AND language IN (SELECT l.language FROM languages l) WHERE product_id = new.product_id;
END;

CREATE TEMP TRIGGER product_shut AFTER UPDATE OF sale_status, closure_unconfirmed, withdrawn_at, dates_off_at ON _product WHEN new.shut <> old.shut BEGIN
  UPDATE date_window SET shut = new.shut WHERE product_id = new.product_id;
  UPDATE price SET shut = new.shut WHERE product_id = new.product_id;
END;

CREATE TEMP TRIGGER image_file_changed AFTER UPDATE OF file ON _image_file WHEN old.file IS NOT new.file BEGIN
  UPDATE image SET file = new.file
  WHERE product_id = new.product_id AND image_key = new.image_key AND new.size = (SELECT image_size FROM _mirror);
END;

CREATE TEMP TRIGGER image_file_added AFTER INSERT ON _image_file WHEN new.file IS NOT NULL BEGIN
  UPDATE image SET file = new.file
  WHERE product_id = new.product_id AND image_key = new.image_key AND new.size = (SELECT image_size FROM _mirror);
END;

CREATE TEMP TRIGGER image_file_dropped AFTER DELETE ON _image_file WHEN old.file IS NOT NULL BEGIN
  UPDATE image SET file = NULL
  WHERE product_id = old.product_id AND image_key = old.image_key AND old.size = (SELECT image_size FROM _mirror);
END;

CREATE TEMP TRIGGER image_size_changed AFTER UPDATE OF image_size ON _mirror WHEN old.image_size IS NOT new.image_size BEGIN
  UPDATE image SET file = (SELECT f.file FROM _image_file f
    WHERE f.product_id = image.product_id AND f.image_key = image.image_key AND f.size = new.image_size);
END;

CREATE TEMP TRIGGER record_off_sale_changed AFTER UPDATE OF off_sale_at ON _record WHEN OLD.off_sale_at IS NOT NEW.off_sale_at
BEGIN
  UPDATE _product SET dates_off_at = (SELECT min(off_sale_at) FROM _record WHERE product_id = NEW.product_id AND off_sale_at IS NOT NULL)
  WHERE product_id = NEW.product_id;
END;

CREATE TEMP TRIGGER record_off_sale_dropped AFTER DELETE ON _record WHEN OLD.off_sale_at IS NOT NULL
BEGIN
  UPDATE _product SET dates_off_at = (SELECT min(off_sale_at) FROM _record WHERE product_id = OLD.product_id AND off_sale_at IS NOT NULL)
  WHERE product_id = OLD.product_id;
END;

-- Elsewhere the same time is another instant.
CREATE TEMP TRIGGER product_zone_changed AFTER UPDATE OF timezone ON _product WHEN new.timezone IS NOT old.timezone BEGIN
  INSERT OR IGNORE INTO _unpriced VALUES (new.product_id);
END;
