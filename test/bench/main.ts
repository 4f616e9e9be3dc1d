import { readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, loadavg } from 'node:os';
import { join } from 'node:path';
import { table } from '../../src/commands/terminal/table.ts';
import { commandLine } from '../command-line.ts';
import { againstLines } from './against.ts';
import { besideResync } from './beside-resync.ts';
import { calendarLines } from './calendar.ts';
import { checkLines } from './checks.ts';
import { connectionLines } from './connection.ts';
import { daemonLines } from './daemon.ts';
import { followerLines } from './follower.ts';
import { freshnessLines } from './freshness.ts';
import { growthLines } from './growth.ts';
import { httpLines } from './http.ts';
import { idleLines } from './idle.ts';
import { longReaderLines } from './long-reader.ts';
import { type Line, metWord, optionsOf, withTable } from './measure.ts';
import { readerLines } from './reader.ts';
import { receiverLines } from './receiver.ts';
import { refreshLines } from './refreshes.ts';
import { refusalLines } from './refusals.ts';
import { schedulingLines } from './scheduling.ts';
import { searchLines } from './search.ts';
import { togetherLines } from './together.ts';
import { walkLines } from './walks.ts';

/* Ratios within one run, never times alone. */

/** Each by its name: `npm run bench -- reader` runs that one alone, and options after it are its own. */
const benches: Readonly<Record<string, (args: readonly string[]) => Promise<Line[]>>> = {
  daemon: daemonLines,
  idle: idleLines,
  scheduling: schedulingLines,
  receiver: receiverLines,
  refusals: refusalLines,
  'beside-resync': besideResync,
  reader: readerLines,
  calendar: calendarLines,
  connection: connectionLines,
  refreshes: refreshLines,
  walks: walkLines,
  checks: checkLines,
  search: searchLines,
  http: httpLines,
  follower: followerLines,
  freshness: freshnessLines,
  together: togetherLines,
  'long-reader': longReaderLines,
  growth: growthLines,
};

/** Only by its name: it needs a commit. */
const comparison = { against: againstLines };

const named: typeof benches = { ...benches, ...comparison };
const command = commandLine('npm run bench --', 'Measures, beside its targets. Exit 0: every target is met.', {
  '': 'all, 16 minutes',
  'daemon --products 7500': 'one, with options of its own',
  'daemon --help': 'those options',
  '--write': 'all, into the table of docs/reference/measures.md',
})
  .argument('[bench]', `one alone: ${Object.keys(named).join(', ')}`)
  .argument('[options...]', 'what this one takes')
  .option('--write', 'put the table into docs/reference/measures.md')
  .passThroughOptions()
  .parse();
const { write } = command.opts<{ write?: true }>();
const [name, ...args] = command.args;
// One that takes nothing has no look at it.
if (name !== undefined && named[name]?.length === 0) optionsOf(name, args, {});
if (name !== undefined && named[name] === undefined) command.error(`error: there is no bench "${name}"`);
const chosen = name === undefined ? Object.entries(benches) : [[name, named[name]] as const];
const lines: Line[] = [];
const began = performance.now();
for (const [called, bench] of chosen) {
  if (bench === undefined) continue;
  const started = performance.now();
  // The others are still worth knowing, and what failed is not met.
  const failed = (error: unknown): Line[] => [
    {
      what: `${called}: failed`,
      value: error instanceof Error ? (error.stack ?? error.message) : String(error),
      target: '-',
      met: false,
    },
  ];
  lines.push(...(await bench(args).catch(failed)));
  process.stderr.write(`${called}: ${((performance.now() - started) / 1000).toFixed(0)} s\n`);
}
const took = `${((performance.now() - began) / 60_000).toFixed(0)} min`;
const machine = `${availableParallelism()} × ${cpus()[0]?.model.trim() || 'unknown processor'}, load ${loadavg()[0]?.toFixed(1)}, ${took}`;
const columns = ['what', 'measured', 'target', 'met'];
const rows = lines.map(({ what, value, target, met }) => [what, value, target, metWord(met)]);
process.stdout.write(`${table(columns, rows)}\n\n${machine}\n`);
if (write) {
  const path = join(import.meta.dirname, '../../docs/reference/measures.md');
  writeFileSync(path, withTable(readFileSync(path, 'utf8'), columns, rows, machine));
}
process.exitCode = lines.every(({ met }) => met === true || met === null) ? 0 : 1;
