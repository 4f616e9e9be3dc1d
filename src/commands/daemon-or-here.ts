import type { Answer, OperationName } from '../admin/api.ts';
import type { AdminCall } from '../admin/client.ts';
import type { LoadedConfig } from '../config/load.ts';
import { type Mirroring, openMirroring } from '../daemon/mirroring.ts';
import { askDaemon, machineFor } from './setup.ts';
import type { Io } from './terminal/io.ts';

/** Returns the answer of the daemon where one runs; else does the work here, holding the lock, with a daemon's parts. */
export async function daemonOrHere<Name extends OperationName, Own>(
  { io, loaded }: { io: Io; loaded: LoadedConfig },
  call: AdminCall<Name>,
  here: (mirroring: Mirroring) => Own | Promise<Own>,
): Promise<Answer<Name> | Own> {
  const answer = await askDaemon(io, loaded, call);
  if (answer !== null) return answer;
  await using mirroring = await openMirroring(machineFor(io), loaded);
  const own = await here(mirroring);
  // Work that a signal has cut short is no answer.
  io.signal.throwIfAborted();
  return own;
}
