-- How large the feed is, without reading it: the bytes of a change and of all before it. Changes of older versions count 0.
ALTER TABLE change ADD COLUMN bytes_up_to INTEGER NOT NULL DEFAULT 0;
