import { Command } from 'commander';
import { type Repair, repairFiles } from '../files/repair.ts';
import { systemClock } from '../kernel/clock.ts';
import { configurationFor } from './setup.ts';
import { type Io, print } from './terminal/io.ts';

export function repairCommand(io: Io): Command {
  return new Command('repair')
    .description(
      'Sets aside a mirror or inbox that is damaged, lost, of another pair or of a development version, and prepares the next start. Deletes nothing: the files are kept in quarantine/ beside the old place. Exit 0: done, or nothing to do; 65: a file belongs to another program; 75: a daemon runs.',
    )
    .option('--dry-run', 'print what would be done, and change nothing')
    .option('--json', 'print JSON; the fields are a contract (schema/contract.json)')
    .addHelpText(
      'after',
      '\nChecks both files completely, which takes 15 seconds a gigabyte. The newest verified copy in backup.directory replaces a\nbroken mirror; without one the next start fills it again. Readers of the change feed have to start over.\n\nExamples:\n  catalogued repair --dry-run\n  systemctl stop catalogued && catalogued repair && systemctl start catalogued',
    )
    .action((options: { dryRun?: boolean; json?: boolean }, command: Command) => {
      const { config } = configurationFor(io, command);
      const dry = options.dryRun === true;
      const done = repairFiles(config, { now: systemClock.now(), dry });
      print(io, options, { ...done, dry_run: dry }, () => render(done, dry));
    });
}

function render({ mirror, inbox, plan, moved, restored }: Repair, dry: boolean): string {
  if (plan === null) return 'Both files are sound and belong together: there is nothing to repair.\n';
  const would = dry ? 'would be ' : '';
  const lines = [
    ...(mirror === null ? [] : [`Mirror    ${mirror}`]),
    ...(inbox === null ? [] : [`Inbox     ${inbox}`]),
    ...moved.map(({ from, to }) => `Moved     ${from} ${would}set aside as ${to}`),
    ...(restored === null ? [] : [`Restored  ${restored} ${dry ? 'would take' : 'has taken'} the mirror's place`]),
    `Paired    the two files ${dry ? 'would be' : 'are'} paired again: readers of the change feed are told to start over`,
    dry ? 'Nothing was changed.' : `Next      catalogued run: ${next(plan)}`,
  ];
  return `${lines.join('\n')}\n`;
}

function next({ mirror, inbox, restore }: NonNullable<Repair['plan']>): string {
  const missed = 'products that notifications cover are read again';
  if (restore) return 'reads what has changed since that copy';
  if (mirror !== 'keep') return 'fills the mirror again, near dates first; storefronts have none until then';
  return inbox === 'keep' ? 'goes on with this mirror' : `goes on with this mirror; ${missed}`;
}
