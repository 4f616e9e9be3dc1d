import { request } from 'node:http';
import { performance } from 'node:perf_hooks';
import { createLog } from '../../src/kernel/log.ts';
import { testReceiver } from '../receiver/test-receiver.ts';
import { type Line, median } from './measure.ts';

/*
 * The same 404 whatever is wrong with a request, and as soon: who tries addresses learns nothing from the time it takes.
 * Each kind is asked in turn, so that whatever a neighbour of the machine does falls upon all.
 */

const rounds = 1500;
const warmUp = 100;

export async function refusalLines(): Promise<Line[]> {
  const log = createLog('info', { write: () => undefined });
  await using open = await testReceiver({ log });
  await using closed = await testReceiver({ log, allow: ['192.0.2.0/24'] });
  const wrong = `${open.path.slice(0, -8)}AAAAAAAA`;
  const kinds = [
    { name: 'another path', port: open.port, path: wrong.replace('/hooks/', '/hoops/') },
    { name: 'a wrong token', port: open.port, path: wrong },
    { name: 'a caller who is not allowed', port: closed.port, path: closed.path },
  ].map((kind) => ({ ...kind, times: [] as number[] }));
  const answers = new Set<string>();
  for (let round = -warmUp; round < rounds; round += 1)
    for (const { port, path, times } of kinds) {
      const began = performance.now();
      answers.add(await refused(port, path));
      if (round >= 0) times.push(performance.now() - began);
    }
  const medians = kinds.map(({ name, times }) => ({ name, ms: median(times) }));
  const gap = Math.max(...medians.map(({ ms }) => ms)) - Math.min(...medians.map(({ ms }) => ms));
  const each = medians.map(({ name, ms }) => `${name} ${ms.toFixed(3)} ms`).join(', ');
  return [
    {
      what: `identical 404s: the widest gap between medians of ${rounds} each`,
      value: `${gap.toFixed(3)} ms (${each}); ${answers.size === 1 ? 'the same answer' : `${answers.size} DIFFERENT ANSWERS`}`,
      target: '< 0.2 ms, the same answer',
      met: gap < 0.2 && answers.size === 1,
    },
  ];
}

/** The answer but for its date. */
function refused(port: number, path: string): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const sent = request({ port, host: '127.0.0.1', path, method: 'POST' }, (response) => {
    let body = '';
    response.setEncoding('utf8').on('data', (chunk: string) => {
      body += chunk;
    });
    response.on('end', () => {
      const { date: _, ...headers } = response.headers;
      resolve(JSON.stringify([response.statusCode, headers, body]));
    });
  });
  sent.on('error', reject).end('{}');
  return promise;
}
