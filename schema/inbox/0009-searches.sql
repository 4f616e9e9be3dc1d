-- Oldest safe version: 0.1.0
-- What was searched for and nothing in the catalogue has, counted by day: for whoever decides what to sell. Words alone, of
-- nobody; what could be a person's address or number is not kept (src/domain/search/fruitless.ts).
CREATE TABLE fruitless_search (
  day INTEGER NOT NULL,              -- whole days since 1970, UTC
  words TEXT NOT NULL,
  searches INTEGER NOT NULL,
  PRIMARY KEY (day, words)
) STRICT, WITHOUT ROWID;
