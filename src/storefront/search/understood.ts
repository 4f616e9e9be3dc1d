import { abbreviationMark, placeMark } from './marks.rules.ts';

/**
 * Reads what was typed, as the beginning of a statement (`WITH RECURSIVE …`): letters are folded, words looked up in
 * `search_words`, and unknown words guessed by `search_deletes`. Bound are `@text` and `@language`. The last table, `answer`,
 * has one row, or none where no word is known:
 *
 * - `every`, `best`: the match of `search_terms` that requires each word, by all of its readings and by its likeliest one;
 * - `words`: the typed words, as JSON: `[{n, word, generic}]`;
 * - `parts`: the readings of each word: `[{n, cost, every, best, within, meant, weight}]`. `cost` is 0 as typed, 1 completed or by initials, 2 and
 *   3 with one and two typos, and 3 by the beginning. `within` matches it as the whole name of a city or country. `weight` grows by one each time half as
 *   many products have the word;
 * - `extras`: the generic words beside them, as JSON: `[[match, weight]]`.
 *
 * Each step is one row that hands JSON to the next: tables that are named twice would be planned twice, and those that
 * they name four times.
 */
export const understood: string = `WITH RECURSIVE
number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < 200),
-- The letters of a word: each guess would look through all numbers.
position (n) AS MATERIALIZED (SELECT n FROM number WHERE n < 41),
-- What was typed, letter by letter, folded.
letter (n, folded) AS (
  SELECT n, CASE WHEN unicode(letter) > 65535 AND unicode(letter) NOT BETWEEN 131072 AND 262143 THEN ' '
    ELSE COALESCE((SELECT l.folded FROM search_letters l WHERE l.letter = t.letter), t.letter) END
  FROM (SELECT n, substr(@text, n, 1) AS letter FROM number) t WHERE letter <> ''
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
      EXISTS (SELECT 1 FROM search_generic_words g WHERE g.word = split.word AND g.language IN (@language, 'en')) AS generic
    FROM split WHERE n > 0)
),
pair (n, word, generic, last, with_next, with_last) AS (
  SELECT n, word, generic, last, word || lead(word) OVER w, lag(word) OVER w || word FROM word WINDOW w AS (PARTITION BY generic ORDER BY n)
),
asked (words) AS MATERIALIZED (
  SELECT json_group_array(json_object('n', n, 'word', word, 'generic', generic, 'last', last, 'next', with_next, 'previous', with_last,
    'known', EXISTS (SELECT 1 FROM search_words s WHERE s.language = @language AND (s.word = pair.word
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
      FROM json_each(words) w CROSS JOIN search_words s WHERE s.word = w.value ->> 'word' AND s.language = @language
      UNION ALL
      SELECT n, 1, '"' || s.term || '"', s.word, s.documents, 0
      FROM w CROSS JOIN search_words s WHERE s.word = '${abbreviationMark}' || w.word AND s.language = @language AND s.term LIKE '${placeMark}%'
      UNION ALL
      SELECT n, 0, '"' || s.term || '"', s.word, s.documents, 0
      FROM w CROSS JOIN search_words s WHERE s.word IN (w.next, w.previous) AND s.language = @language AND instr(s.term, ' ') = 0
      UNION ALL
      SELECT n, 1, '"' || w.word || '" *', w.word, CASE WHEN length(w.word) < 3 THEN (SELECT max(search_id) FROM search_entries) ELSE (
          SELECT max(s.documents) FROM search_words s WHERE s.word > w.word AND s.word < w.word || char(1114111) AND s.language = @language
            AND instr(s.term, ' ') = 0) END, 0 FROM w
      WHERE (last OR NOT known) AND EXISTS (
        SELECT 1 FROM search_words s WHERE s.word > w.word AND s.word < w.word || char(1114111) AND s.language = @language
          AND instr(s.term, ' ') = 0 AND s.term NOT LIKE '${placeMark}%'
          AND NOT EXISTS (SELECT 1 FROM search_words x WHERE x.word = w.word AND x.language = @language AND x.term = s.term))
      UNION ALL
      SELECT n, 1, '"' || s.term || '"', s.word, s.documents, 0
      FROM w CROSS JOIN search_words s ON s.word > w.word AND s.word < w.word || char(1114111) AND s.language = @language
      WHERE length(w.word) > 3 AND s.term NOT LIKE '${placeMark}%' AND CASE WHEN last OR NOT known
        THEN substr(s.term, 1, length(w.word)) <> w.word AND (instr(s.term, ' ') = 0 OR NOT known)
        ELSE instr(s.term, ' ') = 0 AND length(s.word) < length(w.word) + 6 END
    )
  ) FROM asked
),
-- Whether the words that are known are found together; where they are not, one of them may be a typo of a far more common one.
stuck (words, readings, is_stuck) AS MATERIALIZED (
  SELECT words, readings, NOT EXISTS (
    SELECT 1 FROM search_terms f JOIN search_entries e ON e.search_id = f.rowid AND e.language = @language
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
          (SELECT max(s.documents) FROM search_words s WHERE s.word = c.word AND s.language = @language AND instr(s.term, ' ') = 0) AS documents
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
          AND s.language = @language AND s.term NOT LIKE '${placeMark}%')
        ORDER BY i.n DESC LIMIT 1)
      FROM sought WHERE least = 1 AND n NOT IN (SELECT n FROM judged)
    )
    SELECT json_group_array(json_array(n, cost, '"' || term || '"', word, documents, 0)) FROM (
      SELECT g.n, 1 + g.typos AS cost, g.word, g.documents, s.term FROM (
        SELECT n, word, typos, documents, row_number() OVER (PARTITION BY n ORDER BY typos, CASE typos WHEN 2 THEN differ END, documents DESC, word) AS nth
        FROM judged
      ) g CROSS JOIN search_words s ON s.word = g.word AND s.language = @language AND instr(s.term, ' ') = 0
      WHERE g.nth < 4
      UNION ALL
      -- Initials stand for a name where no word begins with them.
      SELECT n, 1, word, documents, term FROM (
        SELECT w.value ->> 'n' AS n, s.word, s.documents, s.term, row_number() OVER (PARTITION BY w.value ->> 'n' ORDER BY s.documents DESC, s.term) AS nth
        FROM json_each(words) w CROSS JOIN search_words s ON s.word = '${abbreviationMark}' || (w.value ->> 'word') AND s.language = @language
        WHERE NOT w.value ->> 'generic' AND w.value ->> 'n' NOT IN (SELECT r.value ->> 0 FROM json_each(readings) r)
      ) WHERE nth < 4
      UNION ALL
      -- A form that no text has: the longest word that it begins with.
      SELECT n, 2, word, documents, term FROM (
        SELECT sought.n, s.word, s.documents, s.term, rank() OVER (PARTITION BY sought.n ORDER BY length(s.word) DESC) AS nth
        FROM sought CROSS JOIN position i CROSS JOIN search_words s ON s.word = substr(sought.word, 1, length(sought.word) - i.n) AND s.language = @language
        WHERE least = 1 AND i.n < 4 AND length(s.word) > 2 AND instr(s.term, ' ') = 0
      ) WHERE nth = 1
      UNION ALL
      SELECT n, 3, word, documents, term FROM (
        SELECT b.n, s.word, s.documents, s.term, row_number() OVER (PARTITION BY b.n ORDER BY s.word) AS nth
        FROM begun b CROSS JOIN search_words s ON s.word >= b.beginning AND s.word < b.beginning || char(1114111) AND s.language = @language
        WHERE s.term NOT LIKE '${placeMark}%'
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
        group_concat(CASE WHEN same = 1 AND cost = least AND expr LIKE '"${placeMark}%' THEN expr END, ' OR ') AS within,
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
)`;

/** Returns how a search was understood. */
export const understoodSql: string = `${understood}
SELECT words, parts, extras, every, best FROM answer`;
