import type { Answer } from '../admin/api.ts';
import { differenceOf, restartKeys } from '../config/difference.ts';
import type { LoadedConfig } from '../config/load.ts';
import { CataloguedError, exitCodes } from '../errors.ts';
import { refuseAllowList } from './receiving.ts';

/** The result of the last reload. */
export type ReloadOutcome = Answer<'GET /v1/reload'>;

/** Lets a daemon take over another configuration, or keep the current one. */
export interface Reload {
  /** Reads and checks the configuration. If it is valid and differs, it takes over after this call. */
  begin(): ReloadOutcome;
  last(): ReloadOutcome;
}

/** The reload of a daemon without a configuration file: a demo. */
export const noReload: Reload = {
  begin: () => {
    throw new CataloguedError('no-reload', 'this daemon has no configuration file to read again', {
      exitCode: exitCodes.configuration,
    });
  },
  last: () => ({ reloads: 0, asked_at: null, changed: [], refused: null }),
};

/**
 * Returns the settings that another configuration changes. Throws (78) if a running daemon cannot take it over. Reload
 * is all or nothing, so the running settings always come from one file.
 */
export function acceptedChanges(before: LoadedConfig, after: LoadedConfig, rule: 'check' | 'force'): string[] {
  const changed = differenceOf(before, after);
  const restart = restartKeys.filter((key) => changed.includes(key));
  if (restart.length > 0)
    throw new CataloguedError('restart-needed', 'nothing was reloaded: a changed key takes a restart of the daemon', {
      exitCode: exitCodes.configuration,
      details: restart.map((key) => `${key} has changed`),
      hint: 'systemctl restart catalogued, or restore those keys and reload again',
    });
  refuseAllowList(after.config, rule);
  return changed;
}

/** Returns a thrown error as part of an outcome. Anything but a `CataloguedError` is a bug (70). */
export function refusalOf(error: unknown): NonNullable<ReloadOutcome['refused']> {
  if (!(error instanceof CataloguedError))
    return {
      exit_code: exitCodes.bug,
      message: error instanceof Error ? error.message : String(error),
      details: [],
      hint: null,
    };
  const { exitCode, message, details, hint = null } = error;
  return { exit_code: exitCode, message, details: [...details], hint };
}
