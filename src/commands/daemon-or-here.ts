import type { LoadedConfig } from '../config/load.ts';
import { type Overrides, type Wiring, wire } from '../daemon/wiring.ts';
import { createLog } from '../log.ts';
import { askDaemon, type DaemonCall } from './setup.ts';
import type { Io } from './terminal/io.ts';

/** Returns the answer of the daemon where one runs; else does the work here, holding the lock, with a daemon's parts. */
export async function daemonOrHere<Answer>(
  { io, loaded, overrides = {} }: { io: Io; loaded: LoadedConfig; overrides?: Overrides },
  call: DaemonCall,
  here: (wiring: Wiring) => Answer | Promise<Answer>,
): Promise<Answer> {
  const answer = await askDaemon<Answer>(loaded, call);
  if (answer !== null) return answer;
  await using wiring = wire(loaded, createLog('silent', io.stderr), overrides);
  return await here(wiring);
}
