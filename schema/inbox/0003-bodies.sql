-- Oldest safe version: 0.1.0
-- Bodies are compressed, and within a budget: one that had to go leaves its row, with its hash, length and instants.
-- How a body is stored: NULL as it came, 1 zstd, 0 it is gone. None of these takes a byte behind the body, so that lists
-- still do not read through it.
ALTER TABLE delivery ADD COLUMN coding INTEGER CHECK (coding IN (0, 1));
-- In the order in which bodies go: what is in quarantine last.
CREATE INDEX delivery_spent ON delivery (state = 'quarantined', delivery_id) WHERE state <> 'waiting' AND coding IS NOT 0;

ALTER TABLE inbox ADD COLUMN stored_bytes INTEGER NOT NULL DEFAULT 0;  -- of bodies as they are stored, and 512 for each row
ALTER TABLE inbox ADD COLUMN bodies_gone INTEGER NOT NULL DEFAULT 0;   -- ever: to stay within the budget
UPDATE inbox SET stored_bytes = (SELECT coalesce(sum(length(body) + 512), 0) FROM delivery);
CREATE TRIGGER delivery_in AFTER INSERT ON delivery BEGIN
  UPDATE inbox SET stored_bytes = stored_bytes + length(NEW.body) + 512;
END;
CREATE TRIGGER delivery_out AFTER DELETE ON delivery BEGIN
  UPDATE inbox SET stored_bytes = stored_bytes - length(OLD.body) - 512;
END;
CREATE TRIGGER delivery_body_gone AFTER UPDATE OF body ON delivery BEGIN
  UPDATE inbox SET stored_bytes = stored_bytes + length(NEW.body) - length(OLD.body);
END;
