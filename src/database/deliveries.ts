import type { Numbered, Received } from '../inbox/delivery.ts';
import type { CallbackEpoch } from '../inbox/epochs.ts';
import type { Postgres } from './connect.ts';

/**
 * What was received by any instance, durable before it is answered. The leader copies it into its inbox, under the same
 * numbers, and applies it from there.
 */
export interface SharedDeliveries {
  /** All of them in one durable commit, or none. */
  store(received: readonly Received[]): Promise<void>;
  /** Returns those above a number, ascending, and no more of them than about a megabyte. */
  after(delivery_id: number, limit: number): Promise<readonly Numbered[]>;
  /** Gives no number out again that an inbox knows: a restored database may have forgotten some. */
  goOnAbove(delivery_id: number): Promise<void>;
  prune(before: number): Promise<void>;
  /** Notes that deliveries could be received at this instant. */
  heartbeat(now: number): Promise<void>;
  lastHeartbeat(): Promise<number | null>;
  /** Replaces what the other instances know of callback addresses. */
  putEpochs(epochs: readonly CallbackEpoch[]): Promise<void>;
  epochs(): Promise<readonly CallbackEpoch[]>;
}

const columns = [
  ['received_at', 'bigint'], ['subscription_id', 'text'], ['epoch', 'integer'], ['peer', 'text'], ['content_type', 'text'],
  ['length', 'integer'], ['truncated', 'boolean'], ['body', 'bytea'],
] as const; // biome-ignore format: a list of columns
const names = columns.map(([name]) => name).join(', ');
const arrays = columns.map(([, type], index) => `$${index + 2}::${type}[]`).join(', ');

/**
 * Numbers are given out under the lock of one row, which lasts until the commit: no number becomes visible after a higher
 * one, and none is missing.
 */
const insert = `
  WITH given AS (UPDATE _numbering SET last = last + $1 RETURNING last - $1 AS base)
  INSERT INTO _delivery (delivery_id, ${names})
  SELECT given.base + each.ordinality, ${columns.map(([name]) => `each.${name}`).join(', ')}
  FROM given, unnest(${arrays}) WITH ORDINALITY AS each (${names}, ordinality)`;

/** As much as is copied into the inbox in one commit. */
const copiedTogetherBytes = 1024 * 1024;

const within = `
  SELECT delivery_id, ${names} FROM (
    SELECT *, sum(octet_length(body)) OVER (ORDER BY delivery_id) - octet_length(body) AS before FROM (
      SELECT * FROM _delivery WHERE delivery_id > $1 ORDER BY delivery_id LIMIT $2
    ) AS next
  ) AS summed WHERE before < ${copiedTogetherBytes} ORDER BY delivery_id`;

export function sharedDeliveries(database: Postgres): SharedDeliveries {
  return {
    store: async (received) => {
      const values = columns.map(([name]) => received.map((each) => each[name]));
      await database.query(insert, [received.length, ...values]);
    },
    after: (delivery_id, limit) => database.query<Numbered>(within, [delivery_id, limit]),
    goOnAbove: async (delivery_id) => {
      await database.query('UPDATE _numbering SET last = $1 WHERE last < $1', [delivery_id]);
    },
    prune: async (before) => {
      await database.query('DELETE FROM _delivery WHERE received_at < $1', [before]);
    },
    heartbeat: async (now) => {
      await database.query('UPDATE _numbering SET alive_at = $1', [now]);
    },
    lastHeartbeat: async () => {
      const [row] = await database.query<{ alive_at: number | null }>('SELECT alive_at FROM _numbering');
      return row?.alive_at ?? null;
    },
    putEpochs: (epochs) =>
      database.transaction(async (statements) => {
        // One after another: the leader tells of them before a call and by the way.
        await statements.query('LOCK TABLE _callback_epoch IN SHARE ROW EXCLUSIVE MODE');
        await statements.query('DELETE FROM _callback_epoch');
        await statements.query(
          `INSERT INTO _callback_epoch SELECT * FROM jsonb_to_recordset($1)
           AS each (subscription_id text, epoch integer, begun_at bigint, announced_at bigint, until bigint)`,
          [JSON.stringify(epochs)],
        );
      }),
    epochs: () =>
      database.query<CallbackEpoch>(
        'SELECT subscription_id, epoch, begun_at, announced_at, until FROM _callback_epoch ORDER BY 1, 2',
      ),
  };
}
