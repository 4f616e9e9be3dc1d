import { fork } from 'node:child_process';
import { once } from 'node:events';
import pg from 'pg';

/*
 * Shops' pages that read PostgreSQL all the time, as a process of their own: each transaction joins several views, in a drawn
 * order. `publishing`: one publication, which stands still at its end until it is killed.
 */

/** What readers saw from one `reset` to the next answer. */
export interface Seen {
  readonly transactions: number;
  /** Transactions that PostgreSQL refused or broke off, with what it said. */
  readonly failed: readonly string[];
  /** Transactions in which one state was not one. */
  readonly torn: number;
  /** The longest that any of them waited for a lock, as PostgreSQL tells it, looked at every few milliseconds. */
  readonly longest_wait_ms: number;
  /** The longest transaction, with all that a busy machine adds. */
  readonly longest_ms: number;
}

export interface Readers extends AsyncDisposable {
  /** Returns what was seen since the last time. */
  seen(): Promise<Seen>;
}

/** Has so many readers read until it is disposed of. */
export async function startReaders(url: string, readers: number): Promise<Readers> {
  const child = fork(import.meta.filename, [url, String(readers)], { stdio: 'inherit' });
  await once(child, 'message');
  return {
    seen: async () => {
      child.send('seen');
      const [seen] = (await once(child, 'message')) as [Seen];
      return seen;
    },
    [Symbol.asyncDispose]: async () => {
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
    },
  };
}

const pages = [
  `SELECT p.product_id, p.title, p.rating, d.date, d.lowest_price FROM products p JOIN availability_days d USING (product_id)
   WHERE p.language = 'en' ORDER BY d.date LIMIT 20`,
  `SELECT c.city_id, b.product_id, b.date, b.lowest_adult_price FROM cities c JOIN products p ON p.city_id = c.city_id AND p.language = c.language
   JOIN bookable_days b USING (product_id) LIMIT 20`,
  'SELECT i.*, t.tag_id FROM images i LEFT JOIN product_tags t USING (product_id) LIMIT 20',
  'SELECT s.* FROM availability_slots s JOIN product_prices p USING (product_id, currency) LIMIT 20',
  'SELECT m.*, f.* FROM mirror_info m, freshness f',
];
const state = 'SELECT count(DISTINCT rating)::int AS ratings FROM products';

async function read(url: string, readers: number): Promise<void> {
  const failed: string[] = [];
  let [transactions, torn, longest_wait_ms, longest_ms] = [0, 0, 0, 0];
  const connected = async () => {
    const client = new pg.Client({
      connectionString: url,
      application_name: 'reader',
      options: '-c search_path=catalogued',
    });
    client.on('error', () => undefined);
    await client.connect();
    return client;
  };
  let stands = false;
  const reader = async () => {
    let client = await connected();
    for (;;) {
      const began = performance.now();
      try {
        await client.query(Math.random() < 0.5 ? 'BEGIN' : 'BEGIN ISOLATION LEVEL REPEATABLE READ');
        for (const page of pages.toSorted(() => Math.random() - 0.5).slice(0, 3)) await client.query(page);
        const { rows } = await client.query<{ ratings: number }>(state);
        if ((rows[0]?.ratings ?? 0) > 1) torn += 1;
        await client.query('COMMIT');
        stands = true;
        transactions += 1;
        longest_ms = Math.max(longest_ms, performance.now() - began);
      } catch (error) {
        const { code = '', message } = error as Error & { code?: string };
        // Nothing was there to be read yet.
        if (stands || code !== '42P01') failed.push(`${code} ${message}`);
        await client.query('ROLLBACK').catch(async () => {
          client = await connected();
        });
      }
      await new Promise((resolve) => setTimeout(resolve, 5 + Math.random() * 10));
    }
  };
  const watcher = async () => {
    const client = await connected();
    for (;;) {
      const { rows } = await client.query<{ ms: number | null }>(
        `SELECT max(extract(epoch FROM clock_timestamp() - l.waitstart) * 1000)::float AS ms FROM pg_locks l
         JOIN pg_stat_activity a USING (pid) WHERE NOT l.granted AND a.application_name = 'reader'`,
      );
      longest_wait_ms = Math.max(longest_wait_ms, Math.round(rows[0]?.ms ?? 0));
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  };
  for (let each = 0; each < readers; each += 1) void reader();
  void watcher();
  process.on('message', () => {
    process.send?.({
      transactions,
      failed: failed.splice(0),
      torn,
      longest_wait_ms,
      longest_ms: Math.round(longest_ms),
    } satisfies Seen);
    [transactions, torn, longest_wait_ms, longest_ms] = [0, 0, 0, 0];
  });
  process.send?.('reads');
}

const [, self, url, readers] = process.argv;
if (self === import.meta.filename && url !== undefined) await read(url, Number(readers));
