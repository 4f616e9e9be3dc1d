import { existsSync } from 'node:fs';
import { Command } from 'commander';
import type { SchemaStep } from '../files/backup/schema-steps.ts';
import { checkUpgrade, type UpgradeCheck } from '../files/backup/try-upgrade.ts';
import { systemClock } from '../kernel/clock.ts';
import { counted, duration, megabytes } from '../kernel/format.ts';
import { compareVersions, oldestSafeVersion } from '../kernel/sqlite/database-file.ts';
import { mirrorFile, openMirrorForReading } from '../mirror/sql/files.ts';
import { inboxFile } from '../receiver/inbox.ts';
import { configurationFor } from './setup.ts';
import { type Io, print } from './terminal/io.ts';

export function upgradeCommand(io: Io): Command {
  return new Command('upgrade')
    .description(
      'Shows what the next start with this version will do to the files, measured on a copy: schema, contract, time, space. The daemon may be running. Exit 0: the upgrade is possible; 1: not enough space for it; 74: not enough space to try it.',
    )
    .requiredOption('--check', 'try it on a copy; the upgrade itself is the next start')
    .option('--json', 'print JSON; the fields are a contract (schema/contract.json)')
    .addHelpText(
      'after',
      '\nExamples:\n  catalogued upgrade --check\n  catalogued upgrade --check && systemctl restart catalogued',
    )
    .action(async (options: { json?: boolean }, command: Command) => {
      const { config } = configurationFor(io, command);
      // Refuses what is no mirror of ours, before anything is tried.
      if (!existsSync(config.mirror.path)) openMirrorForReading(config.mirror.path).close();
      io.ifStopped('nothing was changed; the copy is removed');
      const check = await checkUpgrade(config, systemClock, io.signal);
      print(io, options, check, () => render(check, config.backup.directory));
      if (check.free_bytes < check.needed_bytes) io.answerIsNo();
    });
}

function render(check: UpgradeCheck, directory: string): string {
  const { version, written_by, contract, added, removed, backup_ms, change_ms, needed_bytes, free_bytes } = check;
  const stays = check.mirror === null && check.inbox === null;
  const enough = free_bytes >= needed_bytes;
  const opens = [mirrorFile, inboxFile].map(oldestSafeVersion).toSorted(compareVersions).at(-1);
  const lines = [
    `Version   ${version}; the mirror was written by ${written_by}`,
    `Schema    mirror ${steps(check.mirror)}, inbox ${steps(check.inbox)}`,
    `Contract  ${contract.from === contract.to ? `stays ${contract.to}` : `${contract.from} becomes ${contract.to}`}`,
    `Readers   ${readers(added, removed)}`,
    ...(stays
      ? ['Time      none: the next start changes no schema']
      : [
          `Time      ${duration(backup_ms)} for a backup, ${duration(change_ms)} for the change, measured on a copy; storefronts can read meanwhile`,
          `Space     ${megabytes(needed_bytes)} needed, ${megabytes(free_bytes)} free${enough ? '' : ': NOT ENOUGH'}`,
          `Opened    from then on by catalogued ${opens} or newer; an older one refuses the files untouched`,
          `Back      stop, install the old version, and: catalogued restore ${directory}/<the backup that the start makes>`,
        ]),
  ];
  return `${lines.join('\n')}\n`;
}

function steps(step: SchemaStep | null): string {
  return step === null ? 'stays' : `${step.from} becomes ${step.to}`;
}

function readers(added: readonly string[], removed: readonly string[]): string {
  if (added.length + removed.length === 0) return 'notice nothing: every view has the columns it had';
  const gone = removed.length === 0 ? 'nothing is taken away' : `GONE: ${removed.join(', ')}`;
  return `${gone}; ${counted(added.length, 'column')} ${added.length === 1 ? 'is' : 'are'} new${added.length === 0 ? '' : `: ${added.slice(0, 8).join(', ')}${added.length > 8 ? ', …' : ''}`}`;
}
