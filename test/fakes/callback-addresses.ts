import { hash } from 'node:crypto';
import type { OwnAddresses } from '../../src/sync/subscriptions/callback.ts';

type State = ReturnType<OwnAddresses['states']>[number];

/** The callback addresses without a file; `master` may be changed, as an operator does. */
export interface MemoryAddresses extends OwnAddresses {
  master: string;
  changed: boolean;
  /** Whether a delivery with this token is taken. */
  accepts(token: string, now: number): boolean;
}

export function memoryAddresses(): MemoryAddresses {
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
    recognise: (token: string, now: number) => {
      const state = states.find((each) => book.token(each.subscription_id, each.epoch) === token);
      if (state === undefined) return null;
      const dropped = state.until !== null && state.until <= now;
      const newest = of(state.subscription_id).at(-1)?.epoch === state.epoch;
      return {
        ...state,
        standing: dropped ? ('dropped' as const) : newest ? ('current' as const) : ('grace' as const),
      };
    },
    accepts: (token: string, now: number) => (book.recognise(token, now)?.standing ?? 'dropped') !== 'dropped',
    masterChanged: () => book.changed,
  };
  return book;
}
