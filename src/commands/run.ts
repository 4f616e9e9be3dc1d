import { setImmediate } from 'node:timers/promises';
import { Command } from 'commander';
import type { Running } from '../daemon/daemon.ts';
import { startInstance } from '../daemon/instances/instance.ts';
import { thisMachine } from '../daemon/machine.ts';
import { superviseAs } from '../daemon/process/supervision.ts';
import { type ReloadingDaemon, startReloading } from '../daemon/reloading.ts';
import { createLog } from '../kernel/log.ts';
import { refuseAllowList } from '../receiver/allowlist.ts';
import { fullConfigurationFor } from './setup.ts';
import type { Io } from './terminal/io.ts';
import { aborted } from './terminal/io.ts';
import { progressPrinter, showFill, upgradeOn } from './terminal/progress.ts';

/** Extra time requested from systemd: repeatedly while the backup grows, and once for a change of the schema. */
const moreTimeMs = { backup: 120_000, change: 3_600_000 } as const;

export function runCommand(io: Io): Command {
  return new Command('run')
    .description(
      'Fills the mirror, then keeps it in sync until it is stopped. The log is JSON on standard output. SIGHUP reads the configuration again, as catalogued reload does.',
    )
    .option('--force', 'start even if receiver.allow could only ever match the proxy in front of the receiver')
    .addHelpText(
      'after',
      '\nExamples:\n  catalogued --config /etc/catalogued/catalogued.yaml run\n  CATALOGUED_LOG__LEVEL=debug catalogued run',
    )
    .action(async ({ force }: { force?: boolean }, command: Command) => {
      io.runsUntilStopped();
      const load = () => {
        const loaded = fullConfigurationFor(io, command);
        if (!force && loaded.secrets.receiver_secret !== null) refuseAllowList(loaded.config.receiver);
        return loaded;
      };
      const printer = progressPrinter(io);
      const log = createLog('info', {
        write: (line) => {
          printer.clear();
          io.stdout.write(line);
        },
      });
      const machine = thisMachine(log, {
        upgrade: upgradeOn(io, async (says, phase) => {
          // A signal that came during the backup is heard first, when this turn of the event loop and the next have ended.
          if (phase === 'change') for (let turn = 0; turn < 2; turn += 1) await setImmediate();
          // Half a backup is removed. A change of the schema is rolled back, whatever ends it.
          io.finishesOnSignal?.(phase === 'backup');
          await supervision.starting(says, moreTimeMs[phase]);
        }),
      });
      let current: ReloadingDaemon<Running>['current'] = () => null;
      const supervision = superviseAs({
        env: io.env,
        clock: machine.clock,
        log,
        current: () => current()?.supervised ?? null,
      });
      await using reloading = await startReloading({
        machine,
        load,
        start: async (...order) => {
          const running = await startInstance(...order);
          io.finishesOnSignal?.(true);
          return running;
        },
        reloading: (phase) => supervision.say(phase === 'begins' ? 'reloading' : 'ready'),
      });
      current = () => reloading.current();
      using _ = io.onHangup?.(() => reloading.begin());
      supervision.say('ready');
      using __ = supervision.watch();
      // Without a terminal the log alone reports.
      using ___ = io.stderr.isTTY ? showFill(printer, async () => (await reloading.current()?.fill()) ?? null) : null;
      await Promise.race([aborted(io.signal), reloading.broken]);
      supervision.say('stopping');
      log.info('daemon stopping');
      const trouble = reloading.current()?.trouble() ?? null;
      if (trouble !== null) throw trouble;
    });
}
