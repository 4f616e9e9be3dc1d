import { dirname, resolve } from 'node:path';
import { Command, InvalidArgumentError } from 'commander';
import { readSecretFile } from '../config/secrets.ts';
import { DaemonRows } from '../copies/follow/daemon-rows.ts';
import { follow } from '../copies/follow/follower.ts';
import { PublishedRows } from '../copies/follow/published-rows.ts';
import { connectPostgres } from '../copies/postgres/connect.ts';
import { systemClock } from '../kernel/clock.ts';
import { createLog } from '../kernel/log.ts';
import { prepareDirectory } from '../kernel/sqlite/directory.ts';
import type { Io } from './terminal/io.ts';

interface Options {
  readonly from: string;
  readonly tokenFile?: string;
  readonly schema: string;
  readonly every: number;
}

export function followCommand(io: Io): Command {
  return new Command('follow')
    .description(
      'Keeps FILE equal to the mirror of a daemon on another host, until stopped. Storefronts here read FILE like a mirror. Needs no configuration; creates the file and its folder. The daemon needs rows.publish: true and storefront.listen, or a database.',
    )
    .argument('<file>', 'the copy that storefronts read')
    .requiredOption(
      '--from <url>',
      "the daemon's storefront address: https://host:port, http://host:port or unix:/path; or the database that it publishes into, or a replica: postgres://user@host/database",
    )
    .option(
      '--token-file <file>',
      'a file with the token of the storefront interface (over TCP), or with the password of the database',
    )
    .option('--schema <name>', 'the schema of a database in which the mirror is published', 'catalogued')
    .option('--every <ms>', 'milliseconds between two requests for changes', milliseconds, 250)
    .addHelpText(
      'after',
      '\nExamples:\n  catalogued follow --from https://catalogue.example.com --token-file token /var/lib/shop/mirror.db\n  catalogued follow --from unix:/run/catalogued/storefront.sock ./copy.db\n  catalogued follow --from postgres://follower@db.example.com/shop --token-file password ./copy.db\n\nHow old the copy is: mirror_info.published_at. Exit 77: the token is refused; 78: the file is no such copy, or no rows are published.',
    )
    .action(async (file: string, { from, tokenFile, schema, every }: Options) => {
      io.runsUntilStopped();
      const text = tokenFile === undefined ? null : readSecretFile(tokenFile, '--token-file', 'owner').trim();
      const token = text === null ? null : { reveal: () => text };
      await using stack = new AsyncDisposableStack();
      const source = /^postgres(ql)?:/.test(from)
        ? new PublishedRows(
            stack.use(await connectPostgres({ url: withPassword(from, text), schema, connections: 1 })),
            schema,
          )
        : new DaemonRows(from, token);
      const log = createLog('info', io.stdout);
      const path = resolve(file);
      prepareDirectory(dirname(path), 0o3770);
      await follow({ source, path, every, clock: systemClock, log, own: process.pid }, io.signal);
    });
}

function withPassword(url: string, password: string | null): string {
  if (password === null) return url;
  return url.replace(/^(postgres(?:ql)?:\/\/[^:@/]+)(?::[^@/]*)?@/, `$1:${encodeURIComponent(password)}@`);
}

function milliseconds(value: string): number {
  const ms = Number(value);
  if (!/^\d{1,7}$/.test(value) || ms < 10) throw new InvalidArgumentError('expected milliseconds, from 10 on.');
  return ms;
}
