-- Oldest safe version: 0.1.0
-- 1: the mirror showed what an update named as the old value when it was told, so that a read that follows must show another.
ALTER TABLE _notice ADD COLUMN awaited INTEGER NOT NULL DEFAULT 0 CHECK (awaited IN (0, 1));
