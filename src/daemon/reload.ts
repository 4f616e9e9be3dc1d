import type { Answer } from '../admin/api.ts';
import { differenceOf, restartKeys } from '../config/difference.ts';
import type { LoadedConfig } from '../config/load.ts';
import { CataloguedError, exitCodes } from '../errors.ts';
import { refuseAllowList } from './receiving.ts';

/** How the last reload ended. */
export type ReloadOutcome = Answer<'GET /v1/reload'>;

/** Has a daemon take another configuration, or keep the one it has. */
export interface Reload {
  /** Reads the configuration and checks it. Where it can be used and differs it takes over after this call. */
  begin(): ReloadOutcome;
  last(): ReloadOutcome;
}

/** Of a daemon that nobody starts from a file: a demo. */
export const noReload: Reload = {
  begin: () => {
    throw new CataloguedError('no-reload', 'this daemon has no configuration file to read again', {
      exitCode: exitCodes.configuration,
    });
  },
  last: () => ({ reloads: 0, asked_at: null, changed: [], refused: null }),
};

/**
 * Returns what another configuration changes. Throws where a running daemon cannot take it (78): it is taken as a whole or
 * not at all, so that what runs is always what one file said.
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

/** Puts into an outcome what was thrown; what is no `CataloguedError` is a bug (70). */
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
