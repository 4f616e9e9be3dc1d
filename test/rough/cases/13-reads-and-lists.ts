import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { systemClock } from '../../../src/clock.ts';
import type { Habits } from '../../../src/sandbox/rough/habits.ts';
import { type Sandbox, type SandboxOptions, startSandbox } from '../../../src/sandbox/sandbox.ts';
import { asNamed, configure, run, start } from '../program.ts';
import type { RoughCase, Subject } from '../rough-case.ts';

async function sandboxOf(subject: Subject, options: Partial<SandboxOptions> = {}): Promise<Sandbox> {
  return subject.stack.use(await startSandbox({ clock: systemClock, seed: 1, products: 12, ...options }));
}

/** A mirror filled by the commit, over the sandbox with these habits. */
async function filled(subject: Subject, habits: Partial<Habits> = {}, more: Record<string, unknown> = {}) {
  const sandbox = await sandboxOf(subject, { habits });
  const config = configure(subject, sandbox.url, more);
  const resync = await run(subject, ['--config', config, 'resync', '--all', '--wait'], { ms: 30_000 });
  return { sandbox, config, resync };
}

function ask<Row>({ directory }: Subject, sql: string): Row | undefined {
  const db = new Database(join(directory, 'mirror', 'mirror.db'), { readonly: true });
  try {
    return db.prepare<[], Row>(asNamed(db, sql)).get();
  } finally {
    db.close();
  }
}

function change({ directory }: Subject, sql: string): void {
  const db = new Database(join(directory, 'mirror', 'mirror.db'));
  db.exec(asNamed(db, sql));
  db.close();
}

function jsonOf<Value>(text: string): Partial<Value> {
  try {
    return JSON.parse(text) as Value;
  } catch {
    return {};
  }
}

export const cases: readonly RoughCase[] = [
  {
    point: '13 check-410',
    claim: 'a check that the service answers with 410 says gone',
    run: async (subject) => {
      const sandbox = await sandboxOf(subject, { gone: 410 });
      const config = configure(subject, sandbox.url);
      await run(subject, ['--config', config, 'resync', '--all', '--wait'], { ms: 30_000 });
      const product = sandbox.world.visible().find(({ status }) => status === 'available');
      if (product !== undefined) product.withdrawn = true;
      const daemon = start(subject, ['--config', config, 'run']);
      await daemon.said(/daemon started/);
      const date = new Date(Date.now() + 5 * 86_400_000).toISOString().slice(0, 10);
      const args = ['--config', config, 'check', String(product?.id), '--date', date, '--json'];
      const { code, stdout } = await run(subject, args);
      const { verdict } = jsonOf<{ verdict: string }>(stdout);
      return { green: verdict === 'gone', said: `verdict ${verdict}, exit ${code}` };
    },
  },
  {
    point: '13 unknown-product',
    claim: 'a product that is not mirrored is asked for by resync --product',
    run: async (subject) => {
      const sandbox = await sandboxOf(subject);
      const late = sandbox.products()[3];
      if (late !== undefined) late.withdrawn = true;
      const config = configure(subject, sandbox.url);
      await run(subject, ['--config', config, 'resync', '--all', '--wait'], { ms: 30_000 });
      if (late !== undefined) late.withdrawn = false;
      const { code } = await run(subject, ['--config', config, 'resync', '--product', String(late?.id), '--wait']);
      const none = await run(subject, ['--config', config, 'resync', '--product', '1', '--wait']);
      const held = ask<{ n: number }>(subject, `SELECT count(*) AS n FROM products WHERE product_id = ${late?.id}`)?.n;
      return {
        green: code === 0 && held === 1 && none.code === 64,
        said: `exit ${code}, mirrored: ${held === 1}; one that the service lacks: exit ${none.code}`,
      };
    },
  },
  {
    point: '13 refused-key',
    claim: 'resync --wait ends with 69 where the service refuses the key',
    run: async (subject) => {
      const sandbox = await sandboxOf(subject, { key: 'right' });
      const config = configure(subject, sandbox.url, { service: { profile: {} } });
      const env = { CATALOGUED_API_KEY: 'wrong' };
      const daemon = start(subject, ['--config', config, 'run'], { env });
      await daemon.said(/refuses the key/);
      const { code } = await run(subject, ['--config', config, 'resync', '--all', '--wait'], { env, ms: 10_000 });
      return { green: code === 69, said: code === 'SIGKILL' ? 'it does not end' : `exit ${code}` };
    },
  },
  {
    point: '13 key-pause',
    claim: 'one answer to any call ends the pause after a refused key',
    run: async (subject) => {
      const sandbox = await sandboxOf(subject);
      const config = configure(subject, sandbox.url);
      await run(subject, ['--config', config, 'resync', '--all', '--wait'], { ms: 30_000 });
      change(subject, "UPDATE _record SET due_at = 0 WHERE resource = 'variants'");
      sandbox.faults.add({ kind: 'status', status: 401, times: 4 });
      const daemon = start(subject, ['--config', config, 'run']);
      await daemon.said(/refuses the key/);
      sandbox.faults.clear();
      await run(subject, ['--config', config, 'doctor']);
      await new Promise((resolve) => setTimeout(resolve, 4000));
      const { stdout } = await run(subject, ['--config', config, 'status', '--json']);
      const { daemon: live } = jsonOf<{ daemon: { key_refused: string | null } }>(stdout);
      const late = ask<{ n: number }>(
        subject,
        "SELECT count(*) AS n FROM _record WHERE resource = 'variants' AND due_at = 0",
      );
      const green = live?.key_refused === null && late?.n === 0;
      return {
        green,
        said: `after the doctor's call the key counts as ${green ? 'taken' : 'refused'}, ${late?.n} records wait`,
      };
    },
  },
  {
    point: '13 outage-log',
    claim: 'an outage is told of when it begins and when it ends, not once for every failed call',
    run: async (subject) => {
      const { sandbox, config } = await filled(subject);
      change(subject, "UPDATE _record SET due_at = 0 WHERE resource = 'availability'");
      await sandbox.setReachable('no');
      const daemon = start(subject, ['--config', config, 'run']);
      await daemon.said(/daemon started/);
      await daemon.said(/condition began|cannot be reached/);
      await new Promise((resolve) => setTimeout(resolve, 5000));
      const during = daemon
        .output()
        .split('\n')
        .filter((line) => /reached|refused|unreachable/i.test(line)).length;
      await sandbox.setReachable('yes');
      const ended = await daemon.said(/answers again|condition ended/i, 30_000).then(
        () => true,
        () => false,
      );
      return { green: during === 1 && ended, said: `${during} lines while it lasted; its end is told of: ${ended}` };
    },
  },
  {
    point: '13 plan-exit',
    claim: 'plan ends with 1 where a sweep cannot finish in time',
    run: async (subject) => {
      const { config } = await filled(subject);
      const plenty = await run(subject, ['--config', config, 'plan']);
      const env = { CATALOGUED_BUDGET__REQUESTS_PER_SECOND: '0.0001', CATALOGUED_BUDGET__CONCURRENCY: '1' };
      let scarce = await run(subject, ['--config', config, 'plan'], { env });
      if (scarce.code === 78) {
        const more = {
          cadence: { availability: { near: { every: '1m' }, middle: { every: '1m' }, far: { every: '1m' } } },
        };
        const tight = { ...more, budget: { requests_per_second: 0.1, concurrency: 1 } };
        scarce = await run(subject, ['--config', configure(subject, 'http://127.0.0.1:9', tight), 'plan']);
      }
      return {
        green: plenty.code === 0 && scarce.code === 1,
        said: `enough: ${plenty.code}; too little: ${scarce.code}`,
      };
    },
  },
  {
    point: '13 explain-retry',
    claim: 'explain does not extrapolate one retry to thousands of calls a day',
    run: async (subject) => {
      const { sandbox, config } = await filled(subject);
      const id = sandbox.products()[0]?.id;
      change(
        subject,
        `UPDATE _record SET failures = 1, failure = 'reset: no answer', due_reason = 'retry', due_at = fetched_at + 30000 WHERE product_id = ${id}`,
      );
      const { stdout } = await run(subject, ['--config', config, 'explain', String(id), '--json']);
      const { calls_per_day = Number.NaN } = jsonOf<{ calls_per_day: number }>(stdout);
      return { green: calls_per_day < 50, said: `${Math.round(calls_per_day)} calls a day` };
    },
  },
  {
    point: '13 images-null',
    claim: 'a row whose images are null keeps its product',
    run: async (subject) => {
      const { resync } = await filled(subject, { images_null: 1 });
      const visible = ask<{ n: number }>(subject, 'SELECT count(*) AS n FROM products')?.n;
      return { green: visible === 12, said: `${visible} of 12 products, resync ends with ${resync.code}` };
    },
  },
  {
    point: '13 unrated',
    claim: 'a product that nobody has rated has no rating',
    run: async (subject) => {
      await filled(subject, { unrated: 'zero' });
      const found = ask<{ zero: number; none: number }>(
        subject,
        'SELECT COALESCE(sum(rating = 0), 0) AS zero, sum(rating IS NULL) AS none FROM products',
      );
      return {
        green: found?.zero === 0,
        said: `${found?.zero} of 12 products have a rating of 0, ${found?.none} none`,
      };
    },
  },
  {
    point: '13 list-end',
    claim: 'a list without an end is not walked for ever, and the failure says so',
    run: async (subject) => {
      const { sandbox, resync } = await filled(subject, { list_end: 'never' });
      const { calls } = sandbox.calls.counts();
      const failure = ask<{ failure: string }>(
        subject,
        "SELECT failure FROM _record WHERE resource = 'products'",
      )?.failure;
      const green = resync.code === 69 && calls < 1000 && (failure ?? '').includes('does not end');
      return { green, said: `exit ${resync.code} after ${calls} calls: ${failure ?? 'no failure'}` };
    },
  },
  {
    point: '13 page-size',
    claim: 'a service that puts ten rows on a page, and says a hundred, is walked to its end',
    run: async (subject) => {
      const sandbox = await sandboxOf(subject, { products: 34, habits: { page_size: 'ignored' } });
      // As a service that repeats in its pagination what it was asked for.
      const server = createServer(async (request, response) => {
        const answer = await fetch(`${sandbox.url}${request.url}`);
        const body = await answer.text();
        response.writeHead(answer.status, { 'content-type': 'application/json' });
        response.end(body.replace('"page_size":10', '"page_size":100'));
      });
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      subject.stack.defer(() => void server.close());
      const config = configure(subject, `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
      const { code } = await run(subject, ['--config', config, 'resync', '--products', '--wait'], { ms: 30_000 });
      const walk = ask<{ n: number; completed_at: number | null }>(
        subject,
        "SELECT (SELECT count(*) FROM products) AS n, completed_at FROM _walk WHERE resource = 'products' AND edition = 'en/EUR'",
      );
      const complete = walk?.completed_at != null;
      return {
        green: walk?.n === 34 && complete,
        said: `${walk?.n} of 34 products, complete: ${complete}, exit ${code}`,
      };
    },
  },
  {
    point: '13 list-order',
    claim: 'a list in another order at each walk withdraws nothing',
    run: async (subject) => {
      const { config } = await filled(subject, { list_order: 'shifting', page_size: 'ignored' });
      for (let times = 0; times < 3; times += 1) {
        change(subject, 'UPDATE _walk SET started_at = started_at - 3600000');
        await run(subject, ['--config', config, 'resync', '--products', '--wait'], { ms: 30_000 });
      }
      const found = ask<{ n: number; missing: number }>(
        subject,
        'SELECT (SELECT count(*) FROM products) AS n, (SELECT count(*) FROM _absence) AS missing',
      );
      return {
        green: found?.n === 12 && found.missing === 0,
        said: `${found?.n} of 12 products, ${found?.missing} missing`,
      };
    },
  },
];
