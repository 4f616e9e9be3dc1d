import type { Numbered, Received } from '../../receiver/delivery.ts';
import type { CallbackEpoch } from '../../receiver/epochs.store.ts';
import type { Postgres } from './connect.ts';

/** Identifies a delivery that an inbox has, and distinguishes it from another one of the same number. */
type Known = Pick<Numbered, 'delivery_id' | 'received_at'>;

/** The newest number that an inbox has; `received_at` is null where its row is gone, or was never there. */
interface Newest {
  readonly delivery_id: number;
  readonly received_at: number | null;
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

const isForgotten = `
  SELECT 1 FROM _numbering
  WHERE last < $1 OR EXISTS (SELECT 1 FROM _delivery WHERE delivery_id = $1 AND received_at <> $2)`;

/** Renumbers the deliveries since the last commits were lost: from the first number that was given out a second time. */
const renumber = `
  WITH known AS (
    SELECT * FROM unnest($1::bigint[], $2::bigint[]) AS known (delivery_id, received_at)
  ), again AS (
    SELECT delivery_id, row_number() OVER (ORDER BY delivery_id) AS place FROM _delivery
    WHERE delivery_id >= (SELECT min(delivery_id) FROM _delivery AS found JOIN known USING (delivery_id)
      WHERE found.received_at <> known.received_at)
  ), given AS (
    UPDATE _numbering SET last = last + (SELECT count(*) FROM again) RETURNING last - (SELECT count(*) FROM again) AS base
  )
  UPDATE _delivery SET delivery_id = given.base + again.place FROM again, given
  WHERE _delivery.delivery_id = again.delivery_id RETURNING 1`;

/**
 * Deliveries received by any instance, durable before they are answered. The leader copies them into its inbox under the
 * same numbers, and applies them from there.
 */
export class SharedDeliveries {
  readonly #database: Postgres;

  constructor(database: Postgres) {
    this.#database = database;
  }

  /** Stores all of them in one durable commit, or none. */
  async store(received: readonly Received[]): Promise<void> {
    const values = columns.map(([name]) => received.map((each) => each[name]));
    await this.#database.query(insert, [received.length, ...values]);
  }

  /**
   * Returns those above the newest number that an inbox has, ascending, and no more of them than about a megabyte; null: the
   * database has forgotten that one, as a replica has that was promoted without the last commits.
   */
  after({ delivery_id, received_at }: Newest, limit: number): Promise<readonly Numbered[] | null> {
    return this.#database.transaction(async ({ query }) => {
      const [forgotten] = await query(isForgotten, [delivery_id, received_at]);
      return forgotten === undefined ? await query<Numbered>(within, [delivery_id, limit]) : null;
    });
  }

  /**
   * Gives no number out again that an inbox has, and a new one to each delivery that was given one of them again. Returns
   * how many those were.
   */
  goOnAbove(delivery_id: number, known: readonly Known[]): Promise<number> {
    return this.#database.transaction(async ({ query }) => {
      // Nothing is stored from here to the commit.
      await query('UPDATE _numbering SET last = greatest(last, $1)', [delivery_id]);
      const values = [known.map((each) => each.delivery_id), known.map((each) => each.received_at)];
      return (await query(renumber, values)).length;
    });
  }

  async prune(before: number): Promise<void> {
    await this.#database.query('DELETE FROM _delivery WHERE received_at < $1', [before]);
  }

  /** Notes that deliveries could be received at this instant. */
  async heartbeat(now: number): Promise<void> {
    await this.#database.query('UPDATE _numbering SET alive_at = $1', [now]);
  }

  async lastHeartbeat(): Promise<number | null> {
    const [row] = await this.#database.query<{ alive_at: number | null }>('SELECT alive_at FROM _numbering');
    return row?.alive_at ?? null;
  }

  /** Replaces what the other instances know of callback addresses. */
  putEpochs(epochs: readonly CallbackEpoch[]): Promise<void> {
    return this.#database.transaction(async ({ query }) => {
      // One after another: the leader tells of them before a call and by the way.
      await query('LOCK TABLE _callback_epoch IN SHARE ROW EXCLUSIVE MODE');
      await query('DELETE FROM _callback_epoch');
      await query(
        `INSERT INTO _callback_epoch SELECT * FROM jsonb_to_recordset($1)
         AS each (subscription_id text, epoch integer, begun_at bigint, announced_at bigint, until bigint)`,
        [JSON.stringify(epochs)],
      );
    });
  }

  epochs(): Promise<readonly CallbackEpoch[]> {
    return this.#database.query<CallbackEpoch>(
      'SELECT subscription_id, epoch, begun_at, announced_at, until FROM _callback_epoch ORDER BY 1, 2',
    );
  }
}
