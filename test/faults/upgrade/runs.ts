import { control, type Run } from '../run.ts';
import { upgradeUnderKill } from './upgrade.ts';

/** Both files are changed by a next version that is killed, readers beside them; `all`: before each statement. */
export function upgradeRuns(all: boolean): readonly Run[] {
  const changed: Run = {
    what: 'both files are changed',
    run: async () => {
      const { kills, looks, wrong } = await upgradeUnderKill({ kills: all ? 'all' : 12 });
      const first = wrong[0] === undefined ? '' : `, first ${wrong[0]}`;
      const numbers = `${kills} kills, ${looks} looks of readers, ${wrong.length} wrong${first}`;
      return { passed: kills > 0 && wrong.length === 0, numbers };
    },
  };
  const straight = control('commits each statement', [], async () => {
    const { kills, wrong } = await upgradeUnderKill({ kills: 4, manner: 'straight' });
    return { passed: wrong.length > 0, numbers: `${kills} kills, ${wrong.length} wrong` };
  });
  return [changed, straight];
}
