import { createHmac } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { canary } from '../../fakes/canary.ts';
import type { Instance } from './stage.ts';

/** The last segment of the first callback address. */
const firstToken = createHmac('sha256', canary.master).update('callback:all:1').digest('base64url');

/** Deliveries that are posted to instances in turn, each until it is acknowledged, and what was answered. */
export function posting(instances: readonly Instance[], apart_ms = 5) {
  const acknowledged: number[] = [];
  const answers = new Map<number, number>();
  let going = true;
  let next = 0;
  const work = async (from: number) => {
    for (let turn = from; going; turn += 1) {
      next += 1;
      const n = next;
      const status = await post(instances[turn % instances.length] as Instance, n);
      answers.set(status, (answers.get(status) ?? 0) + 1);
      if (status === 200) acknowledged.push(n);
      await setTimeout(apart_ms);
    }
  };
  const working = [0, 1, 2, 3].map(work);
  return {
    acknowledged,
    answers,
    /** The last number that was posted, whatever comes of it. */
    posted: () => next,
    stop: async () => {
      going = false;
      await Promise.all(working);
    },
  };
}

/** Posts one delivery, and returns what was answered; 0: nothing. */
export function post({ hooks }: Instance, n: number, timeout_ms = 8000): Promise<number> {
  const body = JSON.stringify({ n });
  return fetch(`${hooks}/${firstToken}`, { method: 'POST', body, signal: AbortSignal.timeout(timeout_ms) }).then(
    ({ status }) => status,
    () => 0,
  );
}
