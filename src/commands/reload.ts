import { Command } from 'commander';
import type { Answer } from '../admin/api.ts';
import { CataloguedError, type ExitCode, exitCodes } from '../kernel/errors.ts';
import { askDaemon, configurationFor } from './setup.ts';
import type { Io } from './terminal/io.ts';

/** Longest wait, in milliseconds, for the daemon to finish its work and to start again with the new configuration. */
const patienceMs = 90_000;

type Outcome = Answer<'GET /v1/reload'>;

export function reloadCommand(io: Io): Command {
  return new Command('reload')
    .description(
      'Makes the running daemon read its configuration, secrets and log level again. On any error the old configuration stays in force. Exit 77 or 78: what is wrong; 75: no daemon runs.',
    )
    .option('--json', 'print JSON; the fields are a contract (schema/contract.json)')
    .addHelpText('after', '\nExamples:\n  catalogued reload\n  systemctl reload catalogued')
    .action(async ({ json }: { json?: boolean }, command: Command) => {
      const loaded = configurationFor(io, command);
      const ask = async (operation: 'POST /v1/reload' | 'GET /v1/reload'): Promise<Outcome> =>
        (await askDaemon(io, loaded, { operation, patience_ms: patienceMs })) ?? noDaemon(loaded.config.admin.listen);
      const begun = await ask('POST /v1/reload');
      // This waits while the new configuration takes over, and says how that ended.
      const outcome = begun.refused === null && begun.changed.length > 0 ? await ask('GET /v1/reload') : begun;
      if (json) io.stdout.write(`${JSON.stringify(outcome, null, 2)}\n`);
      const { refused, changed } = outcome;
      if (refused !== null) {
        const { exit_code, message, details, hint } = refused;
        throw new CataloguedError('not-reloaded', message, {
          exitCode: exit_code as ExitCode,
          details,
          hint: `${hint === null ? '' : `${hint}. `}The daemon goes on with the configuration it had`,
        });
      }
      if (!json)
        io.stdout.write(changed.length === 0 ? 'Nothing has changed.\n' : `Reloaded: ${changed.join(', ')}.\n`);
    });
}

function noDaemon(listen: string): never {
  throw new CataloguedError('no-daemon', `no daemon answers at ${listen}`, {
    exitCode: exitCodes.retryLater,
    hint: 'start it, which reads the configuration; where admin.listen has changed, restart the daemon',
  });
}
