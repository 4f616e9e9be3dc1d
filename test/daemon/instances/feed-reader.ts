import { setTimeout } from 'node:timers/promises';
import { canary } from '../../fakes/canary.ts';
import type { Instance } from './stage.ts';

interface Page {
  readonly changes: readonly { readonly seq: number }[];
  readonly next: number;
  readonly feed: string;
}

/** What a reader of the change feed has seen, who asks whichever instance answers and starts anew where it is told to. */
export interface FeedReader {
  /** As JSON, in the order in which they came. */
  readonly seen: readonly string[];
  /** How often it had to begin anew. */
  readonly begun: number;
  stop(): Promise<void>;
}

export function readFeed(instances: readonly Instance[]): FeedReader {
  const seen: string[] = [];
  let begun = 0;
  let going = true;
  const read = async () => {
    let cursor: { next: number; feed: string } | null = null;
    for (let turn = 0; going; turn += 1) {
      const { admin } = instances[turn % instances.length] as Instance;
      const of: string = cursor === null ? '' : `&after=${cursor.next}&feed=${cursor.feed}`;
      const response = await fetch(`${admin}/v1/changes?limit=1000${of}`, {
        headers: { authorization: `Bearer ${canary.admin}` },
        signal: AbortSignal.timeout(2000),
      }).catch(() => null);
      if (response?.status === 410 || response?.status === 400) cursor = null;
      if (response?.status === 200) {
        const page = (await response.json()) as Page;
        if (cursor === null) begun += 1;
        cursor = { next: page.next, feed: page.feed };
        seen.push(...page.changes.map((change) => JSON.stringify(change)));
      }
      await setTimeout(20);
    }
  };
  const reading = read();
  return {
    seen,
    get begun() {
      return begun;
    },
    stop: async () => {
      going = false;
      await reading;
    },
  };
}
