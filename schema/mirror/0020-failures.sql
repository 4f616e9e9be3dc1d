-- Oldest safe version: 0.1.0
-- Failures as values: what kind each was, beside the words that people read. What is stored is understood by its kind alone.

ALTER TABLE subscription ADD COLUMN failure_kind TEXT  -- of the last attempt; NULL: it did not fail
  CHECK (failure_kind IN ('refused', 'missing', 'throttled', 'unreachable', 'failed', 'self-test'));
UPDATE subscription SET failure_kind = CASE
    WHEN failure = 'refused: the service has no such subscription' THEN 'missing'
    WHEN substr(failure, 1, instr(failure, ':') - 1) IN ('refused', 'throttled', 'unreachable', 'self-test')
      THEN substr(failure, 1, instr(failure, ':') - 1)
    ELSE 'failed' END
WHERE failure IS NOT NULL;

ALTER TABLE image_file ADD COLUMN failure_kind TEXT  -- of the last one; gone: hidden until a read of the product sent after checked_at returns it
  CHECK (failure_kind IN ('gone', 'failed'));
UPDATE image_file SET failure_kind = CASE failure WHEN 'gone' THEN 'gone' ELSE 'failed' END WHERE failure IS NOT NULL;
