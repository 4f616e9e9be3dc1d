import type { Fault } from '../fault.ts';
import type { ScenarioName } from './scenarios.ts';
import { type SweepOptions, sweepDisk } from './sweep.ts';

/** Every so many-th call is tried where a run may not take long; a prime, so that no kind of call is passed over. */
const seldom: Readonly<Record<ScenarioName, number>> = {
  deliveries: 3,
  'deliveries, answered before they are stored': 7,
  migration: 53,
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
export function diskFaults(all: boolean): readonly Fault[] {
  const swept = (scenario: ScenarioName, options: SweepOptions) =>
    sweepDisk(scenario, { ...options, step: all ? 1 : seldom[scenario] });
  const honest = (['deliveries', 'migration', 'backup', 'publication', 'fill'] as const).flatMap((scenario) =>
    Object.entries(ways).map(
      ([what, options]): Fault => ({
        id: 'D5',
        what: `${scenario}: the n-th call ${what}`,
        needs: ['cc'],
        run: async () => {
          const { positions, wrong } = await swept(scenario, options);
          const numbers = `${positions} calls, ${wrong.length} harmed what stands`;
          return {
            passed: positions > 4 && wrong.length === 0,
            numbers: wrong.length === 0 ? numbers : `${numbers}; ${wrong[0]}`,
          };
        },
      }),
    ),
  );
  const control: Fault = {
    id: 'D5',
    what: 'control: answers before it stores',
    needs: ['cc'],
    run: async () => {
      const { positions, wrong } = await swept('deliveries, answered before they are stored', { how: 'fails' });
      return {
        passed: wrong.length > 0,
        numbers: `${positions} calls, ${wrong.length} lost some: the harness sees it`,
      };
    },
  };
  return [...honest, control];
}
