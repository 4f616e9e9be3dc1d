import { control, type Run } from '../run.ts';
import type { ScenarioName } from './scenarios.ts';
import { type SweepOptions, sweepDisk } from './sweep.ts';

/** Every so many-th call is tried where a run may not take long; a prime, so that no kind of call is passed over. */
const seldom: Readonly<Record<ScenarioName, number>> = {
  deliveries: 3,
  'deliveries, answered before they are stored': 7,
  migration: 17,
  backup: 7,
  publication: 5,
  fill: 97,
};

const ways = {
  'fails once (EIO)': { how: 'fails' },
  'finds no room, ten times in a row': { how: 'full', times: 10 },
  'is cut short, and the rest finds no room': { how: 'short', times: 2 },
} as const satisfies Record<string, SweepOptions>;

/** The n-th write, fsync or truncation fails, for n = 1, 2, 3 … until none is left; `all`: none is passed over. */
export function diskRuns(all: boolean): readonly Run[] {
  const swept = (scenario: ScenarioName, options: SweepOptions) =>
    sweepDisk(scenario, { ...options, step: all ? 1 : seldom[scenario] });
  const runs = (['deliveries', 'migration', 'backup', 'publication', 'fill'] as const).flatMap((scenario) =>
    Object.entries(ways).map(
      ([what, options]): Run => ({
        what: `${scenario}: the n-th call ${what}`,
        needs: ['cc'],
        run: async () => {
          const { positions, wrong } = await swept(scenario, options);
          const numbers = [`${positions} calls, ${wrong.length} harmed what stands`, ...wrong.slice(0, 1)].join('; ');
          return { passed: positions > 4 && wrong.length === 0, numbers };
        },
      }),
    ),
  );
  const early = control('answers before it stores', ['cc'], async () => {
    const { positions, wrong } = await swept('deliveries, answered before they are stored', { how: 'fails' });
    return { passed: wrong.length > 0, numbers: `${positions} calls, ${wrong.length} lost some` };
  });
  return [...runs, early];
}
