-- Oldest safe version: 0.1.0
-- Copies of the image files: one row an image of a product and size, whether or not its file was fetched yet.
CREATE TABLE image_file (
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
  failure TEXT,                     -- of the last one; 'gone': hidden until a read of the product sent after checked_at returns it
  PRIMARY KEY (product_id, image_key, size)
) STRICT;
