import type { Answer, Answers } from '../admin/api.ts';
import type { AdminCall } from '../admin/client.ts';
import type { LoadedConfig } from '../config/load.ts';
import { QuietDaemon } from '../daemon/quiet.ts';
import { askDaemon, machineFor } from './setup.ts';
import type { Io } from './terminal/io.ts';

/** Returns the answer of the daemon where one runs, else of a quiet one in this process, which holds the lock. */
export async function askAnyDaemon<Name extends keyof Answers>(
  io: Io,
  loaded: LoadedConfig,
  call: AdminCall<Name>,
): Promise<Answer<Name>> {
  return (await askDaemon(io, loaded, call)) ?? (await askQuietDaemon(io, loaded, call));
}

/** Returns the answer of a quiet daemon. */
export async function askQuietDaemon<Name extends keyof Answers>(
  io: Io,
  loaded: LoadedConfig,
  call: AdminCall<Name>,
): Promise<Answer<Name>> {
  await using quiet = await QuietDaemon.start(machineFor(io), loaded, io.signal);
  const answer = await quiet.call(call);
  // Work that a signal has cut short is no answer.
  io.signal.throwIfAborted();
  return answer;
}
