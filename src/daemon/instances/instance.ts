import { existsSync } from 'node:fs';
import { hostname } from 'node:os';
import type { LoadedConfig } from '../../config/load.ts';
import { requireSecrets } from '../../config/secrets.ts';
import { PublishedRows } from '../../copies/follow/published-rows.ts';
import { SourceAway } from '../../copies/follow/source.ts';
import { connectPostgres, type Postgres } from '../../copies/postgres/connect.ts';
import { SharedDeliveries } from '../../copies/postgres/deliveries.ts';
import { isAway } from '../../copies/postgres/errors.ts';
import { fingerprintOf, joinInstances } from '../../copies/postgres/instances.ts';
import { leaseTimes, unwritableMs } from '../../copies/postgres/lease.rules.ts';
import { type Leader, type Leadership, Lease } from '../../copies/postgres/lease.ts';
import { pairRecordOf } from '../../files/pair.ts';
import { type Clock, type Instant, newId } from '../../kernel/clock.ts';
import { keepListeners, type OpenListener } from '../../kernel/http/kept-listener.ts';
import { foreignPair } from '../../mirror/pair-with-inbox.ts';
import { openInbox } from '../../receiver/inbox.ts';
import { type Running, type StartOptions, startDaemon } from '../daemon.ts';
import { prepareDirectories } from '../files.ts';
import type { Machine } from '../machine.ts';
import { isOneOfSeveral, type Sharing } from '../sharing/sharing.ts';
import { PublishedMirror, type TakenOver } from './published.ts';
import { type Standby, startStandby } from './standby.ts';

const lookEveryMs = 1000;

/**
 * Resolves with true when a leader has to resign: its files could not be written for 30 seconds, and another instance
 * stands by with an equal mirror. Resolves with false when the signal aborts.
 */
async function hasToResign(
  daemon: Running,
  leadership: Leadership,
  clock: Clock,
  signal: AbortSignal,
): Promise<boolean> {
  let since: number | null = null;
  while (!signal.aborted) {
    const now = clock.monotonic();
    since = daemon.writeTrouble() === null ? null : (since ?? now);
    // If the database is unreachable, the term ends by itself.
    if (since !== null && now - since >= unwritableMs && (await leadership.hasWarmStandby().catch(() => false)))
      return true;
    await clock.sleep(lookEveryMs, signal).catch(() => undefined);
  }
  return false;
}

/** Starts a daemon, or one of several instances, which leads or stands by, according to the configuration. */
export async function startInstance(machine: Machine, loaded: LoadedConfig, options: StartOptions): Promise<Running> {
  return isOneOfSeveral(loaded)
    ? await startOneOfSeveral(machine, loaded, options)
    : startDaemon(machine, loaded, options);
}

/**
 * Milliseconds after which a statement about the lease, or one that stores deliveries, is given up. The sender of the
 * deliveries still waits then.
 */
const patienceMs = { lease: 2000, deliveries: 5000 } as const;
/**
 * Milliseconds for which an instance that has never had the leader's mirror waits for one that has it, before it leads
 * with its own.
 */
const coldMs = 30_000;

/**
 * Stands by until it leads, leads until another instance takes over, and so on. The listeners stay open, and requests
 * that come in between wait. Rejects if it cannot even stand by.
 */
async function startOneOfSeveral(machine: Machine, loaded: LoadedConfig, options: StartOptions): Promise<Running> {
  const { config, secrets } = loaded;
  await using stack = new AsyncDisposableStack();
  requireSecrets(secrets);
  prepareDirectories(config);
  stack.use(machine.locks(config));
  const kept = machine.network.listen ?? listenersOf(stack);
  const shared = await share(stack, machine, loaded);
  // An error that a person has to fix ends the start. An unreachable database is waited for.
  const pair_id = await shared.join().catch(unlessAway);
  const ending = new AbortController();
  const broken = Promise.withResolvers<never>();
  broken.promise.catch(() => undefined);
  const state: State = { standby: null, daemon: null, told: null };
  const turns: Turns = {
    ...shared,
    machine: { ...machine, locks: alreadyLocked, network: { ...machine.network, listen: kept } },
    loaded,
    options,
    kept,
    state,
    signal: ending.signal,
    broken: broken.reject,
  };
  const standby = await standBy(turns, false);
  const lived = live(turns, standby, pair_id).catch((error: unknown) => {
    if (!ending.signal.aborted) broken.reject(error);
  });
  stack.defer(async () => {
    ending.abort(new Error('the instance is stopping'));
    await lived;
    await state.standby?.[Symbol.asyncDispose]();
  });
  const closing = stack.move();
  const serving = () => state.daemon ?? state.standby;
  const leader = () => shared.lease.seen()?.name ?? 'nobody';
  return {
    get admin() {
      return serving()?.admin ?? [];
    },
    get storefront() {
      return serving()?.storefront ?? null;
    },
    get receiver() {
      return serving()?.receiver ?? null;
    },
    supervised: {
      jobs: () => state.daemon?.supervised.jobs() ?? [],
      filesStopped: () => state.daemon?.supervised.filesStopped() ?? false,
      line: async () => (await state.daemon?.supervised.line()) ?? `stands by; ${leader()} leads`,
    },
    fill: async () => (await state.daemon?.fill()) ?? null,
    writeTrouble: () => state.daemon?.writeTrouble() ?? null,
    broken: broken.promise,
    trouble: () => state.daemon?.trouble() ?? state.told,
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

/** Creates listeners that stay open from one turn to the next. */
function listenersOf(stack: AsyncDisposableStack): OpenListener {
  const listeners = keepListeners();
  stack.defer(async () => {
    const closed = listeners.close();
    listeners.cut();
    await closed;
  });
  return listeners.open;
}

/** The resources that the instances share, and a function that joins them. */
interface Shared {
  readonly lease: Lease;
  readonly mirror: PublishedMirror;
  readonly deliveries: SharedDeliveries;
  readonly join: () => Promise<string>;
}

async function share(
  stack: AsyncDisposableStack,
  { clock, entropy, log }: Machine,
  loaded: LoadedConfig,
): Promise<Shared> {
  const { config, secrets } = loaded;
  const url = secrets.database_url?.reveal() ?? '';
  const { schema } = config.database;
  const connect = async (more: { readonly patience_ms?: number; readonly connections?: number }) =>
    stack.use(await connectPostgres({ url, schema, ...more }));
  const database = await connect({ patience_ms: patienceMs.lease });
  const source = new PublishedRows(await connect({ connections: 1 }), schema, 'all');
  return {
    lease: new Lease({ database, times: leaseTimes, instance: selfIn(config), clock, entropy, log }),
    mirror: new PublishedMirror({ path: config.mirror.path, source, clock, log }),
    deliveries: new SharedDeliveries(await connect({ patience_ms: patienceMs.deliveries })),
    join: joining(loaded, database, () => newId(entropy)),
  };
}

function selfIn({ instance }: LoadedConfig['config']) {
  return { name: instance.name ?? hostname(), advertise: instance.advertise };
}

interface Turns extends Shared {
  readonly machine: Machine;
  readonly loaded: LoadedConfig;
  readonly options: StartOptions;
  readonly kept: OpenListener;
  readonly state: State;
  readonly signal: AbortSignal;
  broken(error: unknown): void;
}

/** Starts to stand by. `resigned`: its files could not be written, and it is not warm until they can be. */
async function standBy(turns: Turns, resigned: boolean): Promise<Standby> {
  const { machine, loaded, lease, mirror, deliveries, kept, state, broken } = turns;
  const { clock, log } = machine;
  const standby = await startStandby({ loaded, lease, mirror, deliveries, clock, log, kept, resigned });
  standby.broken.catch(broken);
  state.standby = standby;
  return standby;
}

/** Stands by and leads in turn until the signal aborts, then rejects with its reason. */
async function live(turns: Turns, first: Standby, joined: string | null): Promise<void> {
  const { machine, loaded, lease, join, signal } = turns;
  const { clock } = machine;
  const { name } = selfIn(loaded.config);
  let pair_id = joined;
  let standby = first;
  let resigned = false;
  while (!signal.aborted) {
    while (pair_id === null) {
      await clock.sleep(leaseTimes.renew, signal);
      pair_id = await join().catch(unlessAway);
    }
    const began = clock.monotonic();
    const mayClaim = (leader: Leader) => {
      if (clock.monotonic() - began > coldMs) return true;
      // After this instance has resigned, another one goes first.
      if (leader.name === name) return !resigned;
      return leader.name === null || standby.isWarm();
    };
    const leadership = await lease.win(signal, { mayClaim, isWarm: standby.isWarm });
    resigned = await lead(turns, { leadership, standby, pair_id });
    if (!signal.aborted) standby = await standBy(turns, resigned);
  }
}

interface Turn {
  readonly leadership: Leadership;
  readonly standby: Standby;
  readonly pair_id: string;
}

/**
 * Leads until the term is over. The daemon takes over the listeners before the standby releases them. Returns whether
 * it resigned because its files cannot be written.
 */
async function lead(turns: Turns, { leadership, standby, pair_id }: Turn): Promise<boolean> {
  const { machine, loaded, options, mirror, deliveries, state, signal, broken } = turns;
  const { clock, log } = machine;
  await using _ = leadership;
  await standby.stopFollowing();
  const over = AbortSignal.any([leadership.lost, signal]);
  const known = await Promise.all([deliveries.epochs(), deliveries.lastHeartbeat(), mirror.goOn(over)]).catch(
    (error: unknown) => (over.aborted || error instanceof SourceAway ? null : unlessAway(error)),
  );
  if (known === null) {
    state.standby = null;
    await standby[Symbol.asyncDispose]();
    return false;
  }
  const [epochs, last_alive_at, begun] = known;
  readyInbox(loaded, { pair_id, now: clock.now(), epochs, begun });
  const sharing: Sharing = { name: selfIn(loaded.config).name, leadership, deliveries, last_alive_at, begun };
  await using daemon = await startDaemon(machine, loaded, { ...options, sharing });
  state.daemon = daemon;
  state.standby = null;
  const let_go = standby[Symbol.asyncDispose]();
  daemon.broken.catch(broken);
  const resigns = await hasToResign(daemon, leadership, clock, over);
  const term = leadership.term.number;
  if (resigns) log.error({ term }, 'the files of this instance cannot be written: it resigns for one that stands by');
  else if (!signal.aborted) log.warn({ term }, 'this instance leads no more, and stands by');
  state.told = daemon.trouble();
  state.daemon = null;
  await let_go;
  return resigns;
}

interface State {
  standby: Standby | null;
  daemon: Running | null;
  /** The error of the last daemon, to report at the end; null: none. */
  told: ReturnType<Running['trouble']>;
}

const alreadyLocked = () => ({ [Symbol.dispose]: () => undefined });

function unlessAway(error: unknown): null {
  if (isAway(error)) return null;
  throw error;
}

/** Returns a function that joins the other instances. Files that belong to another pair are refused (78). */
function joining({ config, secrets }: LoadedConfig, database: Postgres, newPair: () => string): () => Promise<string> {
  const key_fingerprint = fingerprintOf(secrets.api_key?.reveal() ?? '');
  return async () => {
    const { inbox_path, path } = config.mirror;
    const known = existsSync(inbox_path) ? (pairRecordOf(inbox_path)?.pair_id ?? null) : null;
    const pair_id = await joinInstances(database, config.database.schema, {
      pair_id: known ?? newPair(),
      key_fingerprint,
    });
    if (known !== null && known !== pair_id) throw foreignPair(path);
    return pair_id;
  };
}

interface Adopted {
  readonly now: Instant;
  readonly pair_id: string;
  readonly epochs: Parameters<ReturnType<typeof openInbox>['addresses']['adopt']>[0];
  readonly begun: TakenOver | null;
}

/** Prepares the inbox for a daemon: gives it the pair id, all callback addresses, and the position of the change feed. */
function readyInbox({ config, secrets }: LoadedConfig, { pair_id, now, epochs, begun }: Adopted): void {
  const { path, inbox_path } = config.mirror;
  using inbox = openInbox(inbox_path, { master: secrets.receiver_secret, now, pair_id });
  if (epochs.length > 0) inbox.addresses.adopt(epochs);
  if (begun !== null) inbox.feed.takeOver(path, begun.change);
}
