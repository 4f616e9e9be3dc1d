import type { Command } from 'commander';
import type { Answer, OperationName } from '../admin/api.ts';
import { type AdminCall, type AdminClient, AdminRefusal, adminClient } from '../admin/client.ts';
import { configPath, type LoadedConfig, loadConfig, loadWholeConfig } from '../config/load.ts';
import { type Machine, thisMachine } from '../daemon/machine.ts';
import { CataloguedError, type ExitCode, exitCodes } from '../kernel/errors.ts';
import { createLog, type Logger } from '../kernel/log.ts';
import type { Io } from './terminal/io.ts';
import { upgradeOn } from './terminal/progress.ts';

/* What a command starts with: its configuration, and whether a daemon runs. */

/** Returns the configuration that a command line names, as `loadConfig` does; throws what `loadConfig` throws. */
export function configurationFor(io: Io, command: Command): LoadedConfig {
  return loadConfig(placeOf(io, command));
}

/** The same for work that asks the service: with every secret that it takes, or all that is wrong with them (77, 78). */
export function fullConfigurationFor(io: Io, command: Command): LoadedConfig {
  return loadWholeConfig(placeOf(io, command));
}

function placeOf({ env }: Io, command: Command) {
  const { config } = command.optsWithGlobals<{ config?: string }>();
  return { file: configPath(config, env), env };
}

/** Returns a client of the daemon. Over a unix socket no token is needed, and none is read: `ExecReload=` gets no credential. */
export function daemonClient({ config, secrets }: LoadedConfig): AdminClient {
  const { listen } = config.admin;
  return adminClient(listen, listen.startsWith('unix:') ? null : secrets.admin_token);
}

/** Returns the machine for work without a daemon. An upgrade shows its progress. Nothing is logged unless a log is passed. */
export function machineFor(io: Io, log: Logger = createLog('silent', io.stderr)): Machine {
  return thisMachine(log, { upgrade: upgradeOn(io) });
}

/**
 * Returns the daemon's answer, or null where none runs. Throws what the daemon refuses as the command's own refusal. A
 * signal that stops the command ends the call.
 */
export async function askDaemon<Name extends OperationName>(
  { signal }: Io,
  loaded: LoadedConfig,
  call: AdminCall<Name>,
): Promise<Answer<Name> | null> {
  try {
    return await daemonClient(loaded).call({ signal, ...call });
  } catch (error) {
    throw asRefusal(error);
  }
}

const others: Readonly<Record<string, ExitCode>> = {
  'disk-full': exitCodes.io,
  locked: exitCodes.retryLater,
  'not-answered': exitCodes.unavailable,
};

/**
 * Turns a refusal of the daemon into the command's own (64; 74 or 75 if it cannot write, 69 if the service did not
 * answer) with the daemon's message. Returns any other error unchanged.
 */
function asRefusal(error: unknown): unknown {
  if (!(error instanceof AdminRefusal)) return error;
  return new CataloguedError('refused', error.message, {
    exitCode: others[error.code ?? ''] ?? exitCodes.usage,
    cause: error,
    ...(error.hint === undefined ? {} : { hint: error.hint }),
  });
}
