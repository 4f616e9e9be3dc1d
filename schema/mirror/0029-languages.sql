-- Oldest safe version: 0.1.0
-- The language that the service says its texts are in, where it is another than the one asked for; two letters.
ALTER TABLE product_text ADD COLUMN text_language TEXT;
UPDATE product_text SET text_language = lower(substr(json_extract(COALESCE(merged_document, detail_document, list_document), '$.language'), 1, 2))
WHERE json_type(COALESCE(merged_document, detail_document, list_document), '$.language') = 'text'
  AND (lower(json_extract(COALESCE(merged_document, detail_document, list_document), '$.language')) GLOB '[a-z][a-z]'
    OR lower(json_extract(COALESCE(merged_document, detail_document, list_document), '$.language')) GLOB '[a-z][a-z][-_]*');

-- Added again at the start of the daemon, with what is found in them.
DELETE FROM mirror_language WHERE language <> (SELECT language FROM mirror);
