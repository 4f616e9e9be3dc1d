import type { Answer, OperationName } from '../admin/api.ts';
import type { AdminCall } from '../admin/client.ts';
import type { LoadedConfig } from '../config/load.ts';
import { type Overrides, type Wiring, wire } from '../daemon/wiring.ts';
import { createLog } from '../log.ts';
import { askDaemon } from './setup.ts';
import type { Io } from './terminal/io.ts';
import { upgradeOn } from './terminal/upgrade-progress.ts';

/** Returns the answer of the daemon where one runs; else does the work here, holding the lock, with a daemon's parts. */
export async function daemonOrHere<Name extends OperationName, Own>(
  { io, loaded, overrides = {} }: { io: Io; loaded: LoadedConfig; overrides?: Overrides },
  call: AdminCall<Name>,
  here: (wiring: Wiring) => Own | Promise<Own>,
): Promise<Answer<Name> | Own> {
  const answer = await askDaemon(io, loaded, call);
  if (answer !== null) return answer;
  await using wiring = await wire(loaded, createLog('silent', io.stderr), { upgrade: upgradeOn(io), ...overrides });
  const own = await here(wiring);
  // Work that a signal has cut short is no answer.
  io.signal.throwIfAborted();
  return own;
}
