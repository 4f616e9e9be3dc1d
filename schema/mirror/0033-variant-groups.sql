-- Oldest safe version: 0.1.0
-- What the groups of variants are called. Only availability says so, and the answer of a window may name fewer than another.
CREATE TABLE _variant_group (
  product_id INTEGER NOT NULL REFERENCES _product,
  group_id INTEGER NOT NULL,
  name TEXT NOT NULL,
  read_at INTEGER NOT NULL,
  PRIMARY KEY (product_id, group_id)
) STRICT, WITHOUT ROWID;

-- An answer that stays the same is not stored again, so the names come from what is kept of the last one.
INSERT OR REPLACE INTO _variant_group (product_id, group_id, name, read_at)
SELECT product_id, group_id, name, read_at
FROM (
  SELECT c.product_id, c.read_at,
    json_extract(CASE g.type WHEN 'object' THEN g.value END, '$.id') AS group_id,
    json_extract(CASE g.type WHEN 'object' THEN g.value END, '$.name') AS name
  FROM _availability_context c
  CROSS JOIN json_each(c.document, '$.groups') g
)
WHERE typeof(group_id) = 'integer' AND typeof(name) = 'text' AND name <> ''
ORDER BY read_at;
