-- Oldest safe version: 0.1.0
-- How a clean stop left the files stands in last-stop.json beside this one: it has to be known before either is opened.
ALTER TABLE inbox DROP COLUMN mirror_size;
ALTER TABLE inbox DROP COLUMN mirror_modified_at;

-- Whose mirror stands beside it. 'none': not made yet; 'any': repaired, and whichever there is is paired anew; 'known': the
-- one of this pair id, and none or an empty one is a loss.
ALTER TABLE inbox ADD COLUMN mirror_state TEXT NOT NULL DEFAULT 'known' CHECK (mirror_state IN ('none', 'any', 'known'));
ALTER TABLE inbox ADD COLUMN mirror_inode TEXT;                          -- of the mirror that was opened last

-- The change feed: no number above the ceiling was ever given out, and at least those up to the newest were. A mirror that
-- is filled anew or older than it was goes on above the ceiling.
ALTER TABLE inbox ADD COLUMN feed_ceiling INTEGER NOT NULL DEFAULT 0;
ALTER TABLE inbox ADD COLUMN feed_newest INTEGER NOT NULL DEFAULT 0;
