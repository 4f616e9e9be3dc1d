import { join } from 'node:path';
import { temporaryDirectory } from '../fakes/test-mirror.ts';
import { type ChildMode, startChild } from './child.ts';
import { type Posted, postDeliveries } from './posters.ts';
import { type Verdict, verify } from './verify.ts';

export interface Injected extends Verdict {
  /** The exit code of the receiver, or the signal that ended it; null: it lived until the end. */
  readonly ended: number | string | null;
  readonly acknowledged: number;
  /** Answers 503. */
  readonly refused: number;
  /** Deliveries that were acknowledged after the first 503. */
  readonly after: number;
}

/**
 * Lets the kernel fail, or kill, at a chosen system call on the inbox: strace's `inject` expression. Four senders post
 * until each has sent fifty (enough commits to come to any of the calls) or the receiver is gone; then the inbox is opened again and looked at.
 */
export async function inject(expression: string, mode: ChildMode = 'honest'): Promise<Injected> {
  using directory = temporaryDirectory();
  const path = join(directory.path, 'inbox.db');
  const [call = ''] = expression.split(':');
  const under = ['strace', '-f', '-qq', '-o', '/dev/null', '-P', path, '-P', `${path}-wal`];
  const child = await startChild(directory.path, mode, [...under, '-e', `trace=${call}`, '-e', `inject=${expression}`]);
  const posted: Posted = { acknowledged: new Set(), answers: [] };
  let ended: number | string | null = null;
  void child.ended.then((how) => {
    ended = how;
  });
  if (child.pid === null) {
    await child.ended;
  } else {
    await postDeliveries(child, { posters: 4, each: 50, posted });
    // No answer at all: it is ending, and how matters.
    if (posted.answers.includes(0)) await child.ended;
    const lived = ended;
    child.kill();
    await child.ended;
    ended = lived;
  }
  const { answers, acknowledged } = posted;
  const first = answers.indexOf(503);
  return {
    ...verify(directory.path, acknowledged),
    ended,
    acknowledged: acknowledged.size,
    refused: answers.filter((status) => status === 503).length,
    after: first < 0 ? 0 : answers.slice(first).filter((status) => status === 200).length,
  };
}
