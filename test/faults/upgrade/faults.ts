import type { Fault } from '../fault.ts';
import { type Upgraded, type UpgradeOptions, upgradeUnderKill } from './upgrade.ts';

const numbers = ({ versions, kills, looks, wrong }: Upgraded) =>
  `${versions} versions, ${kills} kills, ${looks} looks of readers, ${wrong.length} wrong${wrong[0] === undefined ? '' : `, first ${wrong[0]}`}`;

/** A file of an older version is killed while it is changed, a reader beside it; `all`: each version, before each statement. */
export function upgradeFaults(all: boolean): readonly Fault[] {
  const upgraded = (what: string, options: UpgradeOptions): Fault => ({
    id: 'D25',
    what,
    needs: [],
    run: async () => {
      const found = await upgradeUnderKill(all ? { ...options, kills: 'all', step: 1 } : options);
      return { passed: found.kills > 0 && found.wrong.length === 0, numbers: numbers(found) };
    },
  });
  return [
    upgraded('a mirror is changed', { kind: 'mirror', kills: 1, step: 6 }),
    upgraded('an inbox is changed', { kind: 'inbox', kills: 1, step: 2 }),
    {
      id: 'D25',
      what: 'control: commits each statement',
      needs: [],
      run: async () => {
        const found = await upgradeUnderKill({ kind: 'mirror', kills: 2, step: 40, manner: 'straight' });
        return {
          passed: found.wrong.length > 0,
          numbers: `${found.kills} kills, ${found.wrong.length} wrong: the harness sees it`,
        };
      },
    },
  ];
}
