import { table } from '../../../src/commands/terminal/table.ts';
import { type Case, cases } from './cases.ts';
import { median, subjects } from './judge.ts';
import { type Daemon, daemons, liveCase, type Outcome } from './live.ts';

interface LiesAsked {
  /** Only cases with this in their names. */
  readonly only?: string;
  readonly daemon?: Daemon;
}

/**
 * Lives through all cases with each daemon, and prints both kinds of error. Returns the exit status: 0 where the rule makes
 * none, and each control fails.
 */
export async function liesWorld({ only = '', daemon }: LiesAsked, say: (line: string) => void): Promise<number> {
  const some = cases.filter(({ name }) => name.includes(only));
  if (some.length === 0) {
    say(`no case has "${only}" in its name`);
    return 1;
  }
  let failed = 0;
  for (const each of daemon === undefined ? daemons : [daemon]) {
    const outcomes: [Case, Outcome][] = [];
    for (const one of some) {
      const outcome = await liveCase(one, each);
      outcomes.push([one, outcome]);
      process.stderr.write(`${each}: ${one.name}, ${(outcome.cpu_ms / 1000).toFixed(1)} s\n`);
    }
    say(`\n${titles[each]}:\n\n${table(columns, outcomes.map(row))}\n`);
    const wrong = outcomes.flatMap(([{ name }, { shown, late, silent }]) => [
      ...silent.map((text) => `  not reported: ${name}: ${text}`),
      ...shown.map((text) => `  lie shown: ${name}: ${text}`),
      ...late.map((text) => `  truth late: ${name}: ${text}`),
    ]);
    for (const line of wrong) say(line);
    const [lies, truths] = [sumOf(outcomes, 'shown'), sumOf(outcomes, 'late')];
    say(`${some.length} cases: ${lies} lies shown beyond the limit, ${truths} truths later than they may be`);
    if (each === 'rule' ? wrong.length > 0 : wrong.length === 0) failed += 1;
  }
  return failed === 0 ? 0 : 1;
}

const titles: Readonly<Record<Daemon, string>> = {
  rule: 'The daemon',
  believes: 'Control: a daemon that believes everything',
  freezes: 'Control: a daemon that freezes everything',
};

const columns = ['case', 'wrong, h a product', 'most at once', 'latest median, h', 'errors'];

function row([{ name }, { errors, shown, late, silent }]: [Case, Outcome]): string[] {
  const all = subjects.map((subject) => errors[subject]);
  const hours = Math.max(...all.map(({ wrong }) => wrong.hours / Math.max(1, wrong.able)));
  const worst = all.reduce((most, { wrong }) => (wrong.at_once > most.at_once ? wrong : most), { at_once: 0, able: 0 });
  const medians = all.flatMap((each) => each.late.map(({ hours: sorted }) => median(sorted)));
  const latest = Math.max(0, ...medians);
  return [
    name,
    hours.toFixed(2),
    worst.at_once === 0 ? '0' : `${worst.at_once} of ${worst.able}`,
    Number.isFinite(latest) ? latest.toFixed(1) : 'never',
    String(shown.length + late.length + silent.length),
  ];
}

function sumOf(outcomes: readonly [Case, Outcome][], kind: 'shown' | 'late'): number {
  return outcomes.reduce((sum, [, outcome]) => sum + outcome[kind].length, 0);
}
