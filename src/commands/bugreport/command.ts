import { writeFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { Command } from 'commander';
import type { LoadedConfig } from '../../config/load.ts';
import { systemClock } from '../../kernel/clock.ts';
import { CataloguedError, exitCodes } from '../../kernel/errors.ts';
import { productId } from '../options.ts';
import { configurationFor } from '../setup.ts';
import type { Io } from '../terminal/io.ts';
import { table, widthOf } from '../terminal/table.ts';
import { type Fact, factsFor, knownSecrets } from './facts.ts';
import { type Scrub, scrubbing } from './scrub.ts';

interface Options {
  readonly record?: number;
  readonly log?: string;
  readonly output?: string;
}

export function bugreportCommand(io: Io): Command {
  return new Command('bugreport')
    .description(
      'Writes one archive for support: versions, configuration with origins, checks, status, jobs, schema, counts, failing records, last log lines. It contains no secret. Changes nothing, calls no service, and works whatever is broken. Exit 74: the archive cannot be written.',
    )
    .option(
      '--record <id>',
      'add what the mirror has of this product: the last answers, and when and why they were read',
      productId,
    )
    .option('--log <file>', 'take the log from this file (default: the journal of catalogued.service)')
    .option('--output <file>', 'where to write it (default: catalogued-bugreport-INSTANT.tar.gz here)')
    .addHelpText(
      'after',
      '\nIt contains names of hosts, paths and products: inspect it before you pass it on (tar xzf). Secrets are replaced by [hidden].\n\nExamples:\n  catalogued bugreport\n  catalogued bugreport --record 1234 --log /var/log/catalogued.log',
    )
    .action(async (options: Options, command: Command) => {
      const loaded = once(() => configurationFor(io, command));
      const question = { product_id: options.record ?? null, log: options.log ?? null };
      const facts = factsFor(loaded, question, { io, clock: systemClock });
      io.ifStopped('no archive was written');
      const collected = await collect(facts, scrubbing(knownSecrets(loaded, io.env)));
      io.signal.throwIfAborted();
      const now = systemClock.now();
      const instant = new Date(now).toISOString().slice(0, 19).replaceAll(':', '');
      const output = options.output ?? `catalogued-bugreport-${instant}Z.tar.gz`;
      const files = new Map(collected.map(({ name, text }) => [`catalogued-bugreport/${name}`, text]));
      const archive = gzipSync(tar(files, now));
      writeNew(output, archive);
      const rows = collected.map(({ name, text, missing }) => [name, Buffer.byteLength(text), missing ?? '']);
      io.stdout.write(
        `${table(['file', 'bytes', 'missing'], rows, widthOf(io))}\n\nWritten to ${output}. Look into it before you pass it on.\n`,
      );
    });
}

interface Collected {
  readonly name: string;
  readonly text: string;
  /** Reason why the file has no content; null if it has some. */
  readonly missing: string | null;
}

/** Collects each file by itself: what is broken is what a report is about. */
async function collect(facts: Readonly<Record<string, Fact>>, scrub: Scrub): Promise<Collected[]> {
  const all: Collected[] = [];
  for (const [name, fact] of Object.entries(facts)) {
    try {
      const found = await fact();
      const text = typeof found === 'string' ? found : JSON.stringify(found, null, 2);
      all.push({ name, text: `${scrub(text)}\n`, missing: null });
    } catch (error) {
      const { message, details = [] } = error as Error & { details?: readonly string[] };
      const missing = scrub([message, ...details].join('\n'));
      all.push({ name, text: `not found out: ${missing}\n`, missing: missing.split('\n')[0] ?? '' });
    }
  }
  return all;
}

/** Returns the function with its first result, or its first error, for every further call. */
function once(load: () => LoadedConfig): () => LoadedConfig {
  let known: { readonly loaded: LoadedConfig } | { readonly error: unknown } | null = null;
  return () => {
    if (known === null) {
      try {
        known = { loaded: load() };
      } catch (error) {
        known = { error };
      }
    }
    if ('error' in known) throw known.error;
    return known.loaded;
  };
}

/** Writes a file for this user alone; never over another one. */
function writeNew(path: string, bytes: Buffer): void {
  try {
    writeFileSync(path, bytes, { mode: 0o600, flag: 'wx' });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const denied = code === 'EACCES' || code === 'EPERM';
    throw new CataloguedError('report', `the report cannot be written to ${path} (${code})`, {
      exitCode: denied ? exitCodes.permission : exitCodes.io,
      hint: 'name another place with --output FILE',
      cause: error,
    });
  }
}

const block = 512;

/** Returns a tar archive (POSIX ustar) of texts by their names, each of at most 100 characters and readable by its owner alone. */
function tar(files: ReadonlyMap<string, string>, now: number): Buffer {
  const entries = [...files].flatMap(([name, text]) => {
    const bytes = Buffer.from(text);
    return [header(name, bytes.length, now), bytes, Buffer.alloc(-bytes.length & (block - 1))];
  });
  return Buffer.concat([...entries, Buffer.alloc(2 * block)]);
}

function header(name: string, size: number, now: number): Buffer {
  const bytes = Buffer.alloc(block);
  const octal = (value: number, digits: number) => `${value.toString(8).padStart(digits, '0')}\0`;
  const fields: readonly (readonly [at: number, text: string])[] = [
    [0, name],
    [100, octal(0o600, 7)],
    [108, octal(0, 7)],
    [116, octal(0, 7)],
    [124, octal(size, 11)],
    [136, octal(Math.floor(now / 1000), 11)],
    // The checksum is reckoned as if spaces stood in its place.
    [148, ' '.repeat(8)],
    [156, '0'],
    [257, 'ustar\x0000'],
  ];
  for (const [at, text] of fields) bytes.write(text, at, 'latin1');
  bytes.write(
    octal(
      bytes.reduce((sum, byte) => sum + byte, 0),
      6,
    ),
    148,
    'latin1',
  );
  return bytes;
}
