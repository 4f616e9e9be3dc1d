import type { Command } from 'commander';
import { adminClient } from '../admin/client.ts';
import { configPath, type LoadedConfig, loadConfig } from '../config/load.ts';
import type { Io } from './terminal/io.ts';
import { asRefusal } from './terminal/refusal.ts';

/* What a command starts with: its configuration, and whether a daemon runs. */

/** Returns the configuration that a command line names, as `loadConfig` does; throws what `loadConfig` throws. */
export function configurationFor(io: Io, command: Command): LoadedConfig {
  const { config } = command.optsWithGlobals<{ config?: string }>();
  return loadConfig({ file: configPath(config, io.env), env: io.env });
}

/** One call of the daemon's API. `patience_ms`: 10 s where absent; more where the daemon asks the service. */
export interface DaemonCall {
  readonly method?: 'GET' | 'POST';
  readonly path: string;
  readonly body?: object;
  readonly patience_ms?: number;
}

/** Returns the daemon's answer, or null where none runs. Throws what the daemon refuses as the command's own refusal. */
export async function askDaemon<Answer>(
  { config, secrets }: Pick<LoadedConfig, 'config' | 'secrets'>,
  { method = 'POST', path, body, patience_ms }: DaemonCall,
): Promise<Answer | null> {
  try {
    return await adminClient(config.admin.listen, secrets.admin_token).call<Answer>(method, path, body, patience_ms);
  } catch (error) {
    throw asRefusal(error);
  }
}
