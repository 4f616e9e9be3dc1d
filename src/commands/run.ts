import { Command } from 'commander';
import { startDaemon } from '../daemon/daemon.ts';
import { createLog } from '../log.ts';
import { fullConfigurationFor } from './setup.ts';
import { aborted } from './terminal/aborted.ts';
import type { Io } from './terminal/io.ts';

export function runCommand(io: Io): Command {
  return new Command('run')
    .description(
      'Keeps the mirror true until it is stopped: fills it, then refreshes what is due. The log is JSON on standard output.',
    )
    .option('--force', 'start even if receiver.allow could only ever match the proxy in front of the receiver')
    .addHelpText(
      'after',
      '\nExamples:\n  catalogued --config /etc/catalogued/catalogued.yaml run\n  CATALOGUED_LOG__LEVEL=debug catalogued run',
    )
    .action(async ({ force }: { force?: boolean }, command: Command) => {
      const loaded = fullConfigurationFor(io, command);
      const log = createLog(loaded.config.log.level, io.stdout);
      for (const warning of loaded.warnings) log.warn({ warning }, 'configuration warning');
      using _ = io.onHangup?.(() => {
        log.warn({ signal: 'SIGHUP' }, 'SIGHUP ignored: restart the daemon to reload the configuration');
      });
      await using daemon = await startDaemon(loaded, log, { allowList: force ? 'force' : 'check' });
      const { admin, storefront, receiver } = daemon;
      log.info({ mirror: loaded.config.mirror.path, admin, storefront, receiver }, 'daemon started');
      await Promise.race([aborted(io.signal), daemon.broken]);
      log.info('daemon stopping');
      const trouble = daemon.trouble();
      if (trouble !== null) throw trouble;
    });
}
