import { ago, duration, megabytes } from '../../kernel/format.ts';
import { type ConditionKind, type ConditionKinds, type FoundCondition, minute } from './condition.rules.ts';
import type { ConditionFacts, StorageFacts } from './facts.rules.ts';

/** Time after which another program's lock is shown. Most are released at once. */
const lockShownMs = 5000;
/** Size from which a reader must hold the write-ahead log: a checkpoint would have emptied it long before. */
const walHeldBytes = 256 * 1024 * 1024;
/** PostgreSQL may restart within this time. */
const databaseRestartMs = 10_000;
/** Duration from which a transaction of PostgreSQL was probably forgotten, or is a report that belongs on a replica. */
const vacuumHeldMs = 10 * minute;

/** Conditions of the two files, their copies and the disk below them. */
export const ofFiles = {
  'mirror-lost': {
    about: 'Mirror',
    headline: 'The mirror file has been missing',
    severity: 'error',
    means: '`mirror.db` was removed or replaced while in use. Nothing is read. Deliveries wait in the inbox',
    todo: 'Put the file back, or stop the daemon and run `catalogued repair`; find out what moves files there',
    found: lost('mirror', 'its file was removed or replaced while in use: reading has stopped and deliveries wait'),
  },
  'mirror-damaged': {
    about: 'Mirror',
    headline: 'The mirror file has been damaged',
    severity: 'error',
    means: 'an inspection found `mirror.db` damaged. Nothing is read. Deliveries wait in the inbox',
    todo: 'Stop the daemon and run `catalogued repair`; check the disk and other programs that write there',
    found: damaged('mirror', 'its file is damaged: reading has stopped and deliveries wait'),
  },
  'inbox-lost': {
    about: 'Inbox',
    headline: 'The inbox file has been missing',
    severity: 'error',
    means: '`inbox.db` was removed or replaced. Deliveries are answered 503. Reads keep the mirror up to date',
    todo: 'Put the file back, or stop the daemon and run `catalogued repair`',
    found: lost('inbox', 'its file was removed or replaced while in use: deliveries are answered 503'),
  },
  'inbox-damaged': {
    about: 'Inbox',
    headline: 'The inbox file has been damaged',
    severity: 'error',
    means: 'an inspection found `inbox.db` damaged. Deliveries are answered 503',
    todo: 'Stop the daemon and run `catalogued repair`',
    found: damaged('inbox', 'its file is damaged: deliveries are answered 503'),
  },
  'disk-full': {
    about: 'Disk',
    headline: 'The disk has been full',
    severity: 'error',
    means:
      'a file cannot be written. Storefronts go on reading. Deliveries that cannot be stored are answered 503 and come again',
    todo: 'Free some space, or raise the quota of the daemon’s user (`quota -s`) or `LimitFSIZE`. Work then continues by itself',
    found: ({ storage }) => (storage === null ? null : diskFull(storage)),
  },
  'disk-low': {
    about: 'Disk',
    headline: 'The disk has been nearly full',
    severity: 'warning',
    means: 'less than 200 MiB or twice the write-ahead log is free, on a small disk less than 5 %: bulk reads pause',
    todo: 'Free some space before the disk is full',
    depends_on: ['disk-full'],
    found: ({ storage }) => (storage === null ? null : diskLow(storage)),
  },
  'file-locked': {
    about: 'Locked',
    headline: 'Another program has locked a file',
    severity: 'error',
    means: 'another program holds the write lock of our file: nothing is stored',
    todo: 'End its transaction, often in a forgotten `sqlite3` shell: `sudo catalogued doctor --reader` lists who has the mirror open',
    visible_after_ms: lockShownMs,
    found: ({ storage }) => (storage === null ? null : fileLocked(storage)),
  },
  'readers-shut-out': {
    about: 'Readers',
    headline: 'Storefronts have been unable to read the mirror',
    severity: 'error',
    means: 'the group or mode of the mirror or its directory was changed: storefronts can no longer read it',
    todo: 'Run the command that is shown, as root or as the owner; test it with `sudo catalogued doctor --reader --user www-data`. If the change was intended, restart the daemon',
    depends_on: ['mirror-lost'],
    found: ({ tried }) => tried?.shut_out ?? null,
  },
  'descriptors-low': {
    about: 'Process',
    headline: 'File descriptors have been running out',
    severity: 'warning',
    means: '90 % of the daemon’s file descriptors are in use. When none is free, calls and deliveries fail',
    todo: 'Restart the daemon with a higher limit: `LimitNOFILE=65536` below `[Service]` (`systemctl edit catalogued`), or `ulimit -n 65536` in its shell',
    found: ({ tried }) => descriptorsLow(tried?.descriptors ?? null),
  },
  crowded: {
    about: 'Interface',
    headline: 'An interface has had too many connections',
    severity: 'warning',
    means:
      'an interface has closed connections to make room: first those that have shown no key, of the address with the most of them. Or it has refused event streams. Checks are answered meanwhile',
    todo: 'If the address is your proxy’s or your storefront’s, find what leaks connections there; otherwise block it in the firewall',
    found: ({ tried }) => tried?.crowded ?? null,
  },
  'wal-held': {
    about: 'Log',
    headline: 'A reader has held up the write-ahead log',
    severity: 'warning',
    means: 'the write-ahead log has grown beyond 256 MiB, because a reader holds an old snapshot',
    todo: 'End its transaction: `sudo catalogued doctor --reader` lists who has the mirror open',
    visible_after_ms: 10 * minute,
    found: ({ wal_bytes }) =>
      wal_bytes <= walHeldBytes
        ? null
        : { since: null, says: `the write-ahead log has ${megabytes(wal_bytes)}: a reader holds an old snapshot` },
  },
  'database-behind': {
    about: 'Database',
    headline: 'PostgreSQL has been behind',
    severity: 'warning',
    means: 'nothing could be published into PostgreSQL for ten seconds: its rows are outdated, the file is not',
    todo: 'See the log and `catalogued database check`. What was missed is published by itself',
    depends_on: ['mirror-lost', 'mirror-damaged'],
    found: ({ database, at: now }) => {
      const since = database?.failing_since ?? null;
      return since === null || now < since + databaseRestartMs
        ? null
        : { since, says: 'PostgreSQL is not published into: what is read there is old' };
    },
  },
  'standby-missing': {
    about: 'Database',
    headline: 'No other instance has stood by',
    severity: 'warning',
    means: 'no other instance stands by: if this host is lost, nothing is received or read',
    todo: 'Start the others (`catalogued run`), or remove `instance.advertise` if this is the only instance',
    depends_on: ['database-behind'],
    visible_after_ms: minute,
    found: ({ database }) =>
      database?.standbys === 0 ? { since: null, says: 'this instance leads, and no other one stands by' } : null,
  },
  'database-unsynchronised': {
    about: 'Database',
    headline: 'A standby of PostgreSQL has been missing',
    severity: 'warning',
    means:
      '`synchronous_standby_names` of PostgreSQL names a missing server: commits wait for it, or are lost with the primary',
    todo: 'See `pg_stat_replication` on the primary: bring that server back, or name another one',
    visible_after_ms: minute,
    found: ({ database }) =>
      database?.unsynchronised === 1
        ? { since: null, says: 'PostgreSQL is told to wait for a synchronous standby, and has none' }
        : null,
  },
  'database-vacuum-held': {
    about: 'Database',
    headline: 'A transaction has been open in PostgreSQL',
    severity: 'warning',
    means:
      'a transaction has been open in PostgreSQL for ten minutes: old row versions cannot be removed, and the tables grow',
    todo: 'End it: `SELECT pid, usename, xact_start FROM pg_stat_activity ORDER BY xact_start`. The writer needs `pg_monitor` to see those of other users',
    found: ({ database, at: now }) =>
      database !== null && database.vacuum_held_ms >= vacuumHeldMs
        ? {
            since: now - database.vacuum_held_ms,
            says: `a transaction has been open in PostgreSQL for ${duration(database.vacuum_held_ms)}: its tables grow`,
          }
        : null,
  },
  'snapshot-failing': {
    about: 'Snapshot',
    headline: 'No snapshot has been published',
    severity: 'warning',
    means: 'no snapshot can be published; readers elsewhere see an old one',
    todo: 'See the log: the directory, its permissions or the disk. Under systemd add it to `ReadWritePaths`',
    depends_on: ['disk-full', 'mirror-lost', 'mirror-damaged'],
    found: ({ snapshot }) =>
      snapshot === null || snapshot.failing_since === null
        ? null
        : { since: snapshot.failing_since, says: 'none can be published: readers on other hosts have an old one' },
  },
  'snapshot-late': {
    about: 'Snapshot',
    headline: 'The snapshot has been late',
    severity: 'warning',
    means: 'the snapshot for readers elsewhere is missing, or older than two periods of `snapshot.every`',
    todo: 'Check that the daemon runs, and the job `snapshot` in `catalogued jobs`',
    depends_on: ['snapshot-failing', 'mirror-lost', 'mirror-damaged', 'daemon-silent'],
    found: ({ snapshot, at: now }) =>
      snapshot === null || snapshot.late === 0
        ? null
        : {
            since: null,
            says: `the one for readers on other hosts ${snapshot.published_at === null ? 'was never published' : `was published ${ago(snapshot.published_at, now)}`}${because(snapshot.failure)}`,
          },
  },
  'backup-failing': {
    about: 'Backup',
    headline: 'No backup has been made',
    severity: 'warning',
    means: 'no backup can be made; the last one grows old',
    todo: 'See the log: `backup.directory`, its permissions or the disk. Then run `catalogued backup`',
    depends_on: ['disk-full', 'mirror-lost', 'mirror-damaged'],
    found: ({ backup: { failing_since, failure } }) =>
      failing_since === null
        ? null
        : { since: failing_since, says: `none can be made; the last one grows old${because(failure)}` },
  },
  'backup-late': {
    about: 'Backup',
    headline: 'The backup has been late',
    severity: 'warning',
    means: 'the newest backup is older than two intervals of `backup.at`, or there is none',
    todo: 'Check that the daemon runs, and the job `backup` in `catalogued jobs`; `catalogued backup` makes one now',
    depends_on: ['backup-failing', 'mirror-lost', 'mirror-damaged', 'daemon-silent'],
    found: ({ backup, at: now }) =>
      backup.late === 0
        ? null
        : {
            since: null,
            says: `${backup.made_at === null ? 'none was ever made' : `the newest was made ${ago(backup.made_at, now)}`}, in ${backup.directory}${because(backup.failure)}`,
          },
  },
  'backup-unusable': {
    about: 'Backup',
    headline: 'The newest backup has been unusable',
    severity: 'error',
    means: 'the newest backup could not be restored in its weekly test',
    todo: '`catalogued backup --list` shows why: check that disk, then make another with `catalogued backup`',
    found: ({ backup: { tried_at, tried_failure } }) =>
      tried_failure === null ? null : { since: tried_at, says: 'the newest could not be restored on trial' },
  },
} satisfies ConditionKinds;

/** Returns what keeps files from being written or makes bulk reads pause, worst first, if it has lasted long enough. */
export function storageSays(storage: StorageFacts, now: number): string[] {
  const held = [diskFull(storage), shownFrom(fileLocked(storage), now - lockShownMs), diskLow(storage)];
  return held.flatMap((found) => (found === null ? [] : [found.says]));

  function shownFrom(found: FoundCondition | null, latest: number): FoundCondition | null {
    return found?.since != null && found.since <= latest ? found : null;
  }
}

function lost(name: 'mirror' | 'inbox', says: string): ConditionKind['found'] {
  return ({ files }) => {
    const since = files?.find((file) => file.name === name)?.lost_since ?? null;
    return since === null ? null : { since, says };
  };
}

function damaged(name: 'mirror' | 'inbox', says: string): ConditionKind['found'] {
  return ({ files }) => {
    const since = files?.find((file) => file.name === name)?.damaged_since ?? null;
    return since === null ? null : { since, says };
  };
}

function diskFull({ trouble }: StorageFacts): FoundCondition | null {
  if (trouble?.kind !== 'disk-full') return null;
  const { path, since, missing_bytes } = trouble;
  const missing = missing_bytes === null ? '' : `, ${megabytes(missing_bytes)} more must become free`;
  return { since, says: `the disk is full, ${path} cannot be written${missing}` };
}

function fileLocked({ trouble }: StorageFacts): FoundCondition | null {
  if (trouble?.kind !== 'locked') return null;
  return { since: trouble.since, says: `another program is writing ${trouble.path}: waiting for it` };
}

function diskLow({ directories, low_since }: StorageFacts): FoundCondition | null {
  const low = directories.filter((each) => each.low === 1);
  if (low.length === 0) return null;
  const said = low.map(
    ({ path, free_bytes, low_below_bytes }) =>
      `${megabytes(free_bytes)} free in ${path}: bulk reads pause below ${megabytes(low_below_bytes)}`,
  );
  return { since: low_since, says: said.join('; ') };
}

function because(failure: string | null): string {
  return failure === null ? '' : `: ${failure}`;
}

/** Share of the limit that counts as full. Closer to the limit every second connection would already fail. */
const descriptorsFull = 0.9;

function descriptorsLow(found: NonNullable<ConditionFacts['tried']>['descriptors']): FoundCondition | null {
  if (found === null) return null;
  const { used, limit } = found;
  if (used !== null && used < descriptorsFull * limit) return null;
  const says =
    used === null ? `all ${limit} file descriptors are in use` : `${used} of ${limit} file descriptors are in use`;
  return { since: null, says };
}
