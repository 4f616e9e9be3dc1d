import { spawnSync } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { table } from '../../../src/commands/terminal/table.ts';
import { type Lived, live } from './day.ts';
import { lieReport } from './lies-report.ts';
import { liveLie } from './live-lies.ts';
import { Names } from './names.ts';
import { authority, certificatesOf, type Day, days } from './table-of-days.ts';
import { lieDays } from './table-of-lies.ts';

const inside = 'WORLDS_INSIDE';

/**
 * Lives through ordinary bad days, all of them at once, each with a daemon and a service of its own; returns the exit
 * status: 0 if every day went as it must and every control was noticed. docs/faults.md says what the table means. Root runs it once more in a mount
 * namespace: what is mounted must be gone when it ends, however it ends.
 */
export async function liveDays(
  { short = false, only = '' }: { short?: boolean; only?: string },
  say: (line: string) => void,
): Promise<number> {
  const isRoot = process.getuid?.() === 0;
  if (isRoot && process.env[inside] === undefined) {
    const args = ['--mount', '--propagation', 'private', process.execPath, ...process.argv.slice(1)];
    return spawnSync('unshare', args, { stdio: 'inherit', env: { ...process.env, [inside]: '1' } }).status ?? 1;
  }
  const began = performance.now();
  const seconds = () => ((performance.now() - began) / 1000).toFixed(0);
  using own = authority();
  using names = isRoot ? new Names() : null;
  await names?.mount(own.directory);
  const tools = { names, certificates: certificatesOf(own) };
  const chosen = days.filter((day) => (!short || day.short !== undefined) && nameOf(day).includes(only));
  const skipped = chosen.filter(({ root }) => root && !isRoot);
  const lived = await Promise.all(
    chosen
      .filter((day) => !skipped.includes(day))
      .map(async (day, place) => {
        // Not all fill at once.
        await delay(place * (short ? 300 : 4000));
        const withControl = short || days.find(({ family }) => family === day.family) === day;
        const result = await live(day, short ? 'short' : 'whole', tools, withControl);
        say(`${seconds().padStart(5)} s  ${nameOf(day)}: ${result.problems.join('; ') || 'ok'}`);
        return result;
      }),
  );

  // Not beside the others, which are enough for one machine.
  const lies = lieDays.filter(
    ({ name, named }) => !short && `lies: ${name}`.includes(only) && (!named || only.includes(name)),
  );
  const livedLies = await Promise.all(
    lies.map(async (day, place) => {
      await delay(place * 4000);
      const result = await liveLie(day);
      say(`${seconds().padStart(5)} s  lies: ${day.name}: ${result.problems.join('; ') || 'ok'}`);
      return result;
    }),
  );

  const controls = lived.flatMap(({ day: { family }, control }) => (control === null ? [] : [{ family, ...control }]));
  if (lived.length + skipped.length > 0) sayDays(lived, skipped, controls, say);
  if (livedLies.length > 0) say(`\n${lieReport(livedLies)}`);
  const all = [...lived, ...livedLies.filter(({ day }) => !day.control)];
  const believing = livedLies.filter(({ day }) => day.control);
  const red = all.filter(({ problems }) => problems.length > 0).length;
  const unnoticed = [...controls, ...believing].filter(({ problems }) => problems.length === 0).length;
  say(
    `\n${all.length} days, ${red} red, ${skipped.length} skipped; ${controls.length + believing.length} controls, ${unnoticed} not noticed; ${seconds()} s`,
  );
  const forbidden = process.env.CATALOGUED_TEST_STRICT === '1' ? skipped.length : 0;
  return red + unnoticed + forbidden === 0 && all.length > 0 ? 0 : 1;
}

type Controls = readonly (NonNullable<Lived['control']> & Pick<Day, 'family'>)[];

function sayDays(
  lived: readonly Lived[],
  skipped: readonly Day[],
  controls: Controls,
  say: (line: string) => void,
): void {
  const heads = ['day', 's', 'exits', 'receiver s', 'check s', 'condition', 'green s', 'differences', 'result'];
  const skippedRows = skipped.map((day) => [nameOf(day), ...heads.slice(2).map(() => '-'), 'skipped: needs root']);
  say(`\n${table(heads, [...lived.map(rowOf), ...skippedRows])}`);
  say('\nWhat was said: the first line of the day, the first of its end, and the hint of each condition');
  for (const { day, seen } of lived) {
    say(nameOf(day));
    say(`  begins  ${seen?.began?.text.slice(0, 220) ?? '-'}`);
    say(`  ends    ${seen?.ended?.text.slice(0, 220) ?? '-'}`);
    for (const { code, todo } of seen?.conditions ?? []) say(`  ${code}: ${todo}`);
    for (const each of seen?.first ?? []) say(`  difference: ${each}`);
  }
  say('\nControls: what the harness broke itself, and what it then reported');
  const noticed = controls.map(({ family, what, problems }) => [
    family,
    what,
    problems.join('; ').slice(0, 120) || 'nothing',
    problems.length > 0 ? 'red, as it must be' : 'NOT NOTICED',
  ]);
  say(table(['family', 'broken', 'reported', 'result'], noticed));
}

const nameOf = ({ family, name }: Day) => `${family}: ${name}`;

function rowOf({ day, lasted, seen, problems }: Lived): string[] {
  const result = problems.length === 0 ? 'ok' : `RED: ${problems.join('; ')}`;
  if (seen === null) return [nameOf(day), String(lasted), '-', '-', '-', '-', '-', '-', result];
  const { exits, receiver, check, conditions, green, held, differences, equal } = seen;
  return [
    nameOf(day),
    String(lasted),
    exits.length === 0 ? '0' : `${exits.length} (${[...new Set(exits)].join(', ')})`,
    receiver.toFixed(0),
    check.toFixed(0),
    conditions.map(({ code }) => code).join(', ') || '-',
    `${green?.toFixed(0) ?? 'never'}${held.length === 0 ? '' : ` (${held.join(', ')})`}`,
    equal < 5 ? String(differences) : `${differences} after ${equal.toFixed(0)} s`,
    result,
  ];
}
