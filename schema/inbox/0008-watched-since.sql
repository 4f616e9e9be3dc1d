-- Oldest safe version: 0.1.0
-- Since when conditions are watched: of earlier times no period says anything.
ALTER TABLE inbox ADD COLUMN watched_since INTEGER;
