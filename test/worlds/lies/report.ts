import { availableParallelism } from 'node:os';
import { table } from '../../../src/commands/terminal/table.ts';
import { runMark } from '../../fakes/no-child-outlives.ts';
import { temporaryDirectory } from '../../fakes/test-mirror.ts';
import { startWorkers } from '../workers.ts';
import { type Case, cases } from './cases.ts';
import { type Daemon, daemons, type Outcome } from './live.ts';

interface LiesAsked {
  /** Only cases with this in their names. */
  readonly only?: string;
  readonly daemon?: Daemon;
  readonly workers?: number;
}

type Lived = readonly [Case, Outcome];

/**
 * Lives through all cases with each daemon, and prints both kinds of error. Returns the exit status: 0 where the rule makes
 * none, and each control fails.
 */
export async function liesWorld(asked: LiesAsked, say: (line: string) => void): Promise<number> {
  const { only = '', daemon, workers: count = availableParallelism() } = asked;
  const some = cases.filter(({ name }) => name.includes(only));
  if (some.length === 0) {
    say(`no case has "${only}" in its name`);
    return 1;
  }
  // The processes share the worlds that one of them has filled.
  using directory = temporaryDirectory();
  Object.assign(process.env, { TMPDIR: directory.path, [runMark]: 'lies' });
  using workers = startWorkers(count);
  const live = async (one: Case, by: Daemon): Promise<Lived> => {
    const outcome = await workers.liveCase(one.name, by);
    process.stderr.write(
      `${by}: ${one.name}: ${cellsOf(outcome).join(', ')}; ${(outcome.cpu_ms / 1000).toFixed(1)} s\n`,
    );
    return [one, outcome];
  };
  const lived = (daemon === undefined ? daemons : [daemon]).map(async (by) => {
    const outcomes = await Promise.all(some.map((one) => live(one, by)));
    return [by, outcomes] as const;
  });
  const all = await Promise.all(lived);
  const columns = all.flatMap(([by]) => [`${by}: shown beyond`, 'delayed, min']);
  const rows = some.map(({ name, kind }, index) => [
    kind,
    name,
    ...all.flatMap(([, outcomes]) => cellsOf((outcomes[index] as Lived)[1])),
  ]);
  say(`\n${table(['', 'case', ...columns], rows)}`);
  const failed = all.map(([by, outcomes]) => isFailed(by, outcomes, say));
  return failed.includes(true) ? 1 : 0;
}

const titles: Readonly<Record<Daemon, string>> = {
  rule: 'The daemon',
  believes: 'Control: a daemon that believes everything',
  freezes: 'Control: a daemon that freezes everything',
};

/** Prints the errors of a daemon. Returns whether it makes any, or of a control whether it makes none. */
function isFailed(by: Daemon, outcomes: readonly Lived[], say: (line: string) => void): boolean {
  const wrong = outcomes.flatMap(([{ name }, { shown, late, silent }]) => [
    ...silent.map((text) => `  not reported: ${name}: ${text}`),
    ...shown.map((text) => `  lie shown: ${name}: ${text}`),
    ...late.map((text) => `  truth late: ${name}: ${text}`),
  ]);
  const caught = (kind: Case['kind'], error: (outcome: Outcome) => readonly string[]) => {
    const some = outcomes.filter(([of]) => of.kind === kind);
    return `${some.filter(([, outcome]) => error(outcome).length > 0).length} of ${some.length}`;
  };
  say(`\n${titles[by]}:`);
  if (by === 'rule') for (const line of wrong) say(line);
  const lies = caught('lie', ({ shown, silent }) => [...shown, ...silent]);
  say(`shows ${lies} lies beyond the limit, and ${caught('truth', ({ late }) => late)} truths later than they may be`);
  return wrong.length > 0 === (by === 'rule');
}

/** Returns by how much lies were shown beyond the limit, and how many minutes truths took. */
function cellsOf({ beyond: { records, hours }, delay, shown, late, silent }: Outcome): [string, string] {
  const by = [records > 0 ? `${records} records` : '', hours > 0 ? `${hours.toFixed(1)} h` : ''].filter(Boolean);
  const texts = [...(shown.length > 0 ? by : []), ...(silent.length > 0 ? ['unreported'] : [])];
  const minutes = Number.isFinite(delay) ? String(Math.round(60 * delay)) : 'never';
  return [texts.join(', ') || '–', `${minutes}${late.length > 0 ? ', late' : ''}`];
}
