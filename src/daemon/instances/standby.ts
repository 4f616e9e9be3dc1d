import type { InterfaceRoom } from '../../admin/listening.ts';
import { forwardAdmin, forwardStorefront } from '../../admin/pass-on.ts';
import type { LoadedConfig } from '../../config/load.ts';
import type { SharedDeliveries } from '../../copies/postgres/deliveries.ts';
import type { Lease } from '../../copies/postgres/lease.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { OpenListener } from '../../kernel/http/kept-listener.ts';
import type { Logger } from '../../kernel/log.ts';
import { takesWrites } from '../../kernel/sqlite/trial-write.ts';
import { KnownAddresses } from '../../receiver/addresses.store.ts';
import { type Receiver, startReceiver } from '../../receiver/receiver.ts';
import { Crowding } from '../crowding.ts';
import { addressesKnownMs } from '../sharing/copying.ts';
import { hostsOf, SharedDesk } from '../sharing/sharing.ts';
import type { PublishedMirror } from './published.ts';

export interface StandbyOptions {
  readonly loaded: LoadedConfig;
  readonly lease: Lease;
  readonly mirror: PublishedMirror;
  readonly deliveries: SharedDeliveries;
  readonly clock: Clock;
  readonly log: Logger;
  readonly kept: OpenListener;
  /** True: it led, and resigned because its files could not be written. It is not warm until they can be. */
  readonly resigned: boolean;
}

/**
 * An instance that receives, passes requests on to the leader, and follows the published state. Disposing ends all of
 * it.
 */
export interface Standby extends AsyncDisposable {
  readonly admin: readonly string[];
  readonly storefront: string | null;
  /** Null: nothing is received. */
  readonly receiver: string | null;
  /** Returns whether the mirror has been equal to the published state since this standby began. */
  isWarm(): boolean;
  /** Closes the mirror, so that the daemon can open it. */
  stopFollowing(): Promise<void>;
  /** Rejects if the mirror cannot follow. */
  readonly broken: Promise<never>;
}

/** Milliseconds between two reads of the callback addresses that all instances share. */
const lookEveryMs = addressesKnownMs / 2;

export async function startStandby(options: StandbyOptions): Promise<Standby> {
  const { loaded, lease, mirror, clock, log, kept } = options;
  const { config, secrets } = loaded;
  await using stack = new AsyncDisposableStack();
  const ending = new AbortController();
  const { signal } = ending;
  let warm = false;
  const leader = { at: () => lease.seen()?.advertise ?? null, token: secrets.admin_token };
  const crowding = new Crowding(clock, log);
  const door = { leader, clock, signal, kept };
  const { admin, storefront } = config;
  const adminDoor = stack.use(
    await forwardAdmin(
      {
        ...door,
        room: crowding.of('admin'),
        listen: admin.listen,
        token: secrets.admin_token,
        hosts: hostsOf(config),
      },
      () => warm && !signal.aborted,
    ),
  );
  const storefrontDoor =
    storefront.listen === null
      ? null
      : stack.use(
          await forwardStorefront(
            { ...door, room: crowding.of('storefront'), listen: storefront.listen, token: secrets.storefront_token },
            storefront,
          ),
        );
  const receiver = { address: null as string | null };
  // Without the addresses every caller would be refused. Until they are known, callers wait.
  const received =
    secrets.receiver_secret === null ? null : receive(options, crowding.of('receiver'), signal, receiver);
  const following = new AbortController();
  const broken = Promise.withResolvers<never>();
  broken.promise.catch(() => undefined);
  const followed = mirror
    .follow(following.signal, () => {
      // If it published the last state itself, its file is equal to it already.
      warm ||= !options.resigned || takesWrites(config.mirror.path);
    })
    .catch(broken.reject);
  const stopFollowing = async () => {
    following.abort();
    await followed;
  };
  stack.defer(stopFollowing);
  received?.catch(broken.reject);
  stack.defer(async () => void (await received?.catch(() => undefined)));
  stack.defer(() => ending.abort(new Error('another one answers from now on')));
  const closing = stack.move();
  return {
    admin: [adminDoor.address],
    storefront: storefrontDoor?.address ?? null,
    get receiver() {
      return receiver.address;
    },
    isWarm: () => warm,
    stopFollowing,
    broken: broken.promise,
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

/**
 * Receives at the addresses that the leader has stored, until the signal aborts. Deliveries are stored in the database.
 */
async function receive(
  { loaded: { config, secrets }, deliveries, clock, log, kept }: StandbyOptions,
  room: InterfaceRoom,
  signal: AbortSignal,
  standing: { address: string | null },
): Promise<void> {
  const addresses = new KnownAddresses(secrets.receiver_secret);
  let receiver: Receiver | null = null;
  while (!signal.aborted) {
    // While the database is unreachable nothing could be stored either.
    const epochs = await deliveries.epochs().catch(() => null);
    if (epochs !== null) addresses.know(epochs);
    if (epochs !== null && !signal.aborted)
      receiver ??= await startReceiver({
        ...config.receiver,
        kept,
        room,
        addresses,
        desk: new SharedDesk(deliveries, log),
        clock,
        log,
      });
    standing.address = receiver?.address ?? null;
    await clock.sleep(lookEveryMs, signal).catch(() => undefined);
  }
  await receiver?.[Symbol.asyncDispose]();
}
