import type { Clock } from '../clock.ts';
import { differenceOf, restartKeys } from '../config/difference.ts';
import type { LoadedConfig } from '../config/load.ts';
import { CataloguedError, exitCodes } from '../errors.ts';
import { writeRefusalOf } from '../files/write-refusal.ts';
import { keepListeners } from '../kept-listener.ts';
import type { Logger } from '../log.ts';
import type { Reload, ReloadOutcome } from './answers.ts';
import type { Running, RunningDaemon, StartOptions } from './daemon.ts';
import { keepLocks } from './locks.ts';
import type { Machine } from './machine.ts';

export interface ReloadingOptions<Started extends Running> {
  readonly machine: Machine;
  /** Starts a daemon, or one of several instances. */
  start(machine: Machine, loaded: LoadedConfig, options: StartOptions): Promise<Started>;
  /** Reads the configuration with all its secrets. Throws if anything is wrong with it. */
  load(): LoadedConfig;
  /** Called when another configuration begins to take over, and when the daemon runs again. */
  readonly reloading?: (phase: 'begins' | 'ends') => void;
}

/** A daemon that can take over another configuration. */
export interface ReloadingDaemon<Started extends Running = RunningDaemon> extends AsyncDisposable, Reload {
  /** Returns the running daemon; null: a reload is under way. */
  current(): Started | null;
  /** Resolves when no reload is under way. */
  settled(): Promise<void>;
  /** Rejects when no daemon can continue. */
  readonly broken: Promise<never>;
}

/**
 * Starts a daemon. A reload stops it cleanly and starts it again with the new configuration, in the same process, so
 * every key takes effect as at a start. The listeners stay open, requests that come meanwhile wait, and the files stay
 * locked. If the start fails, the old configuration is started again.
 */
export async function startReloading<Started extends Running>({
  machine,
  load,
  start: startOne,
  reloading = () => undefined,
}: ReloadingOptions<Started>): Promise<ReloadingDaemon<Started>> {
  const { log } = machine;
  const listeners = keepListeners();
  const locks = keepLocks(machine.locks);
  const kept = { ...machine, locks: locks.hold, network: { ...machine.network, listen: listeners.open } };
  const broken = Promise.withResolvers<never>();
  broken.promise.catch(() => undefined);
  let loaded = load();
  const outcome = outcomes(log, machine.clock);
  let swapping: Promise<void> | null = null;
  let current: Started | null = null;

  async function start(next: LoadedConfig): Promise<void> {
    log.level = next.config.log.level;
    for (const warning of next.warnings) log.warn({ warning }, 'configuration warning');
    current = await startOne(kept, next, { reload });
    const { admin, storefront, receiver } = current;
    log.info({ mirror: next.config.mirror.path, admin, storefront, receiver }, 'daemon started');
    current.broken.catch(broken.reject);
    loaded = next;
  }

  async function swap(daemon: Started, next: LoadedConfig): Promise<void> {
    const before = loaded;
    current = null;
    reloading('begins');
    try {
      await daemon[Symbol.asyncDispose]();
      await start(next);
      outcome.taken();
    } catch (error) {
      outcome.refuse(error);
      await start(before);
    }
    await listeners.closeUnused();
    reloading('ends');
  }

  const reload: Reload = {
    begin: () => {
      const daemon = current;
      if (daemon === null) {
        // A signal during a reload may be about a later edit.
        void swapping?.then(reload.begin);
        return outcome.last();
      }
      try {
        const { next, changed } = accepted({ daemon, loaded, load });
        outcome.accept(changed);
        if (changed.length > 0) {
          listeners.hold();
          swapping = swap(daemon, next).catch(broken.reject);
        }
      } catch (error) {
        outcome.refuse(error, 'asked now');
      }
      return outcome.last();
    },
    last: outcome.last,
  };

  async function end(): Promise<void> {
    const closed = listeners.close();
    await current?.[Symbol.asyncDispose]();
    locks[Symbol.dispose]();
    listeners.cut();
    await closed;
  }

  await start(loaded).catch(async (error: unknown) => {
    await end();
    throw error;
  });
  return {
    ...reload,
    current: () => current,
    settled: async () => void (await swapping),
    broken: broken.promise,
    async [Symbol.asyncDispose]() {
      await swapping;
      await end();
    },
  };
}

/** Remembers the result of the last reload, and logs it. */
function outcomes(log: Logger, { now }: Clock) {
  let outcome: ReloadOutcome = { reloads: 0, asked_at: null, changed: [], refused: null };
  return {
    last: () => outcome,
    accept: (changed: string[]): void => {
      outcome = { ...outcome, asked_at: now(), changed, refused: null };
      if (changed.length === 0) log.info('configuration has not changed');
    },
    taken: (): void => {
      outcome = { ...outcome, reloads: outcome.reloads + 1 };
      log.info({ changed: outcome.changed }, 'configuration reloaded');
    },
    refuse: (error: unknown, asked: 'asked now' | 'asked before' = 'asked before'): void => {
      const asked_at = asked === 'asked now' ? now() : outcome.asked_at;
      const refused = refusalOf(error);
      outcome = { ...outcome, asked_at, changed: [], refused };
      const { message, details } = refused;
      log.error({ message, details }, 'configuration not reloaded: the old one stays');
    },
  };
}

/** Returns the configuration to take over, and its changes. Throws if it cannot be taken over. */
function accepted({ daemon, loaded, load }: Question): { next: LoadedConfig; changed: string[] } {
  // With a full disk or a locked file no start succeeds, not even with the old configuration.
  const trouble = daemon.writeTrouble();
  if (trouble !== null) throw writeRefusalOf(trouble);
  const next = load();
  return { next, changed: acceptedChanges(loaded, next) };
}

interface Question {
  readonly load: () => LoadedConfig;
  readonly daemon: Running;
  readonly loaded: LoadedConfig;
}

/**
 * Returns the settings that another configuration changes. Throws (78) if a running daemon cannot take it over. Reload
 * is all or nothing, so the running settings always come from one file.
 */
function acceptedChanges(before: LoadedConfig, after: LoadedConfig): string[] {
  const changed = differenceOf(before, after);
  const restart = restartKeys.filter((key) => changed.includes(key));
  if (restart.length > 0)
    throw new CataloguedError('restart-needed', 'nothing was reloaded: a changed key takes a restart of the daemon', {
      exitCode: exitCodes.configuration,
      details: restart.map((key) => `${key} has changed`),
      hint: 'systemctl restart catalogued, or restore those keys and reload again',
    });
  return changed;
}

/** Returns a thrown error as part of an outcome. Anything but a `CataloguedError` is a bug (70). */
function refusalOf(error: unknown): NonNullable<ReloadOutcome['refused']> {
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
