-- Oldest safe version: 0.1.0
-- What the time since boot counts from: a later process of the same boot goes by it, whatever the wall clock shows.
CREATE TABLE machine_clock (
  clock_id INTEGER PRIMARY KEY CHECK (clock_id = 1),
  boot_id TEXT,                     -- names the boot; NULL: the machine has no names for them
  booted_at INTEGER NOT NULL,       -- the believed instant of the boot
  confirmed INTEGER NOT NULL CHECK (confirmed IN (0, 1)),  -- whether the service has agreed
  doubted_at INTEGER                -- when the clock was last in doubt; NULL: never
) STRICT;
