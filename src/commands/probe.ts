import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Command } from 'commander';
import { AdapterRefused, loadAdapter } from '../config/adapter.ts';
import { documentText } from '../config/document.ts';
import type { LoadedConfig } from '../config/load.ts';
import { probeAlone } from '../daemon/probing.ts';
import { tryAdapter } from '../daemon/recorded-trial.ts';
import { CataloguedError, exitCodes } from '../kernel/errors.ts';
import { counted, printable } from '../kernel/format.ts';
import { makeDirectory } from '../kernel/sqlite/make-directory.ts';
import { readRecording } from '../sandbox/reads/recording.ts';
import type { ProbeReport } from '../says/probe/probe.ask.ts';
import { mostCalls } from '../says/probe/probe-calls.ask.ts';
import { askDaemon, configurationFor, machineFor } from './setup.ts';
import { type Io, print } from './terminal/io.ts';

/** Time for forty calls and the pauses that the service may ask for. */
const patienceMs = 10 * 60_000;

export function probeCommand(io: Io, pace: { readonly calls_a_second?: number } = {}): Command {
  return new Command('probe')
    .description(
      `Compares the live service with our assumptions about it, in at most ${mostCalls} unhurried calls; stores nothing. ` +
        'Exit 0: the comparison is complete, as far as its output says; 69: the service cannot be used; 75: it asks for a long pause, or a daemon does not answer.',
    )
    .option('--record <dir>', 'save the answers, without texts, ids and prices, for catalogued sandbox --recorded DIR')
    .option('--adapter <file>', 'use this module in place of service.adapter; no daemon may run')
    .option('--recorded <dir>', 'have the adapter read answers that --record saved: no network, no key')
    .option('--json', 'print JSON; the fields are a contract (schema/contract.json)')
    .addHelpText(
      'after',
      '\nOutput: for each assumption what was seen and what it means, then the service.profile that follows. A running daemon\nasks the service; without one the command does, holding the lock.\n\nExamples:\n  catalogued probe\n  catalogued probe --record ./recorded && catalogued sandbox --recorded ./recorded\n  catalogued probe --adapter ./adapter.mjs --recorded ./recorded\n  catalogued probe --adapter ./adapter.mjs\n  catalogued probe --json | jq \'.findings[] | select(.verdict == "otherwise")\'',
    )
    .action(async ({ record, adapter, recorded, json }: Options, command: Command) => {
      const loaded = configurationFor(adapter === undefined ? io : withAdapter(io, adapter), command);
      const progress = progressOf(io);
      io.ifStopped('the comparison is not complete; a probe stores nothing');
      const alone = () => probeAlone(machineFor(io), loaded, io.signal, { ...pace, progressed: progress.progressed });
      const live = async () =>
        (adapter === undefined ? await askRunning(io, loaded) : null) ?? (await alone().finally(progress.end));
      const report = recorded === undefined ? await live() : await tryAdapter(loaded, readRecording(recorded));
      const told = report.findings.length > 0;
      if (report.unusable !== null && !told) throw unusable(report.unusable);
      if (record !== undefined) keep(record, report);
      const { recorded: __, ...facts } = report;
      print(io, { json }, facts, () => render(report));
      if (record !== undefined)
        io.stderr.write(
          `${counted(report.recorded.length, 'answer')} ${report.recorded.length === 1 ? 'is' : 'are'} in ${record}, without texts, ids, prices, addresses and the key.\n`,
        );
      if (report.unusable !== null) throw unusable(report.unusable);
      if (report.cut_short !== null) throw cutShort(report.cut_short);
    });
}

interface Options {
  readonly record?: string;
  readonly adapter?: string;
  readonly recorded?: string;
  readonly json?: boolean;
}

/** Returns the same environment, as if it named the adapter. Throws (78) if the adapter cannot be used. */
function withAdapter(io: Io, file: string): Io {
  try {
    loadAdapter(file);
  } catch (error) {
    if (!(error instanceof AdapterRefused)) throw error;
    throw new CataloguedError('configuration', `--adapter: ${error.message}`, {
      exitCode: exitCodes.configuration,
      hint: 'correct the module (docs/service.md, service.adapter)',
    });
  }
  return { ...io, env: { ...io.env, CATALOGUED_SERVICE__ADAPTER: file } };
}

async function askRunning(io: Io, loaded: LoadedConfig): Promise<ProbeReport | null> {
  const report = await askDaemon(io, loaded, { operation: 'POST /v1/probe', patience_ms: patienceMs });
  if (report !== null) io.stderr.write('The running daemon asked the service.\n');
  return report;
}

/** Prints progress as one rewritten line, on a terminal only: a probe takes half a minute. */
function progressOf({ stderr, ifStopped }: Io): { progressed(calls: number, asking: string): void; end(): void } {
  let open = false;
  return {
    progressed: (calls, asking) => {
      ifStopped(`${calls} of at most ${mostCalls} calls were answered; a probe stores nothing`);
      if (!stderr.isTTY) return;
      stderr.write(`\r\u001b[K${calls} of at most ${mostCalls} calls: ${asking}`);
      open = true;
    },
    end: () => {
      if (open) stderr.write('\r\u001b[K');
      open = false;
    },
  };
}

function keep(directory: string, { recorded }: ProbeReport): void {
  try {
    makeDirectory(directory);
    for (const [index, answer] of recorded.entries()) {
      const name = `${String(index + 1).padStart(2, '0')}-${answer.resource.replaceAll('_', '-')}.json`;
      writeFileSync(join(directory, name), `${JSON.stringify(answer, null, 2)}\n`);
    }
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    throw new CataloguedError('probe-record', `the answers cannot be written to ${directory} (${code ?? 'unknown'})`, {
      exitCode: code === 'EACCES' ? exitCodes.permission : exitCodes.io,
      hint: 'choose a directory that you can write to',
      cause,
    });
  }
}

const marks = { 'as believed': '✓', otherwise: '≠', 'cannot tell': '?' } as const;

function render({ unusable: refused, findings, calls, profile, cut_short }: ProbeReport): string {
  const lines = findings.flatMap(({ name, believed, seen, verdict, means }) => [
    `${marks[verdict]} ${name}: ${believed}`,
    `    seen   ${printable(seen)}`,
    ...(means === '' ? [] : [`    means  ${printable(means)}`]),
  ]);
  const count = (verdict: keyof typeof marks) => findings.filter((each) => each.verdict === verdict).length;
  const counts = `${count('as believed')} as believed ✓, ${count('otherwise')} otherwise ≠, ${count('cannot tell')} cannot tell ?; ${counted(calls, 'call')}`;
  const follows =
    calls === 0
      ? 'Nothing was sent.'
      : Object.keys(profile).length === 0
        ? refused === null
          ? 'The configured service.profile fits.'
          : 'No key of service.profile follows from this.'
        : `The service.profile that follows:\n\n${documentText({ service: { profile } })}`.trimEnd();
  return `${lines.join('\n')}\n\n${counts}${cut_short === null ? '' : `; ended early: ${cut_short}`}.\n${follows}\n`;
}

const hints: Readonly<Record<string, string>> = {
  'key-refused':
    'compare service.api_key_file (or CATALOGUED_API_KEY) with the key the service gave you, and how it is sent: service.profile.authorization (header, scheme, parameter)',
  'not-followed':
    'check service.profile; if no key describes the service, write an adapter (docs/service.md), from what catalogued probe --record DIR saves',
};

function unusable({ code, message }: NonNullable<ProbeReport['unusable']>): CataloguedError {
  if (code === 'throttled') return cutShort(message);
  return new CataloguedError(code, `the service cannot be used: ${printable(message)}`, {
    exitCode: exitCodes.unavailable,
    hint: hints[code] ?? 'check service.base_url, the network, and service.profile.paths',
  });
}

function cutShort(message: string): CataloguedError {
  return new CataloguedError('throttled', message, { exitCode: exitCodes.retryLater, hint: 'try again later' });
}
