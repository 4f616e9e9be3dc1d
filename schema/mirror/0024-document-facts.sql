-- Oldest safe version: 0.1.0
-- What the document of a product says that pages show: taken out of it once, where it is stored. Taken out by the view it made the
-- read of a product ten times as dear.
ALTER TABLE product_text ADD COLUMN slug TEXT;
ALTER TABLE product_text ADD COLUMN url TEXT;
ALTER TABLE product_text ADD COLUMN summary TEXT;
ALTER TABLE product_text ADD COLUMN description TEXT;
ALTER TABLE product_text ADD COLUMN duration TEXT;
ALTER TABLE product_text ADD COLUMN languages TEXT;
ALTER TABLE product_text ADD COLUMN cancellation_policy TEXT;
ALTER TABLE product_text ADD COLUMN cancellation_window INTEGER;
ALTER TABLE product_text ADD COLUMN supplier TEXT;
ALTER TABLE product_text ADD COLUMN venue_name TEXT;
ALTER TABLE product_text ADD COLUMN venue_address TEXT;
ALTER TABLE product_text ADD COLUMN wheelchair_access INTEGER;
ALTER TABLE product_text ADD COLUMN is_package INTEGER;
UPDATE product_text SET
  slug = NULLIF(CASE json_type(COALESCE(merged_document, detail_document, list_document), '$.product_slug') WHEN 'text' THEN json_extract(COALESCE(merged_document, detail_document, list_document), '$.product_slug') END, ''),
  url = CASE WHEN json_type(COALESCE(merged_document, detail_document, list_document), '$.product_url') = 'text'
    AND (json_extract(COALESCE(merged_document, detail_document, list_document), '$.product_url') LIKE 'https://_%' OR json_extract(COALESCE(merged_document, detail_document, list_document), '$.product_url') LIKE 'http://_%')
    THEN json_extract(COALESCE(merged_document, detail_document, list_document), '$.product_url') END,
  summary = NULLIF(CASE json_type(COALESCE(merged_document, detail_document, list_document), '$.summary') WHEN 'text' THEN json_extract(COALESCE(merged_document, detail_document, list_document), '$.summary') END, ''),
  description = NULLIF(CASE json_type(COALESCE(merged_document, detail_document, list_document), '$.description') WHEN 'text' THEN json_extract(COALESCE(merged_document, detail_document, list_document), '$.description') END, ''),
  duration = NULLIF(CASE json_type(COALESCE(merged_document, detail_document, list_document), '$.duration') WHEN 'text' THEN json_extract(COALESCE(merged_document, detail_document, list_document), '$.duration') END, ''),
  languages = CASE json_type(COALESCE(merged_document, detail_document, list_document), '$.languages') WHEN 'array'
    THEN (SELECT json_group_array(l.value) FROM json_each(COALESCE(merged_document, detail_document, list_document), '$.languages') l WHERE l.type = 'text') END,
  cancellation_policy = NULLIF(CASE json_type(COALESCE(merged_document, detail_document, list_document), '$.cancellation.policy') WHEN 'text' THEN json_extract(COALESCE(merged_document, detail_document, list_document), '$.cancellation.policy') END, ''),
  cancellation_window = CASE WHEN json_type(COALESCE(merged_document, detail_document, list_document), '$.cancellation.window') = 'integer'
    AND json_extract(COALESCE(merged_document, detail_document, list_document), '$.cancellation.window') BETWEEN 0 AND 1000000 THEN json_extract(COALESCE(merged_document, detail_document, list_document), '$.cancellation.window') END,
  supplier = NULLIF(CASE json_type(COALESCE(merged_document, detail_document, list_document), '$.supplier.name') WHEN 'text' THEN json_extract(COALESCE(merged_document, detail_document, list_document), '$.supplier.name') END, ''),
  venue_name = NULLIF(CASE json_type(COALESCE(merged_document, detail_document, list_document), '$.venue.name') WHEN 'text' THEN json_extract(COALESCE(merged_document, detail_document, list_document), '$.venue.name') END, ''),
  venue_address = NULLIF(CASE json_type(COALESCE(merged_document, detail_document, list_document), '$.venue.address') WHEN 'text' THEN json_extract(COALESCE(merged_document, detail_document, list_document), '$.venue.address') END, ''),
  wheelchair_access = CASE json_type(COALESCE(merged_document, detail_document, list_document), '$.wheelchair_access') WHEN 'true' THEN 1 WHEN 'false' THEN 0 END,
  is_package = CASE json_type(COALESCE(merged_document, detail_document, list_document), '$.is_package') WHEN 'true' THEN 1 WHEN 'false' THEN 0 END;

-- What a product cost before it was reduced, exact like its price. Of those that are stored already it comes with the next list.
ALTER TABLE product_price ADD COLUMN prediscount_price INTEGER;
