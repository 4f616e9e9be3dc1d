-- Oldest safe version: 0.1.0
-- For which kinds each product has its records: the JSON of a start. As long as the configuration asks for the same, the next one
-- need not go through all of them, which takes seconds at 100,000 products. NULL: nobody can tell.
ALTER TABLE _budget ADD COLUMN made_for TEXT;
