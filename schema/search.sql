-- What a shopper means, from the mirror alone: SQLite 3.38 and newer, no functions of your own, no daemon. Bound are :text,
-- :language, :currency, :limit and :offset; each of the others may be NULL, and then narrows nothing.
WITH RECURSIVE
number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < 200),
-- The letters of a word: each guess would look through all numbers.
position (n) AS MATERIALIZED (SELECT n FROM number WHERE n < 41),
-- What was typed, letter by letter, folded.
letter (n, folded) AS (
  SELECT n, CASE WHEN unicode(letter) > 65535 AND unicode(letter) NOT BETWEEN 131072 AND 262143 THEN ' '
    ELSE COALESCE((SELECT l.folded FROM search_letters l WHERE l.letter = t.letter), t.letter) END
  FROM (SELECT n, substr(:text, n, 1) AS letter FROM number) t WHERE letter <> ''
),
-- Scripts without spaces: two letters at a time.
run (n, folded, is_run) AS (
  SELECT n, folded, length(folded) = 1 AND (unicode(folded) BETWEEN 3584 AND 3839 OR unicode(folded) BETWEEN 4096 AND 4255
    OR unicode(folded) BETWEEN 6016 AND 6143 OR unicode(folded) BETWEEN 11904 AND 40959 OR unicode(folded) BETWEEN 44032 AND 55215
    OR unicode(folded) BETWEEN 63744 AND 64255 OR unicode(folded) > 131071)
  FROM letter WHERE folded <> ''
),
piece (n, piece) AS (
  SELECT n, CASE WHEN NOT is_run THEN CASE WHEN was_run THEN ' ' ELSE '' END || folded WHEN was_run THEN ' ' || before || folded
    WHEN goes_on THEN ' ' ELSE ' ' || folded END
  FROM (SELECT n, folded, is_run, lag(is_run, 1, 0) OVER w AS was_run, lag(folded) OVER w AS before, lead(is_run, 1, 0) OVER w AS goes_on
    FROM run WINDOW w AS (ORDER BY n))
),
split (n, word, rest) AS (
  SELECT 0, '', (SELECT ltrim(group_concat(piece, '')) || ' ' FROM (SELECT piece FROM piece ORDER BY n))
  UNION ALL
  SELECT n + 1, substr(rest, 1, instr(rest, ' ') - 1), ltrim(substr(rest, instr(rest, ' ') + 1)) FROM split WHERE trim(rest) <> '' AND n < 12
),
-- A word is generic only beside others that are not. A word is known also where it makes one with its neighbour.
word (n, word, generic, last) AS (
  SELECT n, word, generic > min(generic) OVER (), n = max(n) OVER () FROM (
    SELECT n, substr(word, 1, 40) AS word,
      EXISTS (SELECT 1 FROM search_generic_words g WHERE g.word = split.word AND g.language IN (:language, 'en')) AS generic
    FROM split WHERE n > 0)
),
pair (n, word, generic, last, with_next, with_last) AS (
  SELECT n, word, generic, last, word || lead(word) OVER w, lag(word) OVER w || word FROM word WINDOW w AS (PARTITION BY generic ORDER BY n)
),
asked (words) AS MATERIALIZED (
  SELECT json_group_array(json_object('n', n, 'word', word, 'generic', generic, 'last', last, 'next', with_next, 'previous', with_last,
    'known', EXISTS (SELECT 1 FROM search_words s WHERE s.language = :language AND (s.word = pair.word
      OR s.word IN (with_next, with_last) AND instr(s.term, ' ') = 0))))
  FROM (SELECT * FROM pair ORDER BY n) pair
),
-- As it is typed; two words that are written as one; the beginning of one, of the last word and of those that are none.
plain (words, readings) AS MATERIALIZED (
  SELECT words, (
    WITH w (n, word, last, next, previous, known) AS (
      SELECT value ->> 'n', value ->> 'word', value ->> 'last', value ->> 'next', value ->> 'previous', value ->> 'known'
      FROM json_each(words) WHERE NOT value ->> 'generic'
    )
    SELECT json_group_array(json_array(n, cost, expr, meant, documents, generic)) FROM (
      SELECT w.value ->> 'n' AS n, 0 AS cost, '"' || s.term || '"' AS expr, s.word AS meant, s.documents, w.value ->> 'generic' AS generic
      FROM json_each(words) w CROSS JOIN search_words s WHERE s.word = w.value ->> 'word' AND s.language = :language
      UNION ALL
      SELECT n, 1, '"' || s.term || '"', s.word, s.documents, 0
      FROM w CROSS JOIN search_words s WHERE s.word = '.' || w.word AND s.language = :language AND s.term LIKE char(183) || '%'
      UNION ALL
      SELECT n, 0, '"' || s.term || '"', s.word, s.documents, 0
      FROM w CROSS JOIN search_words s WHERE s.word IN (w.next, w.previous) AND s.language = :language AND instr(s.term, ' ') = 0
      UNION ALL
      SELECT n, 1, '"' || w.word || '" *', w.word, CASE WHEN length(w.word) < 3 THEN (SELECT max(search_id) FROM search_entries) ELSE (
          SELECT max(s.documents) FROM search_words s WHERE s.word > w.word AND s.word < w.word || char(1114111) AND s.language = :language
            AND instr(s.term, ' ') = 0) END, 0 FROM w
      WHERE (last OR NOT known) AND EXISTS (
        SELECT 1 FROM search_words s WHERE s.word > w.word AND s.word < w.word || char(1114111) AND s.language = :language
          AND instr(s.term, ' ') = 0 AND s.term NOT LIKE char(183) || '%'
          AND NOT EXISTS (SELECT 1 FROM search_words x WHERE x.word = w.word AND x.language = :language AND x.term = s.term))
      UNION ALL
      SELECT n, 1, '"' || s.term || '"', s.word, s.documents, 0
      FROM w CROSS JOIN search_words s ON s.word > w.word AND s.word < w.word || char(1114111) AND s.language = :language
      WHERE length(w.word) > 3 AND s.term NOT LIKE char(183) || '%' AND CASE WHEN last OR NOT known
        THEN substr(s.term, 1, length(w.word)) <> w.word AND (instr(s.term, ' ') = 0 OR NOT known)
        ELSE instr(s.term, ' ') = 0 AND length(s.word) < length(w.word) + 6 END
    )
  ) FROM asked
),
-- Whether the words that are known are found together; where they are not, one of them may be a typo of a far more common one.
stuck (words, readings, is_stuck) AS MATERIALIZED (
  SELECT words, readings, NOT EXISTS (
    SELECT 1 FROM search_terms f JOIN search_entries e ON e.search_id = f.rowid AND e.language = :language
    WHERE search_terms MATCH (SELECT COALESCE(group_concat(part, ' AND '), '""') FROM (
      SELECT '(' || group_concat(value ->> 2, ' OR ') || ')' AS part FROM json_each(readings) WHERE NOT value ->> 5 GROUP BY value ->> 0)))
  FROM plain
),
-- What a typo may have made it of: words with a deletion in common, the likeliest three.
guessed (words, readings, guesses) AS MATERIALIZED (
  SELECT words, readings, (
    WITH sought (n, word, beginning, least) AS MATERIALIZED (
      SELECT n, word, substr(word, 1, 8), COALESCE(10 * documents, 1) FROM (
        SELECT value ->> 'n' AS n, value ->> 'word' AS word,
          (SELECT max(r.value ->> 4) FROM json_each(readings) r WHERE r.value ->> 0 = w.value ->> 'n') AS documents
        FROM json_each(words) w WHERE NOT value ->> 'generic'
      ) WHERE length(word) > 3 AND (documents IS NULL OR is_stuck)
    ),
    shorter (n, typed, least, shorter) AS (
      SELECT n, word, least, beginning FROM sought
      UNION
      SELECT s.n, word, least, substr(beginning, 1, i.n - 1) || substr(beginning, i.n + 1)
      FROM sought s CROSS JOIN position i WHERE i.n <= length(beginning)
      UNION
      SELECT s.n, word, least, substr(beginning, 1, i.n - 1) || substr(beginning, i.n + 1, j.n - i.n - 1) || substr(beginning, j.n + 1)
      FROM sought s CROSS JOIN position i CROSS JOIN position j WHERE length(word) > 6 AND i.n < j.n AND j.n <= length(beginning)
    ),
    candidate (n, typed, word, documents) AS (
      SELECT n, typed, word, documents FROM (
        SELECT n, typed, word, least,
          (SELECT max(s.documents) FROM search_words s WHERE s.word = c.word AND s.language = :language AND instr(s.term, ' ') = 0) AS documents
        FROM (SELECT DISTINCT s.n, s.typed, s.least, d.word FROM shorter s CROSS JOIN search_deletes d ON d.shorter = s.shorter
          WHERE abs(length(d.word) - length(s.typed)) < 3 AND d.word <> s.typed) c
      ) WHERE documents >= least
    ),
    alike (n, typed, word, documents, front, back) AS (
      SELECT n, typed, word, documents,
        (SELECT COALESCE(max(i.n), 0) FROM position i WHERE i.n <= min(length(typed), length(word)) AND substr(typed, 1, i.n) = substr(word, 1, i.n)),
        (SELECT COALESCE(max(i.n), 0) FROM position i WHERE i.n <= min(length(typed), length(word)) AND substr(typed, -i.n) = substr(word, -i.n))
      FROM candidate
    ),
    -- Two typos in a long word: what lies between the two, which are up to two letters each, is the same.
    judged (n, word, documents, typos, differ) AS (
      SELECT n, word, documents, typos, differ FROM (
        SELECT *, CASE WHEN differ < 2 OR (differ = 2 AND length(word) = length(typed) AND substr(typed, front + 1, 1) = substr(word, front + 2, 1)
          AND substr(typed, front + 2, 1) = substr(word, front + 1, 1)) THEN 1 ELSE 2 END AS typos
        FROM (SELECT n, typed, word, documents, front, length(typed) - same AS of_typed, length(word) - same AS of_word, max(length(word), length(typed)) - same AS differ
          FROM (SELECT *, min(front + back, length(word), length(typed)) AS same FROM alike))
      ) WHERE typos = 1 OR length(word) > 7 AND EXISTS (
        SELECT 1 FROM (VALUES (0), (1), (2)) a CROSS JOIN (VALUES (0), (1), (2)) b CROSS JOIN (VALUES (0), (1), (2)) c
        WHERE of_word - of_typed + a.column1 + c.column1 - b.column1 BETWEEN 0 AND 2 AND differ - of_typed + a.column1 + c.column1 <= max(3, length(word) / 3)
          AND substr(typed, front + a.column1 + 1, of_typed - a.column1 - c.column1) = substr(word, front + b.column1 + 1, of_typed - a.column1 - c.column1))
    ),
    -- A word that none is alike may be joined of several, or end as in another language: what it begins with.
    begun (n, beginning) AS (
      SELECT n, (SELECT substr(word, 1, i.n) FROM position i WHERE i.n BETWEEN 6 AND length(word) - 1 AND EXISTS (
        SELECT 1 FROM search_words s WHERE s.word >= substr(sought.word, 1, i.n) AND s.word < substr(sought.word, 1, i.n) || char(1114111)
          AND s.language = :language AND s.term NOT LIKE char(183) || '%')
        ORDER BY i.n DESC LIMIT 1)
      FROM sought WHERE least = 1 AND n NOT IN (SELECT n FROM judged)
    )
    SELECT json_group_array(json_array(n, cost, '"' || term || '"', word, documents, 0)) FROM (
      SELECT g.n, 1 + g.typos AS cost, g.word, g.documents, s.term FROM (
        SELECT n, word, typos, documents, row_number() OVER (PARTITION BY n ORDER BY typos, CASE typos WHEN 2 THEN differ END, documents DESC, word) AS nth
        FROM judged
      ) g CROSS JOIN search_words s ON s.word = g.word AND s.language = :language AND instr(s.term, ' ') = 0
      WHERE g.nth < 4
      UNION ALL
      -- Initials stand for a name where no word begins with them.
      SELECT n, 1, word, documents, term FROM (
        SELECT w.value ->> 'n' AS n, s.word, s.documents, s.term, row_number() OVER (PARTITION BY w.value ->> 'n' ORDER BY s.documents DESC, s.term) AS nth
        FROM json_each(words) w CROSS JOIN search_words s ON s.word = '.' || (w.value ->> 'word') AND s.language = :language
        WHERE NOT w.value ->> 'generic' AND w.value ->> 'n' NOT IN (SELECT r.value ->> 0 FROM json_each(readings) r)
      ) WHERE nth < 4
      UNION ALL
      -- A form that no text has: the longest word that it begins with.
      SELECT n, 2, word, documents, term FROM (
        SELECT sought.n, s.word, s.documents, s.term, rank() OVER (PARTITION BY sought.n ORDER BY length(s.word) DESC) AS nth
        FROM sought CROSS JOIN position i CROSS JOIN search_words s ON s.word = substr(sought.word, 1, length(sought.word) - i.n) AND s.language = :language
        WHERE least = 1 AND i.n < 4 AND length(s.word) > 2 AND instr(s.term, ' ') = 0
      ) WHERE nth = 1
      UNION ALL
      SELECT n, 3, word, documents, term FROM (
        SELECT b.n, s.word, s.documents, s.term, row_number() OVER (PARTITION BY b.n ORDER BY s.word) AS nth
        FROM begun b CROSS JOIN search_words s ON s.word >= b.beginning AND s.word < b.beginning || char(1114111) AND s.language = :language
        WHERE s.term NOT LIKE char(183) || '%'
      ) WHERE nth < 4
    )
  ) FROM stuck
),
read (words, parts) AS MATERIALIZED (
  SELECT words, (
    SELECT json_group_array(json_object('n', n, 'generic', generic, 'cost', cost, 'every', every, 'best', best, 'meant', meant,
      'within', within, 'weight', (SELECT count(*) FROM position WHERE documents << n <= (SELECT max(search_id) FROM search_entries)) + 1)) FROM (
      SELECT n, max(generic) AS generic, least AS cost, '(' || group_concat(CASE same WHEN 1 THEN expr END, ' OR ') || ')' AS every,
        '(' || group_concat(CASE WHEN same = 1 AND cost = least THEN expr END, ' OR ') || ')' AS best,
        group_concat(CASE WHEN same = 1 AND cost = least AND expr LIKE '"' || char(183) || '%' THEN expr END, ' OR ') AS within,
        max(CASE WHEN nth = 1 THEN meant END) AS meant, max(documents) AS documents
      FROM (
        SELECT *, min(cost) OVER (PARTITION BY n) AS least, row_number() OVER (PARTITION BY n ORDER BY cost, place) AS nth,
          row_number() OVER (PARTITION BY n, expr ORDER BY cost, place) AS same FROM (
          SELECT key AS place, value ->> 0 AS n, value ->> 1 AS cost, value ->> 2 AS expr, value ->> 3 AS meant, value ->> 4 AS documents, value ->> 5 AS generic
          FROM (SELECT key, value FROM json_each(readings) UNION ALL SELECT key, value FROM json_each(guesses))
        )
      ) GROUP BY n ORDER BY n
    )
  ) FROM guessed
),
-- Generic words are asked for where no other one is known; else they put what has them in its title first.
parts (words, parts, extras) AS MATERIALIZED (
  SELECT words, (SELECT json_group_array(json(value)) FROM json_each(parts) WHERE value ->> 'generic' = generic),
    (SELECT json_group_array(json_array(value ->> 'best', value ->> 'weight')) FROM json_each(parts) WHERE value ->> 'generic' > generic AND value ->> 'weight' > 2)
  FROM (SELECT *, (SELECT min(value ->> 'generic') FROM json_each(parts)) AS generic FROM read)
),
answer (words, parts, extras, every, best) AS MATERIALIZED (
  SELECT words, parts, extras, (SELECT group_concat(value ->> 'every', ' AND ') FROM json_each(parts)),
    (SELECT group_concat(value ->> 'best', ' AND ') FROM json_each(parts))
  FROM parts WHERE json_array_length(parts) > 0
),
whole (every, best, parts, extras, telling, kept, few) AS MATERIALIZED (
  SELECT every, best, parts, extras, (SELECT group_concat(p.value ->> 'every', ' OR ') FROM json_each(parts) p WHERE (p.value ->> 'within' <> '' OR 2 * (p.value ->> 'weight') > (SELECT max(x.value ->> 'weight') FROM json_each(parts) x))),
    (SELECT sum(1 << (p.value ->> 'n')) FROM json_each(parts) p),
    20 > (SELECT count(*) FROM (
      SELECT 1 FROM search_terms f CROSS JOIN search_entries e ON e.search_id = f.rowid AND e.language = :language
      WHERE search_terms MATCH every LIMIT 20))
  FROM answer
),
asked_of (queries, kept) AS MATERIALIZED (
  SELECT (SELECT json_group_array(json_array(query, weight + (typos << 24) + (places << 32) + (extra << 40) + (kept << 48), all_typos, field)) FROM (
    SELECT CASE WHEN best = every THEN k.value ELSE '(' || k.value || ')' || s.column1 || '(' || best || ')' END AS query, 1000000 AS weight, 0 AS typos,
      0 AS places, 0 AS extra, 0 AS kept,
      (SELECT sum(max(p.value ->> 'cost', 1) - 1) FROM json_each(parts) p) + (s.column1 = ' NOT ') AS all_typos, k.key AS field
    FROM json_each(CASE WHEN few THEN json_array(s0, s1, s2, s3, '(' || every || ')')
      ELSE json_array(s0, s1 || ' NOT ' || s0, s2 || ' NOT ' || s1, s3 || ' NOT ' || s2, '(' || every || ') NOT ' || s3) END) k CROSS JOIN (VALUES (' AND '), (' NOT ')) s
    WHERE s.column1 = ' AND ' OR best <> every
    UNION ALL
    SELECT '{city country} : (' || (p.value ->> 'within') || ')', 24, 0, 1, 0, 0, NULL, NULL
    FROM json_each(parts) p WHERE p.value ->> 'within' <> ''
    UNION ALL
    SELECT '({title} : ' || (x.value ->> 0) || ') AND (' || telling || ')', x.value ->> 1, 0, 0, x.value ->> 1, 0, NULL, NULL
    FROM json_each(extras) x
    UNION ALL
    SELECT '((' || k.value || (p.value ->> 'every') || ')' || CASE k.key WHEN 2 THEN ')'
          ELSE ' NOT (' || CASE k.key WHEN 0 THEN '{title city country} : ' ELSE '{name city country} : ' END || (p.value ->> 'every') || '))' END
        || CASE WHEN (p.value ->> 'within' <> '' OR 2 * (p.value ->> 'weight') > (SELECT max(x.value ->> 'weight') FROM json_each(parts) x)) THEN '' ELSE ' AND (' || telling || ')' END,
      (p.value ->> 'weight') * (1 + k.key), max(p.value ->> 'cost', 1) - 1, 0, 0, 1 << (p.value ->> 'n'), NULL, NULL
    FROM json_each(parts) p CROSS JOIN json_each('["", "{title city country} : ", "{name city country} : "]') k
    WHERE json_array_length(parts) > 1 AND few
    UNION ALL
    SELECT '(' || (p.value ->> 'every') || ' NOT ' || (p.value ->> 'best') || ')', 0, 1, 0, 0, 0, NULL, NULL
    FROM json_each(parts) p WHERE p.value ->> 'every' <> p.value ->> 'best' AND json_array_length(parts) > 1 AND few
  )), kept
  FROM (SELECT *, '({name city country} : (' || every || '))' AS s0, '({title city country} : (' || every || '))' AS s1, '({title city country venue} : (' || every || '))' AS s2, '({title city country venue tagline} : (' || every || '))' AS s3 FROM whole)
),
sought (query, packed, typos, field, all_kept) AS MATERIALIZED (
  SELECT k.value ->> 0, k.value ->> 1, k.value ->> 2, k.value ->> 3, q.kept FROM asked_of q CROSS JOIN json_each(q.queries) k
),
counted (search_id, packed, typos, field, all_kept) AS (
  SELECT f.rowid, sum(s.packed), min(s.typos), min(s.field), max(s.all_kept)
  FROM sought s CROSS JOIN search_terms f
  WHERE search_terms MATCH s.query
  GROUP BY f.rowid HAVING min(s.typos) IS NOT NULL OR sum(s.packed) >> 48 > 0
),
spoken (product_id, weight, typos, field, places, extra, kept) AS MATERIALIZED (
  SELECT e.product_id, CASE WHEN c.typos IS NULL THEN c.packed & 16777215 ELSE 1000000 END, COALESCE(c.typos, c.packed >> 24 & 255),
    c.field, c.packed >> 32 & 255, c.packed >> 40 & 255,
    CASE WHEN c.typos IS NULL THEN c.packed >> 48 ELSE c.all_kept END
  FROM counted c CROSS JOIN search_entries e ON e.search_id = c.search_id AND e.language = :language
),
heaviest (weight) AS MATERIALIZED (SELECT max(weight) FROM spoken WHERE weight < 1000000),
found (product_id, weight, typos, field, places, extra, kept) AS (
  SELECT s.product_id, CASE s.weight WHEN 1000000 THEN 1 ELSE (s.weight - h.weight) / 4 END, s.typos, s.field, s.places, s.extra, s.kept
  FROM spoken s CROSS JOIN heaviest h WHERE s.weight = 1000000 OR 2 * s.weight >= h.weight
),
-- What it is ordered by, and nothing else: a broad search finds thousands, of which a page is looked up. Told that little is
-- found (likelihood), SQLite looks that up; else it first reads whole tables, to know which keys they have.
hit (product_id, weight, typos, places, field, extra, kept, sellable, place) AS MATERIALIZED (
  SELECT r.product_id, f.weight, f.typos, f.places, f.field, f.extra, f.kept, r.sellable, r.place
  FROM found f
  CROSS JOIN product_popularity r ON r.product_id = f.product_id
  WHERE likelihood(f.typos >= 0, 0.000001)
    AND (:city_id IS NULL OR r.city_id = CAST(:city_id AS INTEGER))
    AND (:country_id IS NULL OR r.country_id = CAST(:country_id AS INTEGER))
    AND (:tag_id IS NULL OR EXISTS (SELECT 1 FROM product_tags g WHERE g.product_id = r.product_id AND g.tag_id = CAST(:tag_id AS INTEGER)))
    AND (:min_rating IS NULL OR r.rating >= CAST(:min_rating AS REAL))
    AND (:max_price IS NULL OR (SELECT COALESCE(c.lowest_adult_price, c.from_price) FROM product_prices c
      WHERE c.product_id = r.product_id AND c.currency = :currency) <= CAST(:max_price AS INTEGER))
    AND (:sellable IS NULL OR r.sellable >= CAST(:sellable AS INTEGER))
    AND (:from IS NULL OR EXISTS (SELECT 1 FROM bookable_days b WHERE b.product_id = r.product_id AND b.currency = :currency
      AND b.date BETWEEN :from AND :to))
)
SELECT p.product_id, p.title, p.tagline, p.city_name, p.sellable, p.rating,
  -- What a shop prints, price_variant_type whose price it is: where no date has one, what the service says of the product.
  (SELECT COALESCE(c.lowest_adult_price, c.from_price) FROM product_prices c WHERE c.product_id = p.product_id AND c.currency = :currency) AS price,
  -- What it is ordered by: where every word was found (0 name or city to 4 summary; NULL: not every word was), letters that differ, its place in popularity.
  h.field, h.typos, h.place,
  -- Of the best one: the typed words that it lacks, and what was typed with its typos mended; and how many there are.
  (SELECT group_concat(w.value ->> 'word', ' ') FROM json_each(a.words) w
    WHERE NOT w.value ->> 'generic' AND NOT h.kept >> (w.value ->> 'n') & 1) AS dropped,
  (SELECT CASE WHEN count(x.value) > 0 THEN group_concat(COALESCE(x.value ->> 'meant', w.value ->> 'word'), ' ') END
    FROM json_each(a.words) w LEFT JOIN json_each(a.parts) x
      ON x.value ->> 'n' = w.value ->> 'n' AND x.value ->> 'cost' > 1 AND h.kept >> (w.value ->> 'n') & 1) AS meant,
  (SELECT count(*) FROM hit) AS total,
  (SELECT c.price_variant_type FROM product_prices c WHERE c.product_id = p.product_id AND c.currency = :currency) AS price_variant_type,
  p.language_shown
FROM answer a
CROSS JOIN (SELECT * FROM hit h ORDER BY h.weight DESC, h.typos, h.places DESC, h.field, h.extra DESC, h.sellable DESC, h.place, h.product_id
  LIMIT CAST(:limit AS INTEGER) OFFSET CAST(:offset AS INTEGER)) h
CROSS JOIN products p ON p.product_id = h.product_id AND p.language = :language
WHERE likelihood(h.typos >= 0, 0.000001)
ORDER BY h.weight DESC, h.typos, h.places DESC, h.field, h.extra DESC, h.sellable DESC, h.place, h.product_id
