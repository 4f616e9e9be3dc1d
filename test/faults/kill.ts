import { setTimeout } from 'node:timers/promises';
import { roll } from '../../src/sandbox/random.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';
import { type ChildMode, startChild } from './child.ts';
import { type Posted, postDeliveries } from './posters.ts';
import { type Verdict, verify } from './verify.ts';

/** Kills a receiver again and again, 20 to 150 ms after eight senders began, and looks for what it acknowledged. */
export async function killRounds(
  kills: number,
  mode: ChildMode,
  seed: number,
): Promise<Verdict & { readonly acknowledged: number }> {
  using directory = temporaryDirectory();
  const posted: Posted = { acknowledged: new Set(), answers: [] };
  for (let kill = 0; kill < kills; kill += 1) {
    const child = await startChild(directory.path, mode);
    if (child.pid === null) throw new Error(`the receiver ended with ${await child.ended} instead of listening`);
    const posting = postDeliveries(child, { posters: 8, each: 1_000_000, posted });
    await setTimeout(20 + 130 * roll(seed, kill));
    child.kill();
    await Promise.all([child.ended, posting]);
  }
  return { ...verify(directory.path, posted.acknowledged), acknowledged: posted.acknowledged.size };
}
