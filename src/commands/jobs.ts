import { Command } from 'commander';
import type { Answer } from '../admin/api.ts';
import { jobDuration, jobNext, jobTrouble } from '../daemon/job-runs.rules.ts';
import { systemClock } from '../kernel/clock.ts';
import { CataloguedError, exitCodes } from '../kernel/errors.ts';
import { printable } from '../kernel/format.ts';
import { jobsTable } from '../says/status/sections.ts';
import { askDaemon, configurationFor } from './setup.ts';
import { type Io, print } from './terminal/io.ts';
import { tableText, widthOf } from './terminal/table.ts';

/** Longest wait for a job, in milliseconds: a first fill takes as long as the service needs. */
const patienceMs = 24 * 3_600_000;

export function jobsCommand(io: Io): Command {
  const command = new Command('jobs')
    .description(
      'Lists the jobs of the running daemon: how often each runs, its last and next run, and what failed. Exit 75: no daemon runs.',
    )
    .option('--json', 'print JSON; the fields are a contract (schema/contract.json)')
    .addHelpText(
      'after',
      "\nExamples:\n  catalogued jobs\n  catalogued jobs --json | jq '.jobs[] | select(.failure != null)'\n  catalogued jobs run integrity",
    )
    .action(async ({ json }: { json?: boolean }, own: Command) => {
      const loaded = configurationFor(io, own);
      const found = (await askDaemon(io, loaded, { operation: 'GET /v1/schedule' })) ?? noDaemon();
      print(io, { json }, found, () => `${render(found.jobs, systemClock.now(), widthOf(io))}\n`);
    });
  command
    .command('run')
    .description(
      'Runs a job now, or joins the run under way, and waits for its end. Exit 0: it did its work; 1: it failed, or something kept it from its work; 64: there is no such job; 75: no daemon runs.',
    )
    .argument('<name>', 'the name of a job, as catalogued jobs lists it')
    .option('--json', 'print JSON; the fields are a contract (schema/contract.json)')
    .addHelpText(
      'after',
      '\nExamples:\n  catalogued jobs run integrity\n  catalogued jobs run pass --json | jq .last_ms',
    )
    .action(async (name: string, _: object, own: Command) => {
      const { json } = own.optsWithGlobals<{ json?: boolean }>();
      io.ifStopped(`the daemon goes on with the job ${name}`, 'catalogued jobs');
      const run =
        (await askDaemon(io, configurationFor(io, own), {
          operation: 'POST /v1/schedule/{name}/run',
          path: { name },
          patience_ms: patienceMs,
        })) ?? noDaemon();
      print(io, { json }, run, () => `${renderRun(run, systemClock.now())}\n`);
      if (run.failure !== null || run.kept_from !== null) io.answerIsNo();
    });
  return command;
}

type Jobs = Answer<'GET /v1/schedule'>['jobs'];

function render(jobs: Jobs, now: number, width: number): string {
  const overdue = jobs.filter(({ overdue, failure }) => overdue === 1 && failure === null);
  return [
    tableText(jobsTable(jobs, now), width),
    ...(overdue.length === 0 ? [] : ['', ...overdue.map((job) => `Overdue: ${jobTrouble(job, now)}`)]),
  ].join('\n');
}

function renderRun(run: Answer<'POST /v1/schedule/{name}/run'>, now: number): string {
  const { name, joined, failure, kept_from } = run;
  if (failure === null && kept_from !== null)
    return `${name}: did nothing: ${sentence(kept_from)} Next ${jobNext(run, now)}.`;
  const took = jobDuration(run, now) ?? 'no time';
  const was = joined === 1 ? ' It was already running.' : '';
  return failure === null
    ? `${name}: done in ${took}.${was} Next ${jobNext(run, now)}.`
    : `${name}: failed after ${took}: ${sentence(failure)}${was} Next ${jobNext(run, now)}.`;
}

function sentence(reason: string): string {
  return `${printable(reason).replace(/\.$/, '')}.`;
}

function noDaemon(): never {
  throw new CataloguedError('no-daemon', 'no daemon runs, so there are no jobs', {
    exitCode: exitCodes.retryLater,
    hint: 'start it: catalogued run',
  });
}
