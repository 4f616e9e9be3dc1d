import { execFileSync } from 'node:child_process';
import { appendFileSync, chownSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A PostgreSQL of a test's own, in a temporary directory, reached by a unix socket alone: no port, no password. */
export interface StartedPostgres extends Disposable {
  /** Where its socket is. */
  readonly directory: string;
  /** Of its superuser. */
  readonly url: string;
  /** The same for another user or database. */
  urlOf(user: string, database?: string): string;
  /** Fast: connections are broken off; immediate: as if it was killed. */
  stop(how?: 'fast' | 'immediate'): void;
  start(): void;
  /** Runs `meanwhile`, and then brings back what the server had before: its last commits are lost. */
  losing(meanwhile: () => Promise<void>): Promise<void>;
  /** Runs a program of PostgreSQL's. */
  run(program: string, ...args: string[]): void;
  /** Runs a statement that may stand in no transaction. */
  sql(statement: string): void;
}

/** The newest of Debian's, which are in no PATH; null: none is installed. */
function postgresPrograms(): string | null {
  const root = '/usr/lib/postgresql';
  try {
    const newest = readdirSync(root).toSorted((a, b) => Number(b) - Number(a))[0];
    return newest === undefined ? null : join(root, newest, 'bin');
  } catch {
    return null;
  }
}

export interface StartOptions {
  /** Lines of postgresql.conf. */
  readonly settings?: readonly string[];
  /** Networks whose hosts are let in. */
  readonly trusted?: readonly string[];
}

/** One that follows another, and can take its place. */
export interface StartedStandby extends StartedPostgres {
  promote(): void;
}

/** Makes a cluster and starts it: about a second. */
export function startPostgres({ settings = [], trusted = [] }: StartOptions = {}): StartedPostgres {
  const cluster = clusterIn(settings);
  const { run, data } = cluster;
  run('initdb', '-D', data, '-U', 'owner', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync');
  for (const network of trusted) appendFileSync(join(data, 'pg_hba.conf'), `host all all ${network} trust\n`);
  cluster.start();
  return cluster;
}

/** Copies a running one, and follows it under a name that its `synchronous_standby_names` may have. */
export function startStandby(primary: StartedPostgres, name: string): StartedStandby {
  const cluster = clusterIn([]);
  const { run, data } = cluster;
  const address = `host=${primary.directory} user=owner application_name=${name}`;
  run('pg_basebackup', '-D', data, '-d', address, '-c', 'fast', '--no-sync', '-R');
  cluster.start();
  return { ...cluster, promote: () => run('pg_ctl', '-D', data, '-w', 'promote') };
}

/** A directory for a cluster that is not made yet. */
function clusterIn(settings: readonly string[]) {
  const programs = postgresPrograms();
  if (programs === null) throw new Error('no PostgreSQL is installed');
  const directory = mkdtempSync(join(tmpdir(), 'catalogued-pg-'));
  // It refuses to run as root.
  const root = process.getuid?.() === 0;
  if (root) {
    const [uid, gid] = ['-u', '-g'].map((flag) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' })));
    chownSync(directory, uid as number, gid as number);
  }
  const run = (program: string, ...args: string[]) => {
    const command = [join(programs, program), ...args];
    const [first = '', ...rest] = root
      ? ['setpriv', '--reuid=postgres', '--regid=postgres', '--init-groups', ...command]
      : command;
    execFileSync(first, rest, { stdio: ['ignore', 'ignore', 'pipe'], cwd: directory });
  };
  const data = join(directory, 'data');
  const said = ['listen_addresses=', `unix_socket_directories=${directory}`, 'fsync=off', ...settings];
  const options = said.map((each) => `-c "${each}"`).join(' ');
  const start = () => run('pg_ctl', '-D', data, '-l', join(directory, 'log'), '-w', '-o', options, 'start');
  const stop = (how = 'fast') => run('pg_ctl', '-D', data, '-w', '-m', how, 'stop');
  const urlOf = (user: string, database = 'postgres') =>
    `postgres://${user}@/${database}?host=${encodeURIComponent(directory)}`;
  return {
    directory,
    data,
    run,
    url: urlOf('owner'),
    urlOf,
    start,
    stop,
    losing: async (meanwhile: () => Promise<void>) => {
      const kept = `${data}.kept`;
      const copy = (from: string, to: string) => execFileSync('cp', ['-a', from, to]);
      stop();
      copy(data, kept);
      start();
      await meanwhile();
      stop('immediate');
      rmSync(data, { recursive: true });
      copy(kept, data);
      start();
    },
    sql: (statement: string) => run('psql', '-h', directory, '-U', 'owner', '-d', 'postgres', '-qc', statement),
    [Symbol.dispose]: () => {
      try {
        stop('immediate');
      } catch {
        // It was stopped.
      }
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
