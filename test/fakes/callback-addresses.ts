import { hash } from 'node:crypto';
import type { CallbackAddresses } from '../../src/sync/callback.ts';

type State = ReturnType<CallbackAddresses['states']>[number];

/** The callback addresses without a file; `master` may be changed, as an operator does. */
export function memoryAddresses(): CallbackAddresses & { master: string; changed: boolean } {
  const states: State[] = [];
  const of = (id: string) => states.filter(({ subscription_id }) => subscription_id === id);
  const book = {
    master: 'master',
    changed: false,
    token: (id: string, epoch: number) => hash('sha256', `${book.master}:${id}:${epoch}`, 'base64url'),
    states: () => [...states],
    current: (id: string, now: number) => of(id).at(-1)?.epoch ?? book.begin(id, now),
    begin: (subscription_id: string, now: number) => {
      const epoch = (of(subscription_id).at(-1)?.epoch ?? 0) + 1;
      states.push({ subscription_id, epoch, begun_at: now, announced_at: null, until: null });
      return epoch;
    },
    announced: (id: string, epoch: number, now: number, grace_ms: number) => {
      for (const [index, state] of states.entries()) {
        if (state.subscription_id !== id || state.epoch > epoch) continue;
        if (state.epoch === epoch) states[index] = { ...state, announced_at: now };
        else states[index] = { ...state, until: state.until ?? now + grace_ms };
      }
    },
    recognise: (token: string, now: number) =>
      states.find(
        (state) =>
          book.token(state.subscription_id, state.epoch) === token && (state.until === null || state.until > now),
      ) ?? null,
    masterChanged: () => book.changed,
  };
  return book;
}
