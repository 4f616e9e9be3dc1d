import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { freePort } from '../fakes/free-port.ts';
import { startCli } from '../fakes/run-cli.ts';
import { testConfigText } from '../fakes/test-config.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';
import { type Line, median, quantile } from './line.ts';

/*
 * Shoppers before a real daemon: a thousand over twenty products, nearly two thousand over one. The service answers after a
 * latency of its own (a relay before the sandbox holds every call for so long); connections are open before anything is
 * measured. At 100,000 calls a second and 24 at a time, pacing is not what is measured; at 10 a second it is.
 */

const latencyMs = 150;
const products = 20;
/** The interface takes 2,000 connections. */
const most = 1900;

interface Result {
  readonly times: number[];
  readonly verdicts: Record<string, number>;
  readonly ms: number;
}

export async function checkLines(): Promise<Line[]> {
  using directory = temporaryDirectory();
  const cwd = directory.path;
  const port = await freePort();
  const sandbox = startCli(['sandbox', '--products', '60', '--port', String(port)], { cwd });
  await sandbox.said('The sandbox serves');
  const relay = fork(join(import.meta.dirname, 'programs/slow-relay.ts'), [String(port), String(latencyMs)]);
  const [relayPort] = (await once(relay, 'message')) as [number];
  const service = `http://127.0.0.1:${relayPort}`;
  const lines: Line[] = [];
  for (const rate of [100_000, 10]) {
    const config = join(cwd, 'catalogued.yaml');
    const budget = { requests_per_second: rate, concurrency: rate === 10 ? 4 : 24 };
    writeFileSync(config, testConfigText(cwd, service, { budget }));
    const daemon = startCli(['--config', config, 'run'], { cwd });
    await daemon.said(rate === 10 ? 'daemon started' : 'pass ended');
    lines.push(...(rate === 10 ? await paced(cwd) : await unpaced(cwd, port, relay)));
    daemon.child.kill('SIGTERM');
    await daemon.ended;
  }
  relay.kill();
  sandbox.child.kill('SIGTERM');
  await sandbox.ended;
  return lines;
}

async function unpaced(cwd: string, port: number, relay: ChildProcess): Promise<Line[]> {
  const questions = questionsTo(cwd);
  const bodies = questions.map((question) => JSON.stringify(question));
  const [first = ''] = bodies;
  const thousand = await crowd(cwd, 1000);
  await shop(thousand, bodies);
  const rounds: { p99: number; own: number; calls: number; perSecond: number; answered: number }[] = [];
  for (let round = 0; round < 5; round += 1) {
    await latencies(relay);
    const before = await callCount(port);
    const { times, verdicts, ms } = await shop(thousand, bodies);
    const own = quantile(await latencies(relay), 0.99);
    const calls = (await callCount(port)) - before;
    const answered = 1000 - (verdicts.unknown ?? 0);
    rounds.push({ p99: quantile(times, 0.99), own, calls, perSecond: calls / Math.max(1, ms / 1000), answered });
  }
  const bare = quantile((await shop(thousand, [''])).times, 0.99);
  thousand.kill();
  const over = median(rounds.map(({ p99, own }) => p99 - own));
  const [p99, own] = [median(rounds.map((each) => each.p99)), median(rounds.map((each) => each.own))];
  const mostCalls = Math.max(...rounds.map(({ calls }) => calls));
  const answered = rounds.every((each) => each.answered === 1000);

  const alone = await crowd(cwd, 1);
  const before = await callCount(port);
  for (let index = 0; index < 20; index += 1) await shop(alone, [first]);
  const control = (await callCount(port)) - before;
  alone.kill();

  const many = await crowd(cwd, most);
  const began = await callCount(port);
  const { times, verdicts, ms } = await shop(many, [first]);
  const calls = (await callCount(port)) - began;
  many.kill();
  return [
    {
      what: `1,000 checks at once over ${products} products, 5 rounds: calls`,
      value: `${mostCalls} a round, ${answered ? 'all' : 'NOT ALL'} answered`,
      // Who asks while a call is on its way shares the next one: two calls a product at most.
      target: `≤ ${2 * products}, all answered`,
      met: mostCalls <= 2 * products && answered,
    },
    {
      what: `their p99 beside the service's own, of the ${products} calls that were made for them`,
      value: `${p99.toFixed(0)} ms, its own ${own.toFixed(0)} ms: ${over.toFixed(0)} ms more`,
      target: '≤ 20 ms more',
      met: over <= 20,
    },
    {
      what: 'the same 1,000 connections asking /healthz at once, which asks nobody',
      value: `p99 ${bare.toFixed(0)} ms`,
      target: '-',
      met: null,
    },
    {
      what: '20 checks one after another share nothing (control)',
      value: `${control} calls`,
      target: '20',
      met: control === 20,
    },
    {
      what: `${most.toLocaleString('en-US')} checks at once for one product`,
      value: `${calls === 1 ? '1 call' : `${calls} calls`}, p99 ${quantile(times, 0.99).toFixed(0)} ms, ${verdicts.unknown ?? 0} unanswered`,
      // Whoever comes when the first answer is there already has to be told what the service says after that.
      target: `≤ 1 in ${latencyMs} ms, all answered`,
      met: calls <= Math.ceil(ms / latencyMs) && (verdicts.unknown ?? 0) === 0,
    },
  ];
}

/** What pacing makes of it: twenty products' calls at ten a second, before the sweep that is under way. */
async function paced(cwd: string): Promise<Line[]> {
  const thousand = await crowd(cwd, 1000);
  const bodies = questionsTo(cwd).map((question) => JSON.stringify({ ...question, deadline_ms: 10_000 }));
  const { times, verdicts, ms } = await shop(thousand, bodies);
  thousand.kill();
  return [
    {
      what: `the same 1,000 checks at a budget of 10 calls a second`,
      value: `p99 ${quantile(times, 0.99).toFixed(0)} ms, all in ${(ms / 1000).toFixed(1)} s, ${verdicts.unknown ?? 0} unanswered`,
      target: '-',
      met: null,
    },
  ];
}

/** What shoppers see on a page and put into a cart: two tickets of a variant at a time, of twenty products. */
function questionsTo(cwd: string): { product_id: number; date: string; time: string; variants: object[] }[] {
  const db = new Database(join(cwd, 'mirror', 'mirror.db'), { readonly: true });
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

async function crowd(cwd: string, shoppers: number): Promise<ChildProcess> {
  const socket = join(cwd, 'state', 'admin.sock');
  const child = fork(join(import.meta.dirname, 'programs/shoppers.ts'), [socket, String(shoppers)]);
  child.once('exit', (code) => {
    if (code) throw new Error(`shoppers ended with ${code}`);
  });
  await once(child, 'message');
  return child;
}

async function shop(crowd: ChildProcess, bodies: readonly string[]): Promise<Result> {
  crowd.send(bodies);
  const [result] = (await once(crowd, 'message')) as [Result];
  return result;
}

/** How long the service took for each call since this was asked last. */
async function latencies(relay: ChildProcess): Promise<number[]> {
  relay.send('latencies');
  return ((await once(relay, 'message')) as [number[]])[0];
}

async function callCount(port: number): Promise<number> {
  return (await ask<{ calls: number }>(port, '/sandbox/calls')).calls;
}

function ask<Answer>(port: number, path: string): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  request({ port, path, host: '127.0.0.1' }, async (response) => {
    const chunks = await Array.fromAsync(response as AsyncIterable<Buffer>);
    resolve(JSON.parse(Buffer.concat(chunks).toString()));
  })
    .on('error', reject)
    .end();
  return promise;
}

function inDays(days: number): string {
  return new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);
}
