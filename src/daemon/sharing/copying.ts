import type { Clock } from '../../clock.ts';
import { isAway } from '../../database/errors.ts';
import type { CallbackAddresses } from '../../inbox/addresses.ts';
import { InboxFull } from '../../inbox/byte-budget.ts';
import type { Inbox } from '../../inbox/inbox.ts';
import type { Logger } from '../../log.ts';
import { SyncFailed } from '../../sqlite/failed-sync.ts';
import { writeTroubleOf } from '../../sqlite/fault.ts';
import type { Sharing } from './sharing.ts';

export interface CopyingOptions {
  readonly shared: Sharing['deliveries'];
  readonly inbox: Pick<Inbox, 'deliveries' | 'addresses'>;
  readonly log: Logger;
  /** Something was copied, and waits to be applied. */
  copied(): void;
  /** The disk does not take it now. */
  unwritable(error: unknown): void;
}

/** What the leader's inbox and the database have of each other. Disposing ends it, before the inbox is closed. */
export interface Copying extends AsyncDisposable {
  /**
   * Copies what any instance has received, and lets all know the callback addresses; calls made meanwhile cause one more
   * round. What cannot be copied now, because the database is away or the disk is full, waits in the database.
   */
  copy(): Promise<void>;
}

/** Makes the callback addresses that an inbox knows known to all instances. */
function addressTeller(
  shared: Pick<Sharing['deliveries'], 'putEpochs'>,
  addresses: Pick<CallbackAddresses, 'states'>,
): () => Promise<'known' | 'told'> {
  let told: string | null = null;
  return async () => {
    const epochs = addresses.states();
    const text = JSON.stringify(epochs);
    if (text === told) return 'known';
    await shared.putEpochs(epochs);
    told = text;
    return 'told';
  };
}

/** The others look for addresses twice as often. */
export const addressesKnownMs = 1000;

/** Resolves when all instances recognise what the service is about to be told. Throws where the database is away. */
export function tellingInTime(
  shared: Pick<Sharing['deliveries'], 'putEpochs'>,
  addresses: Pick<CallbackAddresses, 'states'>,
  clock: Pick<Clock, 'sleep'>,
): () => Promise<void> {
  const tell = addressTeller(shared, addresses);
  return async () => {
    if ((await tell()) === 'told') await clock.sleep(addressesKnownMs);
  };
}

/** Deliveries that are copied in one commit. */
const copiedTogether = 200;

export function copyingFor({ shared, inbox, log, copied, unwritable }: CopyingOptions): Copying {
  const tellAddresses = addressTeller(shared, inbox.addresses);
  let begun = false;
  let again = false;
  let running: Promise<void> | null = null;
  let away = false;
  let closed = false;

  async function copyAll(): Promise<void> {
    if (!begun) await shared.goOnAbove(inbox.deliveries.newest());
    begun = true;
    while (!closed) {
      const found = await shared.after(inbox.deliveries.newest(), copiedTogether);
      if (found.length === 0 || closed) return;
      inbox.deliveries.storeNumbered(found);
      copied();
    }
  }

  async function work(): Promise<void> {
    do {
      again = false;
      try {
        if (!closed) await tellAddresses();
        if (!closed) await copyAll();
        if (away) log.info('deliveries are copied from the database again');
        away = false;
      } catch (error) {
        if (!waits(error)) throw error;
        if (writeTroubleOf(error) !== null) unwritable(error);
        if (!away) log.warn({ err: error }, 'deliveries cannot be copied from the database');
        away = true;
      }
    } while (again && !closed);
  }

  return {
    copy: () => {
      again = true;
      running ??= work().finally(() => {
        running = null;
      });
      return running;
    },
    [Symbol.asyncDispose]: async () => {
      closed = true;
      await running;
    },
  };
}

/** Whether it may succeed later. */
function waits(error: unknown): boolean {
  if (error instanceof SyncFailed) return false;
  return isAway(error) || error instanceof InboxFull || writeTroubleOf(error) !== null;
}
