import { isAway } from '../../copies/postgres/errors.ts';
import type { Writer } from '../../files/writer.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { Logger } from '../../kernel/log.ts';
import { SyncFailed } from '../../kernel/sqlite/failed-sync.ts';
import { writeTroubleOf } from '../../kernel/sqlite/fault.ts';
import type { CallbackAddresses } from '../../receiver/addresses.store.ts';
import { InboxFull } from '../../receiver/byte-budget.store.ts';
import type { Inbox } from '../../receiver/inbox.ts';
import type { Sharing } from './sharing.ts';

export interface CopyingOptions {
  readonly shared: Sharing['deliveries'];
  readonly inbox: Inbox;
  readonly log: Logger;
  /** Called when deliveries were copied, and wait to be applied. */
  copied(): void;
  readonly writer: Pick<Writer, 'now'>;
}

/** Shares the callback addresses of an inbox with all instances. */
function addressTeller(shared: Sharing['deliveries'], addresses: CallbackAddresses) {
  let told: string | null = null;
  return {
    tell: async (): Promise<'known' | 'told'> => {
      const epochs = addresses.states();
      const text = JSON.stringify(epochs);
      if (text === told) return 'known';
      await shared.putEpochs(epochs);
      told = text;
      return 'told';
    },
    /** Called when the database may have lost them. */
    forget: () => {
      told = null;
    },
  };
}

/** Milliseconds after which all instances know a shared address. They read the addresses twice as often. */
export const addressesKnownMs = 1000;

/**
 * Returns a function that resolves when all instances recognise the addresses that the service is about to get. It
 * rejects if the database is unreachable.
 */
export function tellingInTime(
  shared: Sharing['deliveries'],
  addresses: CallbackAddresses,
  clock: Clock,
): () => Promise<void> {
  const teller = addressTeller(shared, addresses);
  return async () => {
    if ((await teller.tell()) === 'told') await clock.sleep(addressesKnownMs);
  };
}

/** Deliveries that are copied in one commit. */
const copiedTogether = 200;
/**
 * The most deliveries that are compared with a database that may have lost some: far more than come in the seconds by
 * which a replica is late.
 */
const comparedAtMost = 10_000;

/** Copies between the leader's inbox and the database. Disposing ends it, before the inbox is closed. */
export class Copying implements AsyncDisposable {
  readonly #options: CopyingOptions;
  readonly #addresses: ReturnType<typeof addressTeller>;
  /** The numbers of this process go on above those of the inbox. */
  #begun = false;
  #again = false;
  #running: Promise<void> | null = null;
  #away = false;
  #closed = false;

  constructor(options: CopyingOptions) {
    this.#options = options;
    this.#addresses = addressTeller(options.shared, options.inbox.addresses);
  }

  /**
   * Copies deliveries that any instance has received, and shares the callback addresses with all. Calls made meanwhile
   * cause one more round. Deliveries that cannot be copied now, because the database is unreachable or the disk is
   * full, wait in the database.
   */
  copy(): Promise<void> {
    this.#again = true;
    this.#running ??= this.#work().finally(() => {
      this.#running = null;
    });
    return this.#running;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    await this.#running;
  }

  #known(limit: number) {
    return this.#options.inbox.deliveries.list({ since: null, state: null, limit });
  }

  /** Continues the numbers above those of the inbox, whatever number the database has reached. */
  async #goOn(): Promise<void> {
    const { shared, inbox, log } = this.#options;
    const again = await shared.goOnAbove(inbox.deliveries.newest(), this.#known(comparedAtMost));
    if (this.#begun || again > 0)
      log.warn({ again }, 'the database has forgotten what it had confirmed: what came since gets new numbers');
    if (this.#begun) this.#addresses.forget();
    this.#begun = true;
  }

  async #copyAll(): Promise<void> {
    const { shared, inbox, writer, copied } = this.#options;
    if (!this.#begun) await this.#goOn();
    while (!this.#closed) {
      const delivery_id = inbox.deliveries.newest();
      const [last] = this.#known(1);
      const received_at = last?.delivery_id === delivery_id ? last.received_at : null;
      const found = await shared.after({ delivery_id, received_at }, copiedTogether);
      if (found === null) {
        await this.#goOn();
        continue;
      }
      if (found.length === 0 || this.#closed) return;
      writer.now(() => inbox.deliveries.storeNumbered(found));
      copied();
    }
  }

  async #work(): Promise<void> {
    const { log } = this.#options;
    do {
      this.#again = false;
      try {
        if (!this.#closed) await this.#addresses.tell();
        if (!this.#closed) await this.#copyAll();
        if (this.#away) log.info('deliveries are copied from the database again');
        this.#away = false;
      } catch (error) {
        if (!waits(error)) throw error;
        if (!this.#away) log.warn({ err: error }, 'deliveries cannot be copied from the database');
        this.#away = true;
      }
    } while (this.#again && !this.#closed);
  }
}

/** Returns whether the copying may succeed later. */
function waits(error: unknown): boolean {
  if (error instanceof SyncFailed) return false;
  return isAway(error) || error instanceof InboxFull || writeTroubleOf(error) !== null;
}
