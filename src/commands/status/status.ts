import { Command } from 'commander';
import type { Answer } from '../../admin/api.ts';
import { AdminRefusal } from '../../admin/client.ts';
import { type Instant, systemClock } from '../../clock.ts';
import type { LoadedConfig } from '../../config/load.ts';
import { verdictOf } from '../../status/verdict.ts';
import { configurationFor, daemonClient } from '../setup.ts';
import type { Io } from '../terminal/io.ts';
import { folded, readableWidth } from '../terminal/table.ts';
import { type ShownStatus, statusText } from './text.ts';

export function statusCommand(io: Io): Command {
  return new Command('status')
    .description(
      'Shows what is mirrored, how old it is, and which freshness targets are met. Exit 0: nothing is wrong; 1: the mirror is not filled yet, a target is missed, or another condition is active.',
    )
    .option('--json', 'print JSON; the fields are a contract (schema/contract.json)')
    .addHelpText('after', '\nExamples:\n  catalogued status\n  catalogued status --json | jq .freshness')
    .action(async (options: { json?: boolean }, command: Command) => {
      const loaded = configurationFor(io, command);
      const asked = await askDaemon(io, loaded);
      const now = systemClock.now();
      const status: ShownStatus =
        asked === null || asked === 'silent'
          ? await filesSay(loaded, asked === null ? 'none' : 'silent', now)
          : { ...asked, daemon_answers: true };
      io.stdout.write(
        options.json
          ? `${JSON.stringify(status, null, 2)}\n`
          : folded(statusText(status, now, readableWidth(io)), readableWidth(io)),
      );
      if (verdictOf(status, now).state !== 'true') io.answerIsNo();
    });
}

/** Longest wait, in milliseconds: a healthy daemon answers within a few, and a hanging one must not hang `status`. */
const patienceMs = 3000;

type Live = Answer<'GET /v1/status'>;

/** Reads the status from the files, with code that is loaded only if no daemon answers: loading it takes longest. */
async function filesSay({ config }: LoadedConfig, daemon: 'none' | 'silent', now: Instant): Promise<ShownStatus> {
  const { statusOfFiles } = await import('./of-files.ts');
  return statusOfFiles(config, daemon, now);
}

async function askDaemon({ signal }: Io, loaded: LoadedConfig): Promise<Live | 'silent' | null> {
  try {
    return await daemonClient(loaded).call({ operation: 'GET /v1/status', patience_ms: patienceMs, signal });
  } catch (error) {
    if (error instanceof AdminRefusal) return null;
    if ((error as { code?: unknown }).code === 'daemon-silent') return 'silent';
    throw error;
  }
}
