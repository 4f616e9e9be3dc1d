import { request } from 'node:http';
import { join } from 'node:path';
import { systemClock } from '../../../src/clock.ts';
import { startSandbox } from '../../../src/sandbox/sandbox.ts';
import type { createLimiter } from '../../../src/upstream/limiter.ts';
import { cellOf, runCell } from '../../domain/limited-service.ts';
import { configure, moduleOf, start } from '../program.ts';
import type { RoughCase } from '../rough-case.ts';

const date = new Date(Date.now() + 8 * 86_400_000).toISOString().slice(0, 10);

function post(directory: string, path: string, body: object): Promise<{ verdict?: string }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ verdict?: string }>();
  const asked = request(
    {
      socketPath: join(directory, 'state', 'admin.sock'),
      path,
      method: 'POST',
      headers: { 'content-type': 'application/json', host: 'localhost' },
    },
    async (response) => {
      const chunks = await Array.fromAsync(response as AsyncIterable<Buffer>);
      resolve(JSON.parse(Buffer.concat(chunks).toString()));
    },
  );
  asked.on('error', reject);
  asked.end(JSON.stringify(body));
  return promise;
}

export const cases: readonly RoughCase[] = [
  {
    point: '4',
    claim: 'a stray 503 in a hundred leaves nine tenths of the allowed rate',
    run: async ({ root }) => {
      const limiter = (await import(moduleOf(root, 'src/upstream/limiter.ts'))) as {
        createLimiter: typeof createLimiter;
      };
      const strays = { kind: '503', share: 0.01 } as const;
      const cell = { ceiling: 10, per_second: Number.POSITIVE_INFINITY, strays, shape: 'fixed window' } as const;
      const { used } = await runCell(cellOf({ ...cell, told: 'nothing', minutes: 30 }), limiter.createLimiter);
      return { green: used >= 0.9, said: `${(100 * used).toFixed(0)} % of 10 calls a second, over half an hour` };
    },
  },
  {
    point: '4',
    claim: 'a real limit of 10 under a ceiling of 30 is used to nine tenths',
    run: async ({ root }) => {
      const limiter = (await import(moduleOf(root, 'src/upstream/limiter.ts'))) as {
        createLimiter: typeof createLimiter;
      };
      const strays = { kind: 'none', share: 0 } as const;
      const cell = { ceiling: 30, per_second: 10, strays, shape: 'sliding window', told: 'nothing' } as const;
      const { used, throttled } = await runCell(cellOf({ ...cell, minutes: 30 }), limiter.createLimiter);
      return {
        green: used >= 0.9 && throttled <= 0.005,
        said: `${(100 * used).toFixed(0)} %, ${(100 * throttled).toFixed(2)} % throttled`,
      };
    },
  },
  {
    point: '8',
    claim: 'a check never holds by a read that was sent before it was asked',
    run: async (subject) => {
      const sandbox = subject.stack.use(await startSandbox({ clock: systemClock, seed: 1, products: 20 }));
      const daemon = start(subject, ['--config', configure(subject, sandbox.url), 'run']);
      await daemon.said(/pass ended/);
      const product = sandbox.world
        .visible()
        .find(
          (each) =>
            each.status === 'available' && (sandbox.world.days(each, date, date, 'EUR')[0]?.slots.length ?? 0) > 0,
        );
      if (product === undefined) throw new Error(`no product on ${date}`);
      sandbox.faults.add({ kind: 'delay', ms: 1500, path: '/availability' });
      const question = { product_id: product.id, date, deadline_ms: 10_000 };
      const first = post(subject.directory, '/v1/check', question);
      await systemClock.sleep(500);
      product.sold_out.add(date);
      const second = await post(subject.directory, '/v1/check', question);
      return {
        green: second.verdict === 'gone',
        said: `sold out before it was asked: ${second.verdict} (asked before: ${(await first).verdict})`,
      };
    },
  },
  {
    point: '8',
    claim: 'one caller cannot use up the calls of all',
    run: async (subject) => {
      const sandbox = subject.stack.use(await startSandbox({ clock: systemClock, seed: 1, products: 20 }));
      const daemon = start(subject, ['--config', configure(subject, sandbox.url), 'run']);
      await daemon.said(/pass ended/);
      const [product] = sandbox.world.visible().filter(({ status }) => status === 'available');
      const question = { product_id: product?.id ?? 0, date, caller: 'one' };
      let answered = 0;
      for (let times = 0; times < 60; times += 1) {
        const { verdict } = await post(subject.directory, '/v1/check', question);
        if (verdict !== undefined && verdict !== 'unknown') answered += 1;
      }
      return { green: answered === 30, said: `${answered} of 60 checks of one caller made a call` };
    },
  },
];
