import { resolve } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { Command } from 'commander';
import { verifyBackup } from '../files/backup/drill.ts';
import { type Restore, restoreBackup } from '../files/backup/restore.ts';
import { systemClock } from '../kernel/clock.ts';
import { ago } from '../kernel/format.ts';
import { configurationFor } from './setup.ts';
import { type Io, print } from './terminal/io.ts';

export function restoreCommand(io: Io): Command {
  return new Command('restore')
    .description(
      "Puts a backup in the mirror's place, also on a host that has neither file. Deletes nothing: the old files are kept in quarantine/ beside the old place. Exit 65: DIR is not a backup, or it is damaged or newer; 75: a daemon runs.",
    )
    .argument('<dir>', 'one backup, as catalogued backup --list shows it')
    .option('--dry-run', 'verify the backup, print what would be done, and change nothing')
    .option('--json', 'print JSON; the fields are a contract (schema/contract.json)')
    .addHelpText(
      'after',
      '\nA sound inbox stays: deliveries since the backup are applied again. The next start reads what has changed since, and readers\nof the change feed have to start over.\n\nExamples:\n  catalogued restore data/state/backup/2026-11-21T030000Z --dry-run\n  systemctl stop catalogued && catalogued restore /mnt/elsewhere/2026-11-21T030000Z && systemctl start catalogued',
    )
    .action(async (dir: string, options: { dryRun?: boolean; json?: boolean }, command: Command) => {
      const { config } = configurationFor(io, command);
      const dry = options.dryRun === true;
      const now = systemClock.now();
      const backup = resolve(dir);
      io.ifStopped('nothing was changed', `catalogued restore ${dir}`);
      const manifest = verifyBackup(backup);
      // A signal that came during the verification stops here. From then on the files are moved, which finishes.
      await setImmediate();
      io.signal.throwIfAborted();
      const done = restoreBackup(config, backup, { now, dry, manifest });
      print(io, options, { ...done, dry_run: dry }, () => render(done, dry, now));
    });
}

const inboxes: Readonly<Record<Restore['inbox'], string>> = {
  kept: 'stays: deliveries since the backup are applied again',
  restored: "is the backup's: what subscriptions cover is read again, because deliveries since then are not in it",
  none: 'begins empty: the backup has none',
};

function render({ backup, made_at, made_by, mirror, inbox, moved }: Restore, dry: boolean, now: number): string {
  const lines = [
    `Backup    ${backup}, made ${ago(made_at, now)} by ${made_by}: verified`,
    ...moved.map(({ from, to }) => `Moved     ${from} ${dry ? 'would be ' : ''}set aside as ${to}`),
    `Mirror    ${mirror} ${dry ? 'would be' : 'is'} the backup's`,
    `Inbox     ${inboxes[inbox]}`,
    'Feed      readers of the change feed are told to start over',
    dry ? 'Nothing was changed.' : 'Next      catalogued run: reads what has changed since that backup',
  ];
  return `${lines.join('\n')}\n`;
}
