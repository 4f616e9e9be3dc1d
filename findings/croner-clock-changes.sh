#!/bin/sh
# Software: croner 11.0.1 (npm), with the time zones of whichever Node runs it.
# Behaviour: a pattern with one hour moves a time that does not exist, and runs once where it occurs twice. A pattern with
#   several hours does neither: where clocks go forward its time is lost, and where they go back it runs twice.
# Seen: 2026-11-27. A nightly job at "0 2,14 * * *" loses a run a year, and has one too many.
# Runs without catalogued. Exits 1 when the output is another one.
set -eu
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
npm install --silent --no-audit --no-fund --prefix . croner@11.0.1 >/dev/null
cat >show.mjs <<'JS'
import { Cron } from 'croner';
for (const [pattern, timezone, from, to] of [
  ['0 2 * * *', 'Europe/Amsterdam', '2026-03-29', '2026-03-30'],
  ['0 2,14 * * *', 'Europe/Amsterdam', '2026-03-29', '2026-03-30'],
  ['0 2 * * *', 'Europe/Amsterdam', '2025-10-26', '2025-10-27'],
  ['0 2,14 * * *', 'Europe/Amsterdam', '2025-10-26', '2025-10-27'],
  ['0 */6 * * *', 'America/Havana', '2026-03-08', '2026-03-09'],
]) {
  const cron = new Cron(pattern, { timezone, paused: true });
  const runs = [];
  const clock = new Intl.DateTimeFormat('sv', { timeZone: timezone, dateStyle: 'short', timeStyle: 'short' });
  for (let at = cron.nextRun(new Date(Date.parse(`${from}T00:00:00Z`) - 12 * 3_600_000)); ; at = cron.nextRun(at)) {
    const [date, time] = clock.format(at).split(' ');
    if (date >= to) break;
    if (date >= from) runs.push(time);
  }
  console.log(`${pattern} in ${timezone} on ${from}: ${runs.join(' ')}`);
}
JS
node show.mjs | tee seen
cat >expected <<'TEXT'
0 2 * * * in Europe/Amsterdam on 2026-03-29: 03:00
0 2,14 * * * in Europe/Amsterdam on 2026-03-29: 14:00
0 2 * * * in Europe/Amsterdam on 2025-10-26: 02:00
0 2,14 * * * in Europe/Amsterdam on 2025-10-26: 02:00 02:00 14:00
0 */6 * * * in America/Havana on 2026-03-08: 06:00 12:00 18:00
TEXT
diff expected seen
