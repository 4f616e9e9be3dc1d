-- What the views below share, in PostgreSQL's words. Names that begin with _ are ours alone.

-- Epoch milliseconds, in whole seconds as in the file; the same for a whole statement.
CREATE OR REPLACE FUNCTION _now() RETURNS bigint LANGUAGE sql STABLE PARALLEL SAFE
RETURN 1000 * floor(extract(epoch FROM statement_timestamp()))::bigint;

CREATE OR REPLACE FUNCTION _number(truth boolean) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN truth::int::bigint;

CREATE OR REPLACE FUNCTION _is_stale(stale_at bigint) RETURNS bigint LANGUAGE sql STABLE PARALLEL SAFE
RETURN (_now() >= stale_at)::int::bigint;

-- It has expired at four times its freshness target.
CREATE OR REPLACE FUNCTION _expired_at(checked_at bigint, stale_at bigint) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN 4 * stale_at - 3 * checked_at;

CREATE OR REPLACE FUNCTION _freshness(checked_at bigint, stale_at bigint) RETURNS text LANGUAGE sql STABLE PARALLEL SAFE
RETURN CASE WHEN _now() >= 4 * stale_at - 3 * checked_at THEN 'expired' WHEN _now() >= stale_at THEN 'stale' ELSE 'fresh' END;

-- The same of a row that may be held: it is stale, and expires later by as long as it was held after its read.
CREATE OR REPLACE FUNCTION _expired_at(checked_at bigint, stale_at bigint, held_at bigint) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN 4 * stale_at - 4 * checked_at + COALESCE(held_at, checked_at);

CREATE OR REPLACE FUNCTION _freshness(checked_at bigint, stale_at bigint, held_at bigint) RETURNS text LANGUAGE sql STABLE PARALLEL SAFE
RETURN CASE WHEN _now() >= _expired_at(checked_at, stale_at, held_at) THEN 'expired'
  WHEN _now() >= COALESCE(held_at, stale_at) THEN 'stale' ELSE 'fresh' END;

-- Date and time of an instant in seconds since 1970, so many minutes east of Greenwich.
CREATE OR REPLACE FUNCTION _wall_clock(seconds numeric, minutes bigint) RETURNS text LANGUAGE sql STABLE PARALLEL SAFE
RETURN to_char(to_timestamp((seconds + minutes * 60)::double precision) AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI') COLLATE "C";

-- The elements of what may be no array.
CREATE OR REPLACE FUNCTION _elements(list json) RETURNS SETOF json LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC SELECT e.value FROM json_array_elements(CASE json_typeof(list) WHEN 'array' THEN list END) e; END;

-- When a time of a date is not sold any more; `place`: its place among them, from 1.
CREATE OR REPLACE FUNCTION _slot_ends(zero_at bigint, ends text, place bigint, slot json) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN COALESCE((ends::json ->> (place::int - 1))::bigint,
  zero_at + 60000 * CASE json_typeof(slot -> 0) WHEN 'string' THEN 1440 ELSE (slot ->> 0)::bigint END);

-- The terms of a prepared text, in whichever of its parts; and whether some stand beside each other in one of them.
CREATE OR REPLACE FUNCTION _terms(VARIADIC parts text[]) RETURNS text[] LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN string_to_array(array_to_string(parts, ' '), ' ');

CREATE OR REPLACE FUNCTION _has_phrase(phrase text, VARIADIC parts text[]) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN strpos(' ' || array_to_string(parts, ' | ') || ' ', ' ' || phrase || ' ') > 0;
