-- Which products have every word that was typed, in a language: the same that search.sql finds where nothing is mistyped, over the
-- same prepared terms. Generic words, and words that nothing has, are left out; the last one, and one that is none, may be the
-- beginning of a word, and each one of a form that is a few letters longer. Ordered as a shop shows them: what lies in the city or country that was typed first, then what is sold, then by
-- popularity. It reads tables that its callers may not.
-- Compiling it (jit) takes a hundred times as long as it does.
CREATE OR REPLACE FUNCTION search_products(asked text, in_language text)
RETURNS TABLE (product_id bigint, sellable bigint, place bigint) LANGUAGE sql STABLE SECURITY DEFINER SET jit TO off
BEGIN ATOMIC
WITH letter AS (
  SELECT n, CASE WHEN ascii(l) > 65535 AND ascii(l) NOT BETWEEN 131072 AND 262143 THEN ' '
    ELSE COALESCE((SELECT f.folded FROM search_letters f WHERE f.letter = l), l) END AS folded
  FROM (SELECT n, substr(asked, n, 1) AS l FROM generate_series(1, least(length(asked), 200)) n) t
),
-- Scripts without spaces: two letters at a time.
run AS (
  SELECT n, folded, length(folded) = 1 AND (ascii(folded) BETWEEN 3584 AND 3839 OR ascii(folded) BETWEEN 4096 AND 4255
    OR ascii(folded) BETWEEN 6016 AND 6143 OR ascii(folded) BETWEEN 11904 AND 40959 OR ascii(folded) BETWEEN 44032 AND 55215
    OR ascii(folded) BETWEEN 63744 AND 64255 OR ascii(folded) > 131071) AS is_run
  FROM letter WHERE folded <> ''
),
piece AS (
  SELECT n, CASE WHEN NOT is_run THEN CASE WHEN was_run THEN ' ' ELSE '' END || folded WHEN was_run THEN ' ' || before || folded
    WHEN goes_on THEN ' ' ELSE ' ' || folded END AS piece
  FROM (SELECT n, folded, is_run, lag(is_run, 1, false) OVER w AS was_run, lag(folded) OVER w AS before, lead(is_run, 1, false) OVER w AS goes_on
    FROM run WINDOW w AS (ORDER BY n)) r
),
split AS (
  SELECT row_number() OVER (ORDER BY n) AS n, left(word, 40) COLLATE "C" AS word
  FROM unnest(string_to_array((SELECT string_agg(piece, '' ORDER BY n) FROM piece), ' ')) WITH ORDINALITY s (word, n)
  WHERE word <> '' LIMIT 12
),
word AS (
  SELECT n, word, n = max(n) OVER () AS is_last, is_generic, bool_and(is_generic) OVER () AS all_generic
  FROM (SELECT n, word, EXISTS (SELECT 1 FROM search_generic_words g WHERE g.word = s.word AND g.language IN (in_language, 'en')) AS is_generic
    FROM split s) s
),
-- A word is known also where it makes one with its neighbour.
pair AS (
  SELECT n, word, is_last, word || lead(word) OVER w AS with_next, lag(word) OVER w || word AS with_last
  FROM word WHERE all_generic OR NOT is_generic WINDOW w AS (ORDER BY n)
),
typed AS MATERIALIZED (
  SELECT p.*, p.is_last OR NOT k.known AS may_begin, k.known
  FROM pair p CROSS JOIN LATERAL (SELECT EXISTS (SELECT 1 FROM search_words s WHERE s.language = in_language AND (s.word = p.word
    OR (s.word IN (p.with_next, p.with_last) AND strpos(s.term, ' ') = 0))) AS known) k
),
-- What each may be in the prepared texts: terms, and tokens that begin with it; and whether it is the whole name of a place.
meaning AS MATERIALIZED (
  SELECT t.n, s.term, starts_with(s.term, '·') AS is_place FROM typed t JOIN search_words s ON s.language = in_language AND s.word = t.word
  UNION
  SELECT t.n, s.term, NOT t.known FROM typed t JOIN search_words s ON s.language = in_language AND s.word = '.' || t.word WHERE starts_with(s.term, '·')
  UNION
  SELECT t.n, s.term, starts_with(s.term, '·') FROM typed t JOIN search_words s ON s.language = in_language AND s.word IN (t.with_next, t.with_last) AND strpos(s.term, ' ') = 0
  UNION
  SELECT t.n, s.term, false FROM typed t JOIN search_words s ON s.language = in_language AND s.word > t.word AND s.word < t.word || chr(1114111)
  WHERE length(t.word) > 3 AND NOT starts_with(s.term, '·') AND CASE WHEN t.may_begin
    THEN left(s.term, length(t.word)) <> t.word AND (strpos(s.term, ' ') = 0 OR NOT t.known)
    ELSE strpos(s.term, ' ') = 0 AND length(s.word) < length(t.word) + 6 END
  UNION
  SELECT t.n, e.token, false FROM typed t
  JOIN search_words s ON s.language = in_language CROSS JOIN LATERAL unnest(string_to_array(s.term, ' ')) e (token)
  WHERE starts_with(e.token, t.word) AND t.may_begin AND EXISTS (
    SELECT 1 FROM search_words b WHERE b.language = in_language AND b.word > t.word AND b.word < t.word || chr(1114111) AND strpos(b.term, ' ') = 0
      AND NOT EXISTS (SELECT 1 FROM search_words x WHERE x.word = t.word AND x.language = in_language AND x.term = b.term))
),
hit AS (
  SELECT m.n, x.search_id, bool_or(m.is_place) AS is_there
  FROM meaning m JOIN _search_text x ON _terms(x.name, x.title, x.city, x.country, x.venue, x.tagline, x.summary) @> string_to_array(m.term, ' ')
  WHERE strpos(m.term, ' ') = 0 OR _has_phrase(m.term, x.name, x.title, x.city, x.country, x.venue, x.tagline, x.summary)
  GROUP BY m.n, x.search_id
)
SELECT r.product_id, r.sellable, r.place
FROM (SELECT search_id, bool_or(is_there) AS is_there FROM hit GROUP BY search_id HAVING count(*) = (SELECT count(DISTINCT n) FROM meaning)) h
JOIN search_entries e ON e.search_id = h.search_id AND e.language = in_language
JOIN product_popularity r ON r.product_id = e.product_id
ORDER BY h.is_there DESC, r.sellable DESC, r.place, r.product_id;
END;

-- Products within so many kilometres of a place, the nearest first: by the straight line on a globe of radius 1, which knows
-- neither poles nor a date line.
CREATE OR REPLACE FUNCTION products_near(of_latitude double precision, of_longitude double precision, within_km double precision)
RETURNS TABLE (product_id bigint, km double precision) LANGUAGE sql STABLE SECURITY DEFINER SET jit TO off
BEGIN ATOMIC
SELECT d.product_id, 2 * 6371.0088 * asin(least(sqrt(d.chord2) / 2, 1))
FROM (
  SELECT l.product_id, (l.x - c.x) ^ 2 + (l.y - c.y) ^ 2 + (l.z - c.z) ^ 2 AS chord2, c.most
  FROM (SELECT cosd(of_latitude) * cosd(of_longitude) AS x, cosd(of_latitude) * sind(of_longitude) AS y, sind(of_latitude) AS z,
    2 * sin(least(within_km / 6371.0088, pi()) / 2) AS most) c
  JOIN product_places l ON point(l.x, l.y) <@ box(point(c.x - c.most - 1e-9, c.y - c.most - 1e-9), point(c.x + c.most + 1e-9, c.y + c.most + 1e-9))
) d
WHERE d.chord2 <= d.most ^ 2 + 1e-18
ORDER BY 2, 1;
END;
