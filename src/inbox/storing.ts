import { hash } from 'node:crypto';
import type { Instant } from '../clock.ts';
import { type Bound, pick, type Writes } from '../sqlite/statements.ts';
import type { ByteBudget } from './byte-budget.ts';
import type { Numbered, Received } from './delivery.ts';
import { settledSince } from './delivery-reader.ts';
import { stored } from './stored-body.ts';
import { type InboxTables, query } from './tables.ts';

/** Adds deliveries within the budget; throws `InboxFull` otherwise. */
export interface Storing {
  add(received: readonly Received[]): void;
  /** Adds deliveries that have numbers already, in that order. */
  addNumbered(received: readonly Numbered[]): void;
  /** Adds copies of the deliveries that have an outcome since then, in order. Returns their number. */
  copy(since: Instant, now: Instant): number;
}

const columns = [
  'received_at', 'subscription_id', 'epoch', 'peer', 'content_type', 'length', 'truncated', 'sha256', 'coding', 'body',
] as const; // biome-ignore format: a list of columns

type Added = Pick<InboxTables['delivery'], (typeof columns)[number]>;

export function storingIn(db: Writes, budget: ByteBudget, bytes: number): Storing {
  const insert = db.change((delivery: Bound<Added>) => query.insertInto('delivery').values(pick(delivery, columns)));
  const insertNumbered = db.change((delivery: Bound<Added & Pick<Numbered, 'delivery_id'>>) =>
    query.insertInto('delivery').values(pick(delivery, ['delivery_id', ...columns])),
  );
  // The last delivery counts, not the latest instant: an instant that a wrong clock set in the future does not stay.
  const noteLast = db.change(({ subscription_id, received_at }: Bound<InboxTables['last_delivery']>) =>
    query
      .insertInto('last_delivery')
      .values({ subscription_id, received_at })
      .onConflict((known) => known.column('subscription_id').doUpdateSet({ received_at })),
  );
  const [, ...copied] = columns;
  const copy = db.change(({ since, now }: Bound<{ since: Instant; now: Instant }>) =>
    query
      .insertInto('delivery')
      .columns(['received_at', 'replay_of', ...copied])
      .expression(({ selectFrom }) =>
        selectFrom('delivery')
          .select([now.as('received_at'), 'delivery_id as replay_of', ...copied])
          .where(settledSince(since))
          .where('coding', 'is not', 0)
          .orderBy('delivery_id'),
      ),
  );
  function addEach<Each extends Received>(received: readonly Each[], add: (each: Each & Added) => void): void {
    const last = new Map<string, Instant>();
    for (const each of received) {
      const sha256 = hash('sha256', each.body);
      add({ ...each, ...stored(each.body), truncated: each.truncated ? 1 : 0, sha256 });
      last.set(each.subscription_id, each.received_at);
    }
    for (const [subscription_id, received_at] of last) noteLast.run({ subscription_id, received_at });
    budget.keepWithin(bytes);
  }

  return {
    add: (received) => addEach(received, (each) => insert.run(each)),
    addNumbered: (received) => addEach(received, (each) => insertNumbered.run(each)),
    copy: (since, now) => {
      const { changes } = copy.run({ since, now });
      budget.keepWithin(bytes);
      return changes;
    },
  };
}
