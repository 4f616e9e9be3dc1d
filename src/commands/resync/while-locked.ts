import type { Clock } from '../../clock.ts';
import { CataloguedError } from '../../errors.ts';
import { writeRefusal } from '../../files/write-refusal.ts';
import { giveUpAfterMs } from '../../status/daemon-status.ts';
import type { Io } from '../terminal/io.ts';

const lookEveryMs = 500;

/** Does work again as long as another program holds a lock of our files: that is over within seconds, as a rule. */
export async function whileLocked<Result>(
  { stderr, signal }: Io,
  clock: Clock,
  work: () => Result | Promise<Result>,
): Promise<Result> {
  const until = clock.monotonic() + giveUpAfterMs;
  for (let told = false; ; told = true) {
    try {
      return await work();
    } catch (error) {
      if (!isLocked(error) || clock.monotonic() >= until) throw error;
      if (!told) stderr.write('Another program is writing the mirror or the inbox: waiting for it.\n');
      await clock.sleep(lookEveryMs, signal);
    }
  }
}

function isLocked(error: unknown): boolean {
  const own = error instanceof CataloguedError ? error : writeRefusal(error);
  // The daemon's refusal is the cause of ours.
  return [own, own?.cause].some((each) => (each as { code?: unknown } | undefined)?.code === 'locked');
}
