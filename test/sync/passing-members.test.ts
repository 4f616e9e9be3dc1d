import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import type { Adapter } from '../../src/domain/service/adapter.ts';
import { runSyncCycle } from '../../src/sync/engine.ts';
import { requestResync } from '../../src/sync/records/resync.ts';
import { explainProduct } from '../../src/sync/reports/explain.ts';
import { standard } from '../../src/upstream/adapter/standard.ts';
import { startJobs } from '../fakes/daemon-jobs.ts';
import { startSandbox } from '../fakes/start-sandbox.ts';
import { testConfig } from '../fakes/test-config.ts';
import { testMachine } from '../fakes/test-machine.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';

/*
 * A service that puts a number into each answer for dates, and an adapter to which that number means nothing below
 * `matters`, and above it that the first date is gone.
 */

const matters = 1_000_000;
const stack = new AsyncDisposableStack();
afterEach(() => stack.disposeAsync());

async function numbering(url: string, answer: { number: number }): Promise<string> {
  const server = createServer(async (request, response) => {
    const answered = await fetch(`${url}${request.url}`);
    const text = await answered.text();
    answer.number += 1;
    const body = request.url?.includes('availability') ? text.replace(/\}$/, `,"number": ${answer.number}}`) : text;
    response.writeHead(answered.status, { 'content-type': 'application/json' }).end(body);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  stack.defer(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test('answers that differ in nothing but a number are not decoded, until that number means something', async () => {
  const sandbox = stack.use(await startSandbox({ clock: systemClock, seed: 1, products: 12, counts: 'none' }));
  const answer = { number: 0 };
  const counts = { decoded: 0 };
  const dropping: Adapter['answer'] = (question, status, body, usual) => {
    if (question.kind !== 'availability') return standard.answer(question, status, body, usual);
    counts.decoded += 1;
    const { dates = [], ...rest } = body as { number: number; dates?: unknown[] };
    return standard.answer(question, status, { ...rest, dates: dates.slice(rest.number < matters ? 0 : 1) }, usual);
  };
  const { path } = stack.use(temporaryDirectory());
  const loaded = testConfig(path, await numbering(sandbox.url, answer));
  const adapter = () => ({ file: null, hash: 'abcdefgh', module: { answer: dropping } });
  const { daemon } = stack.use(await startJobs(testMachine(), { ...loaded, adapter }));
  const read = async () => {
    counts.decoded = 0;
    const never = new AbortController().signal;
    const { failed } = await runSyncCycle(daemon.ports, 4, { job_id: null, signal: never });
    expect(failed).toBe(0);
    return counts.decoded;
  };
  const again = () => {
    requestResync(daemon.ports, { resources: ['availability'], product_ids: [], from: null, to: null });
    return read();
  };
  /** Returns what is said to be left out of the answers for dates, and of how many. */
  const leftOut = () =>
    daemon.mirror.catalogue.products
      .ids()
      .flatMap((product_id) => explainProduct(daemon.ports, product_id)?.records ?? [])
      .flatMap(({ resource, left_out }) => (resource === 'availability' ? [left_out.join()] : []));
  const windows = await read();
  expect(windows).toBeGreaterThan(20);
  // The first changes nothing, the second differs in nothing else, and the third leaves the number out of each hash.
  await again();
  await again();
  await again();
  expect(await again()).toBeLessThanOrEqual(Math.ceil(windows / 20));
  // Other members stand beside it that are kept current (control).
  expect(leftOut()).toEqual(Array.from({ length: windows }, () => 'number'));

  answer.number = matters;
  await again();
  expect(await again()).toBe(windows);
  expect(new Set(leftOut())).toEqual(new Set(['']));
  answer.number = 0;
  expect(await again()).toBe(windows);
});
