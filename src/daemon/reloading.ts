import type { LoadedConfig } from '../config/load.ts';
import type { Config } from '../config/schema.ts';
import { type SecretName, type Secrets, secretSources } from '../config/secrets.ts';
import { keepLocks } from '../files/locks.ts';
import { writeRefusalOf } from '../files/write-refusal.ts';
import type { Clock } from '../kernel/clock.ts';
import { CataloguedError, exitCodes } from '../kernel/errors.ts';
import { keepListeners } from '../kernel/http/kept-listener.ts';
import type { Logger } from '../kernel/log.ts';
import type { NamedAdapter } from '../service/named-adapter.rules.ts';
import type { Reload, ReloadOutcome } from './answers.ts';
import type { Running, RunningDaemon, StartOptions } from './daemon.ts';
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
export async function startReloading<Started extends Running>(
  options: ReloadingOptions<Started>,
): Promise<ReloadingDaemon<Started>> {
  const reloading = new Reloading(options);
  await reloading.start();
  return reloading;
}

class Reloading<Started extends Running> implements ReloadingDaemon<Started> {
  readonly #options: ReloadingOptions<Started>;
  readonly #listeners = keepListeners();
  readonly #locks: ReturnType<typeof keepLocks>;
  readonly #broken = Promise.withResolvers<never>();
  readonly #outcomes: Outcomes;
  #loaded: LoadedConfig;
  #current: Started | null = null;
  #swapping: Promise<void> | null = null;
  /** Nothing is taken over any more. */
  #isEnding = false;

  constructor(options: ReloadingOptions<Started>) {
    const { machine, load } = options;
    this.#options = options;
    this.#locks = keepLocks(machine.locks);
    this.#outcomes = new Outcomes(machine.log, machine.clock);
    this.#broken.promise.catch(() => undefined);
    this.#loaded = load();
  }

  get broken(): Promise<never> {
    return this.#broken.promise;
  }

  /** Starts the first daemon; what it held is let go of if it cannot start. */
  async start(): Promise<void> {
    await this.#startOne(this.#loaded).catch(async (error: unknown) => {
      await this.#end();
      throw error;
    });
  }

  current(): Started | null {
    return this.#current;
  }

  async settled(): Promise<void> {
    await this.#swapping;
  }

  begin(): ReloadOutcome {
    const daemon = this.#current;
    if (this.#isEnding) return this.last();
    if (daemon === null) {
      // A signal during a reload may be about a later edit.
      void this.#swapping?.then(() => this.begin());
      return this.last();
    }
    try {
      const { next, changed } = accepted({ daemon, loaded: this.#loaded, load: this.#options.load });
      this.#outcomes.accept(changed);
      if (changed.length > 0) {
        this.#listeners.hold();
        this.#swapping = this.#swap(daemon, next).catch(this.#broken.reject);
      }
    } catch (error) {
      this.#outcomes.refuse(error, 'asked now');
    }
    return this.last();
  }

  last(): ReloadOutcome {
    return this.#outcomes.last;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isEnding = true;
    await this.#swapping;
    await this.#end();
  }

  async #startOne(next: LoadedConfig): Promise<void> {
    const { machine, start } = this.#options;
    const { log } = machine;
    log.level = next.config.log.level;
    for (const warning of next.warnings) log.warn({ warning }, 'configuration warning');
    const network = { ...machine.network, listen: this.#listeners.open };
    this.#current = await start({ ...machine, locks: this.#locks.hold, network }, next, { reload: this });
    const { admin, storefront, receiver, broken } = this.#current;
    log.info({ mirror: next.config.mirror.path, admin, storefront, receiver }, 'daemon started');
    broken.catch(this.#broken.reject);
    this.#loaded = next;
  }

  async #swap(daemon: Started, next: LoadedConfig): Promise<void> {
    const { reloading = () => undefined } = this.#options;
    const before = this.#loaded;
    this.#current = null;
    reloading('begins');
    try {
      await daemon[Symbol.asyncDispose]();
      await this.#startOne(next);
      this.#outcomes.taken();
    } catch (error) {
      this.#outcomes.refuse(error);
      await this.#startOne(before);
    }
    await this.#listeners.closeUnused();
    reloading('ends');
  }

  async #end(): Promise<void> {
    const closed = this.#listeners.close();
    await this.#current?.[Symbol.asyncDispose]();
    this.#locks[Symbol.dispose]();
    this.#listeners.cut();
    await closed;
  }
}

/** Remembers the result of the last reload, and logs it. */
class Outcomes {
  readonly #log: Logger;
  readonly #clock: Clock;
  #last: ReloadOutcome = { reloads: 0, asked_at: null, changed: [], refused: null };

  constructor(log: Logger, clock: Clock) {
    this.#log = log;
    this.#clock = clock;
  }

  get last(): ReloadOutcome {
    return this.#last;
  }

  accept(changed: string[]): void {
    this.#last = { ...this.#last, asked_at: this.#clock.now(), changed, refused: null };
    if (changed.length === 0) this.#log.info('configuration has not changed');
  }

  taken(): void {
    this.#last = { ...this.#last, reloads: this.#last.reloads + 1 };
    this.#log.info({ changed: this.#last.changed }, 'configuration reloaded');
  }

  refuse(error: unknown, asked: 'asked now' | 'asked before' = 'asked before'): void {
    const asked_at = asked === 'asked now' ? this.#clock.now() : this.#last.asked_at;
    const refused = refusalOf(error);
    this.#last = { ...this.#last, asked_at, changed: [], refused };
    const { message, details } = refused;
    this.#log.error({ message, details }, 'configuration not reloaded: the old one stays');
  }
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

/** A configuration with its secrets, as it is in use. */
interface InUse {
  readonly config: Config;
  readonly secrets: Secrets;
  adapter(): NamedAdapter;
}

/** Keys that a running daemon cannot change: its files, and the address at which `catalogued reload` finds it. */
export const restartKeys = ['mirror.path', 'mirror.state_dir', 'admin.listen'] as const;

/** Returns the keys whose values differ, lists as a whole, and the secrets and the adapter that do, by the key of their file. */
function differenceOf(before: InUse, after: InUse): string[] {
  const old = leavesOf(before.config);
  const now = leavesOf(after.config);
  const keys = [...new Set([...old.keys(), ...now.keys()])].filter((key) => old.get(key) !== now.get(key));
  const names = Object.keys(secretSources) as SecretName[];
  const secrets = names.filter((name) => before.secrets[name]?.reveal() !== after.secrets[name]?.reveal());
  const adapter = before.adapter().hash === after.adapter().hash ? [] : ['the file of service.adapter'];
  return [...keys, ...secrets.map((name) => `the secret of ${secretSources[name].key}`), ...adapter];
}

function leavesOf(value: unknown, path = ''): Map<string, string> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return new Map([[path, JSON.stringify(value) ?? 'undefined']]);
  return new Map(
    Object.entries(value).flatMap(([name, each]) => [...leavesOf(each, path === '' ? name : `${path}.${name}`)]),
  );
}
