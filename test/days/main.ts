import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { table } from '../../src/commands/terminal/table.ts';
import { commandLine } from '../command-line.ts';
import { type Form, type Lived, live } from './day.ts';
import { certificatesIn, type Day, days, type Tools } from './days.ts';
import { Resolver } from './resolver.ts';

/*
 * Ordinary bad days in real time: the built daemon as a process of its own, restarted after 5 s as systemd would, behind a
 * faulty way to the built sandbox. Every day has its own daemon, and all of them run at once. docs/faults.md says what the
 * table means.
 */
const { short, only } = commandLine(
  'npm run test:days --',
  'Lets the built daemon live through ordinary bad days beside the built sandbox, in real time. Exit 0: every day went as it must, and every control was noticed.',
  {
    '': 'every day, in about 20 minutes',
    '--short': 'a day of each family, in 90 s',
    '--only dns': 'the days with this in their family or name',
  },
)
  .option('--short', 'a day of each family, with short faults')
  .option('--only <word>', 'only the days whose family or name contains it')
  .parse()
  .opts<{ short?: true; only?: string }>();
const say = (line: string) => void process.stdout.write(`${line}\n`);
const isRoot = process.getuid?.() === 0;
const inside = 'DAYS_INSIDE';

// What is mounted must be gone when this ends, however it ends.
if (isRoot && process.env[inside] === undefined) {
  const args = ['--mount', '--propagation', 'private', process.execPath, ...process.argv.slice(1)];
  const { status } = spawnSync('unshare', args, { stdio: 'inherit', env: { ...process.env, [inside]: '1' } });
  process.exit(status ?? 1);
}

const began = Date.now();
const directory = mkdtempSync(join(tmpdir(), 'days-'));
using resolver = isRoot ? new Resolver() : null;
await resolver?.listen(directory);
const tools: Tools = { resolver, certificates: certificatesIn(directory, (file) => readFileSync(file)) };
const form: Form = short ? { products: 6, after: 8, short: true } : { products: 40, after: 300, short: false };
const chosen = days.filter(
  ({ short: inShort, family, name }) => (!short || inShort !== undefined) && `${family} ${name}`.includes(only ?? ''),
);
const skipped = chosen.filter(({ root }) => root && !isRoot);
const lived = await Promise.all(
  chosen
    .filter((day) => !skipped.includes(day))
    .map(async (day, place) => {
      // Not all fill at once.
      await delay(place * (short ? 300 : 4000));
      const first = days.find(({ family }) => family === day.family) === day || short === true;
      const result = await live(day, form, tools, first);
      say(
        `${((Date.now() - began) / 1000).toFixed(0).padStart(5)} s  ${day.family}: ${day.name}: ${result.problems.join('; ') || 'ok'}`,
      );
      return result;
    }),
);

say('');
say(
  table(
    ['day', 's', 'exits', 'receiver s', 'check s', 'condition', 'green s', 'differences', 'result'],
    [...lived.map(rowOf), ...skipped.map(skippedRow)],
  ),
);
say('\nWhat was said: the first line of the day, the first of its end, and the hint of each condition');
for (const { day, seen } of lived) {
  say(`${day.family}: ${day.name}`);
  say(`  begins  ${seen?.began?.text.slice(0, 220) ?? '-'}`);
  say(`  ends    ${seen?.ended?.text.slice(0, 220) ?? '-'}`);
  for (const { code, todo } of seen?.conditions ?? []) say(`  ${code}: ${todo}`);
  for (const reason of seen?.reasons ?? []) say(`  difference: ${reason}`);
}
say('\nControls: what the harness broke itself, and what it then reported');
const controls = lived.flatMap(({ day, control }) => (control === null ? [] : [{ day, ...control }]));
say(
  table(
    ['family', 'broken', 'reported', 'result'],
    controls.map(({ day, what, problems }) => [
      day.family,
      what,
      problems.join('; ') || 'nothing',
      problems.length > 0 ? 'red, as it must be' : 'NOT NOTICED',
    ]),
  ),
);
const red = lived.filter(({ problems }) => problems.length > 0);
const unnoticed = controls.filter(({ problems }) => problems.length === 0);
const forbidden = process.env.CATALOGUED_TEST_STRICT === '1' ? skipped.length : 0;
say(
  `\n${lived.length} days, ${red.length} red, ${skipped.length} skipped; ${controls.length} controls, ${unnoticed.length} not noticed; ${((Date.now() - began) / 1000).toFixed(0)} s`,
);
rmSync(directory, { recursive: true, force: true });
process.exitCode = red.length + unnoticed.length + forbidden === 0 && lived.length > 0 ? 0 : 1;

function rowOf({ day, lasted, seen, problems }: Lived): string[] {
  const figures =
    seen === null
      ? ['-', '-', '-', '-', '-', '-']
      : [
          seen.exits.length === 0 ? '0' : `${seen.exits.length} (${[...new Set(seen.exits)].join(', ')})`,
          seen.receiver.toFixed(0),
          seen.check.toFixed(0),
          seen.conditions.map(({ code }) => code).join(', ') || '-',
          seen.green?.toFixed(0) ?? 'never',
          seen.differences > 0 && seen.unexplained === 0 ? `${seen.differences} (explained)` : String(seen.differences),
        ];
  return [
    `${day.family}: ${day.name}`,
    String(lasted),
    ...figures,
    problems.length === 0 ? 'ok' : `RED: ${problems.join('; ')}`,
  ];
}

function skippedRow({ family, name }: Day): string[] {
  return [`${family}: ${name}`, '-', '-', '-', '-', '-', '-', '-', 'skipped: needs root'];
}
