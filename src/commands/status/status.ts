import { dirname } from 'node:path';
import { Command } from 'commander';
import type { Answer } from '../../admin/api.ts';
import { AdminRefusal } from '../../admin/client.ts';
import type { LoadedConfig } from '../../config/load.ts';
import { type Instant, systemClock } from '../../kernel/clock.ts';
import { unshared } from '../../kernel/sqlite/directory.ts';
import type { ConditionCode } from '../../says/conditions/table.rules.ts';
import { type PrintedStatus, type ShownStatus, statusSections, targetsTable } from '../../says/status/sections.ts';
import { conditionSays, verdictOf } from '../../says/status/verdict.ts';
import { configurationFor, daemonClient } from '../setup.ts';
import type { Io } from '../terminal/io.ts';
import { printFolded, sectionLines, sectionTables, tableText } from '../terminal/table.ts';

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
      const status: PrintedStatus =
        asked === null || asked === 'silent'
          ? await filesSay(loaded, asked === null ? 'none' : 'silent', now)
          : { ...asked, daemon_answers: true };
      printFolded(io, options, status, (width) => statusText(status, now, width));
      if (verdictOf(status, now).state !== 'true') io.answerIsNo();
    });
}

/** Longest wait, in milliseconds: a healthy daemon answers within a few, and a hanging one must not hang `status`. */
const patienceMs = 3000;

type Live = Answer<'GET /v1/status'>;

/** Reads the status from the files, with code that is loaded only if no daemon answers: loading it takes longest. */
async function filesSay({ config }: LoadedConfig, daemon: 'none' | 'silent', now: Instant): Promise<PrintedStatus> {
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

/** Returns the status as people read it. */
export function statusText(status: ShownStatus, now: number, width?: number): string {
  const said = statusSections(status, now);
  const advice = unshared(dirname(status.path));
  const shows = (code: ConditionCode) =>
    status.conditions.some((each) => each.code === code || each.explains.includes(code));
  const lines = sectionLines([
    said.mirror,
    said.filled,
    said.products,
    said.bookable,
    said.changed,
    said.outdated,
    status.error_rate.rate === null ? null : said.errors,
    said.signals,
    ...status.conditions.map((each) => ({ title: each.about, says: [conditionSays(each, now)] })),
    advice === null ? null : { title: 'Sharing', says: [advice] },
    said.database,
    said.snapshot,
    said.backup,
    said.calls,
    shows('job-failing') ? null : said.jobTroubles,
    said.waitingJobs,
    said.shops,
    said.notifications,
    said.closures,
    said.gaps,
    said.missing,
    said.unreadable,
    said.failing,
  ]);
  const targets = tableText(targetsTable(said.freshness, status.filled_at, now), width);
  // A cause hides the condition about images, but not which products it is about.
  const tables = [said.held, shows('images-unverified') ? said.images : null, said.notifications, said.failing];
  return `${[...lines, '', targets, ...sectionTables(tables, width)].join('\n')}\n`;
}
