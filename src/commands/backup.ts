import { resolve } from 'node:path';
import { Command } from 'commander';
import { type Drill, lastDrill } from '../files/backup/drill.ts';
import { makeInChild } from '../files/backup/in-child.ts';
import { removeOld } from '../files/backup/keep.ts';
import { type BackupOrder, type MadeBackup, removeUnfinished } from '../files/backup/make.ts';
import { readManifest } from '../files/backup/manifest.ts';
import { backupsIn } from '../files/backups.ts';
import { systemClock } from '../kernel/clock.ts';
import { ago, megabytes, printable } from '../kernel/format.ts';
import { openMirrorForReading } from '../mirror/sql/files.ts';
import { version } from '../package.ts';
import { configurationFor } from './setup.ts';
import { type Io, print } from './terminal/io.ts';
import { table, widthOf } from './terminal/table.ts';

export function backupCommand(io: Io): Command {
  return new Command('backup')
    .description(
      'Makes a verified backup of the mirror and the inbox while they are in use: one directory with both copies and a manifest. Exit 65: there is no mirror; 74: no space; 77: the directory cannot be written.',
    )
    .argument('[dir]', 'where to put it (default: backup.directory, where the oldest beyond backup.keep are removed)')
    .option('--list', 'list the backups, and make none')
    .option('--json', 'print JSON; the fields are a contract (schema/contract.json)')
    .addHelpText(
      'after',
      '\nOnly this user may read it: it has data that storefronts must not see. The daemon makes a backup at backup.at.\n\nExamples:\n  catalogued backup\n  catalogued backup /mnt/elsewhere\n  catalogued backup --list',
    )
    .action(async (dir: string | undefined, options: { list?: boolean; json?: boolean }, command: Command) => {
      const { config } = configurationFor(io, command);
      const directory = dir === undefined ? config.backup.directory : resolve(dir);
      if (options.list) {
        const found = listed(directory);
        print(io, options, found, () => render(found, systemClock.now(), widthOf(io)));
        return;
      }
      // Refuses what is no mirror of this version, before anything is made.
      openMirrorForReading(config.mirror.path).close();
      io.ifStopped('no backup was made; what was begun of it is removed');
      const made = await makeStoppably(
        {
          mirror: config.mirror.path,
          inbox: config.mirror.inbox_path,
          directory,
          why: 'asked',
          made_by: `catalogued ${version}`,
          now: systemClock.now(),
        },
        io.signal,
      );
      const removed =
        dir === undefined ? removeOld(directory, { keep: config.backup.keep, now: systemClock.now() }) : 0;
      print(
        io,
        options,
        { ...made, removed },
        () =>
          `Backup    ${made.backup}, ${megabytes(made.bytes)}, verified\n${removed === 0 ? '' : `Removed   ${removed} of the oldest: backup.keep is ${config.backup.keep}\n`}`,
      );
    });
}

/** Makes a backup in a process of its own, which a signal ends: gigabytes take minutes. */
async function makeStoppably(order: BackupOrder, signal: AbortSignal): Promise<MadeBackup> {
  try {
    return await makeInChild(order, signal);
  } catch (error) {
    if (signal.aborted) removeUnfinished(order.directory);
    throw error;
  }
}

interface Listed {
  readonly directory: string;
  /** The newest first. `wrong`: why it could not be restored; null: its manifest is sound. */
  readonly backups: readonly {
    readonly backup: string;
    readonly made_at: number | null;
    readonly made_by: string | null;
    readonly why: string | null;
    readonly bytes: number | null;
    readonly wrong: string | null;
  }[];
  /** The last time that one was restored on trial; null: never. */
  readonly tried: Drill | null;
}

function listed(directory: string): Listed {
  const backups = backupsIn(directory, systemClock.now()).map((backup) => {
    try {
      const { made_at, made_by, why, mirror, inbox } = readManifest(backup);
      return { backup, made_at, made_by, why, bytes: mirror.bytes + (inbox?.bytes ?? 0), wrong: null };
    } catch (error) {
      return { backup, made_at: null, made_by: null, why: null, bytes: null, wrong: (error as Error).message };
    }
  });
  return { directory, backups: backups.reverse(), tried: lastDrill(directory) };
}

const reasons: Readonly<Record<string, string>> = {
  schedule: 'by schedule',
  asked: 'by hand',
  upgrade: 'before an upgrade',
};

function render({ directory, backups, tried }: Listed, now: number, width: number): string {
  if (backups.length === 0) return `There is no backup in ${directory}.\nTry: catalogued backup\n`;
  const rows = backups.map(({ backup, made_at, made_by, why, bytes, wrong }) =>
    wrong === null
      ? [backup, ago(made_at ?? 0, now), megabytes(bytes ?? 0), reasons[why ?? ''] ?? '', made_by ?? '']
      : [backup, '', '', '', wrong],
  );
  const trial =
    tried === null
      ? 'None has been restored on trial yet.'
      : tried.failure === null
        ? `Restored on trial ${ago(tried.at, now)}: ${tried.backup} can be restored.`
        : `Restored on trial ${ago(tried.at, now)}: ${tried.backup} CANNOT be restored: ${printable(tried.failure)}`;
  return `${table(['backup', 'made', 'size', 'why', 'by'], rows, width)}\n\n${trial}\n`;
}
