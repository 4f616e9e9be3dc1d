import { control, type Run } from '../run.ts';
import { type UpgradeOptions, upgradeUnderKill, versionsOf } from './upgrade.ts';

function upgraded(what: string, options: UpgradeOptions): Run {
  return {
    what,
    run: async () => {
      const { kills, looks, wrong } = await upgradeUnderKill(options);
      const first = wrong[0] === undefined ? '' : `, first ${wrong[0]}`;
      const numbers = `${options.versions.length} versions, ${kills} kills, ${looks} looks of readers, ${wrong.length} wrong${first}`;
      return { passed: kills > 0 && wrong.length === 0, numbers };
    },
  };
}

/** From each version a run of its own, killed before each statement, the newest first: it has the fewest. */
function fromEach(kind: UpgradeOptions['kind']): Run[] {
  const each = versionsOf(kind).toReversed();
  return each.map((version) => upgraded(`${kind} ${version} is changed`, { kind, kills: 'all', versions: [version] }));
}

function fromSome(kind: UpgradeOptions['kind'], step: number): Run {
  const versions = versionsOf(kind).filter((_, index) => index % step === 0);
  return upgraded(`${kind === 'mirror' ? 'a mirror' : 'an inbox'} is changed`, { kind, kills: 1, versions });
}

/** A file of an older version is killed while it is changed, a reader beside it; `all`: each version, before each statement. */
export function upgradeRuns(all: boolean): readonly Run[] {
  return [
    ...(all ? [...fromEach('inbox'), ...fromEach('mirror')] : [fromSome('mirror', 6), fromSome('inbox', 2)]),
    control('commits each statement', [], async () => {
      const found = await upgradeUnderKill({ kind: 'mirror', kills: 2, versions: [5], manner: 'straight' });
      return { passed: found.wrong.length > 0, numbers: `${found.kills} kills, ${found.wrong.length} wrong` };
    }),
  ];
}
