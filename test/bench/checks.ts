import Database from 'better-sqlite3';
import { count, inDays, type Line, median, quantile } from './measure.ts';
import { asked, Home, type Program, type Service, startProgramHere, startService } from './stage.ts';

/*
 * Shoppers before a real daemon: a thousand over twenty products, nearly two thousand over one. The service answers after a
 * latency of its own (a relay before the sandbox holds every call for so long); connections are open before anything is
 * measured. At 100,000 calls a second and 24 at a time, pacing is not what is measured.
 */

const latencyMs = 150;
const products = 20;
/** The interface takes 2,000 connections. */
const mostShoppers = 1900;

interface Result {
  readonly times: number[];
  readonly verdicts: Record<string, number>;
  readonly ms: number;
}

export async function checkLines(): Promise<Line[]> {
  await using service = await startService(60);
  using home = new Home();
  using relay = await startProgramHere<number>('slow-relay.ts', service.port, latencyMs);
  const budget = { requests_per_second: 100_000, concurrency: 24 };
  const config = home.config(`http://127.0.0.1:${relay.first}`, 100_000, { budget });
  await using _ = await home.run(config, 'pass ended');
  const bodies = questionsTo(home).map((question) => JSON.stringify(question));
  const first = bodies.slice(0, 1);
  return [...(await thousand(home, service, relay, bodies)), ...(await ofOneProduct(home, service, first))];
}

async function thousand(home: Home, service: Service, relay: Program, bodies: readonly string[]): Promise<Line[]> {
  using shoppers = await crowd(home, 1000);
  await asked<Result>(shoppers, bodies);
  const rounds: { p99: number; own: number; calls: number; isAnswered: boolean }[] = [];
  for (let round = 0; round < 5; round += 1) {
    await asked<number[]>(relay, 'latencies');
    const before = await callCount(service);
    const { times, verdicts } = await asked<Result>(shoppers, bodies);
    // What the service took for each call since this was asked last.
    const own = quantile(await asked<number[]>(relay, 'latencies'), 0.99);
    const calls = (await callCount(service)) - before;
    rounds.push({ p99: quantile(times, 0.99), own, calls, isAnswered: (verdicts.unknown ?? 0) === 0 });
  }
  const over = median(rounds.map(({ p99, own }) => p99 - own));
  const [p99, own] = [median(rounds.map((each) => each.p99)), median(rounds.map((each) => each.own))];
  const mostCalls = Math.max(...rounds.map(({ calls }) => calls));
  const isAnswered = rounds.every((each) => each.isAnswered);
  return [
    {
      what: `1,000 checks at once over ${products} products, 5 rounds: calls`,
      value: `${mostCalls} a round, ${isAnswered ? 'all' : 'NOT ALL'} answered`,
      // Who asks while a call is on its way shares the next one: two calls a product at most.
      target: `≤ ${2 * products}, all answered`,
      met: mostCalls <= 2 * products && isAnswered,
    },
    {
      what: `their p99 beside the service's own, of the ${products} calls that were made for them`,
      value: `${p99.toFixed(0)} ms, its own ${own.toFixed(0)} ms: ${over.toFixed(0)} ms more`,
      target: '≤ 20 ms more',
      met: over <= 20,
    },
  ];
}

async function ofOneProduct(home: Home, service: Service, bodies: readonly string[]): Promise<Line[]> {
  using alone = await crowd(home, 1);
  const before = await callCount(service);
  for (let index = 0; index < 20; index += 1) await asked<Result>(alone, bodies);
  const control = (await callCount(service)) - before;
  using many = await crowd(home, mostShoppers);
  const began = await callCount(service);
  const { times, verdicts, ms } = await asked<Result>(many, bodies);
  const calls = (await callCount(service)) - began;
  const unanswered = verdicts.unknown ?? 0;
  return [
    {
      what: '20 checks one after another share nothing (control)',
      value: `${control} calls`,
      target: '20',
      met: control === 20,
    },
    {
      what: `${count(mostShoppers)} checks at once for one product`,
      value: `${calls === 1 ? '1 call' : `${calls} calls`}, p99 ${quantile(times, 0.99).toFixed(0)} ms, ${unanswered} unanswered`,
      // Whoever comes when the first answer is there already has to be told what the service says after that.
      target: `≤ 1 in ${latencyMs} ms, all answered`,
      met: calls <= Math.ceil(ms / latencyMs) && unanswered === 0,
    },
  ];
}

/** What shoppers see on a page and put into a cart: two tickets of a variant at a time, of twenty products. */
function questionsTo({ mirror }: Home): { product_id: number; date: string; time: string; variants: object[] }[] {
  const db = new Database(mirror, { readonly: true });
  try {
    const rows = db
      .prepare<[string, number], { product_id: number; date: string; time: string; variant_id: number }>(
        `SELECT product_id, date, min(time) AS time, variant_id FROM availability_slots
         WHERE date = ? AND max_tickets > 1 GROUP BY product_id LIMIT ?`,
      )
      .all(inDays(8), products);
    if (rows.length < products) throw new Error(`only ${rows.length} products are sold on that date`);
    return rows.map(({ variant_id, ...row }) => ({ ...row, variants: [{ variant_id, count: 2 }] }));
  } finally {
    db.close();
  }
}

function crowd({ cwd }: Home, shoppers: number): Promise<Program> {
  return startProgramHere('shoppers.ts', `${cwd}/state/admin.sock`, shoppers);
}

async function callCount({ url }: Service): Promise<number> {
  return ((await (await fetch(`${url}/sandbox/calls`)).json()) as { calls: number }).calls;
}
