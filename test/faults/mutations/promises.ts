import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Mutation, replaced } from './mutation.ts';

/** Lines of one file, each with what it becomes, that keep one of the fourteen promises (docs/promises.md). */
interface Kept {
  readonly promise: number;
  /** Below src/, unless it begins with a slash: then it is below the root. */
  readonly file: string;
  /** Test files below test/, without `.test.ts`: those that are expected to notice. */
  readonly tests: readonly string[];
  readonly lines: Readonly<Record<string, string>>;
}

const kept: readonly Kept[] = [
  // No answered delivery is lost.
  {
    promise: 1,
    file: 'inbox/receiver.ts',
    tests: ['inbox/receiver', 'inbox/storing'],
    lines: {
      'await keep({ received_at': 'void keep({ received_at',
      'deliveries.store(group);': 'deliveries.store(group.slice(1));',
    },
  },
  {
    promise: 1,
    file: 'sqlite/database-file.ts',
    tests: ['inbox/deliveries', 'mirror/views'],
    lines: { "db.pragma('synchronous = FULL');": "db.pragma('synchronous = NORMAL');" },
  },
  {
    promise: 1,
    file: 'inbox/byte-budget.ts',
    tests: ['inbox/deliveries'],
    lines: { "where state <> 'waiting' and coding is not 0": "where state <> 'x' and coding is not 0" },
  },
  {
    promise: 1,
    file: 'sync/notifications/apply.ts',
    tests: ['sync/apply', 'sync/notified'],
    lines: {
      'decoded.filter(({ delivery }) => delivery.delivery_id > appliedUpTo),':
        'decoded.filter(({ delivery }) => delivery.delivery_id < appliedUpTo),',
    },
  },
  // 200 only after the delivery is on disk; 503 if it cannot be stored.
  {
    promise: 2,
    file: 'inbox/receiver.ts',
    tests: ['inbox/storing', 'inbox/receiver', 'inbox/hardness'],
    lines: {
      "end('failed', 503);": "end('failed', 200);",
      'if (error instanceof SyncFailed) broken(error);': 'if (error instanceof SyncFailed && !failing) broken(error);',
      'waited_ms < lockPatience.ms)': 'waited_ms > lockPatience.ms)',
    },
  },
  {
    promise: 2,
    file: 'inbox/deliveries.ts',
    tests: ['inbox/storing', 'inbox/deliveries'],
    lines: { 'if (broken !== null) throw broken;': '' },
  },
  {
    promise: 2,
    file: 'inbox/byte-budget.ts',
    tests: ['inbox/deliveries', 'inbox/storing'],
    lines: {
      "if (now() > budget) throw new InboxFull('retention.deliveries_bytes is used up by deliveries not applied yet');":
        '',
    },
  },
  // A forged notification can at most take a known product off sale, until reads decide.
  {
    promise: 3,
    file: 'domain/sale/closure.ts',
    tests: ['domain/closure', 'sync/apply', 'sync/notified'],
    lines: {
      'return unconfirmed < mostMissing(visible);': 'return unconfirmed >= 0 || mostMissing(visible) > 0;',
      "return isSettled && sent_at - closure.available_at >= confirmApartMs ? 'undone' : 'undecided';":
        "return isSettled && sent_at >= closure.available_at ? 'undone' : 'undecided';",
      "if (sent_at <= closure.notified_at || is === 'unknown') return 'undecided';":
        "if (sent_at <= 0 * closure.notified_at || is === 'unknown') return 'undecided';",
    },
  },
  {
    promise: 3,
    file: 'sync/notifications/apply.ts',
    tests: ['sync/apply', 'sync/notified'],
    lines: {
      'const known = notices.filter(({ product_id }) => mirror.catalogue.products.isVisible(product_id));':
        'const known = notices;',
      "if (closing.length > 0) askDecidingReads(ports, idsOf(closing), 'closure-unconfirmed');":
        "if (closing.length > 1) askDecidingReads(ports, idsOf(closing), 'closure-unconfirmed');",
    },
  },
  // The catalogue is never emptied by a bad answer.
  {
    promise: 4,
    file: 'domain/sale/absence.ts',
    tests: ['domain/absence', 'sync/absence'],
    lines: {
      "if (answer === 'gone' && missing_walks >= listsWithout) return": "if (answer === 'gone') return",
      "const since = answer === 'gone' ? last_missing_at : first_missing_at;":
        'const since = 0 * first_missing_at * last_missing_at;',
    },
  },
  {
    promise: 4,
    file: 'domain/evidence/claims.ts',
    tests: ['domain/evidence/claims', 'sync/absence', 'worlds/lies'],
    lines: {
      "if (standing === 'held') return { kind: 'keep', because: 'held' };": '',
      'whole.claiming > limitOf(whole.able)': 'whole.claiming > whole.able',
      'return Math.max(one, other) > mostFactor * Math.min(one, other);': 'return one > other * 1e6;',
    },
  },
  {
    promise: 4,
    file: 'domain/evidence/hold.ts',
    tests: ['domain/evidence/hold', 'sync/absence', 'worlds/lies'],
    lines: { 'return agreed && !isWhole &&': 'return agreed &&' },
  },
  {
    promise: 4,
    file: 'sync/reads/walk.ts',
    tests: ['sync/absence', 'sync/rough-lists', 'sync/absence-worlds'],
    lines: {
      'const complete = repeated === 0 && metAll(this.#count(rows.attempt));': 'const complete = true;',
    },
  },
  // One broken product never delays the others.
  {
    promise: 5,
    file: 'sync/records/settle.ts',
    tests: ['sync/failed-reads', 'sync/fill', 'commands/daemon', 'sync/clock'],
    lines: {
      'const failures = record.failures + 1;': 'const failures = 1;',
      'if (record.job_id !== null && (final || failures >= quarantineAfter))': 'if (record.job_id !== null && final)',
      'again_ms === undefined ? again(failures, chance(), now) : now + again_ms':
        'Math.min(now, again(failures, chance(), now) + (again_ms ?? 0))',
    },
  },
  {
    promise: 5,
    file: 'domain/budget/backoff.ts',
    tests: ['domain/backoff', 'sync/failed-reads'],
    lines: {
      'return chance * firstMs * 2 ** Math.min(failures - 1, 20);': 'return chance * firstMs * Math.min(failures, 1);',
      'if (longest >= dayMs) return now + Math.round(dayMs * (0.9 + 0.1 * chance));':
        'if (longest < 0) return now + Math.round(dayMs * chance);',
    },
  },
  // After any trouble of the service the mirror converges to its state.
  {
    promise: 6,
    file: 'domain/schedule/record.ts',
    tests: ['mirror/availability', 'sync/announced', 'sync/apply', 'sync/wrong-clock'],
    lines: {
      'return stored_at === null || sent_at >= stored_at || stored_at - sent_at > longestReadMs;':
        'return stored_at === null || sent_at > 0 * stored_at;',
    },
  },
  {
    promise: 6,
    file: 'sync/records/settle.ts',
    tests: ['sync/settle', 'sync/failed-reads', 'sync/fill', 'sync/absence', 'sync/off-sale-answers'],
    lines: {
      'stale_at: instant(sent_at + cadence),': 'stale_at: sent_at + 2 * cadence,',
      "if (reading.kind === 'throttled' || reading.kind === 'unreachable') return { kind: 'postponed' };":
        "if (reading.kind === 'throttled') return { kind: 'postponed' };",
      'off_sale_at: read.off_sale_at ?? null,': 'off_sale_at: null,',
    },
  },
  {
    promise: 6,
    file: 'sync/notifications/apply.ts',
    tests: ['sync/apply', 'sync/notified'],
    lines: {
      'if (known.length > 0) mirror.schedule.records.notify(idsOf(known), delivery.received_at, clock.now());':
        'if (known.length > 1) mirror.schedule.records.notify(idsOf(known), delivery.received_at, clock.now());',
    },
  },
  // The rate stays under the service's limit without being told what it is.
  {
    promise: 7,
    file: 'domain/budget/outcomes.ts',
    tests: ['domain/budget', 'upstream/limiter', 'domain/rates'],
    lines: {
      'return Math.max(Math.min(wait, longestWaitMs), 1000 / rate);':
        'return Math.max(Math.min(0 * wait, longestWaitMs), 1000 / rate);',
      'const rate = Math.max(limit * (crowd ? cut.many : cut.single), lowest(budget.ceiling));':
        'const rate = Math.max(budget.rate, lowest(budget.ceiling));',
      'if (pauseLeft(budget, now) > 0) return missed;': '',
    },
  },
  {
    promise: 7,
    file: 'domain/budget/budget.ts',
    tests: ['domain/budget', 'upstream/limiter'],
    lines: {
      'const within = (rate: number) => Math.max(Math.min(rate, ceiling), lowest(ceiling));':
        'const within = (rate: number) => Math.max(rate, lowest(ceiling));',
      'return not_before > now + longestPauseMs ? 0 : Math.max(0, not_before - now);':
        'return Math.max(0 * longestPauseMs, not_before - now);',
    },
  },
  // No image unverified for 14 days is visible.
  {
    promise: 8,
    file: 'domain/catalogue/image.ts',
    tests: ['sync/images', 'mirror/images', 'commands/images'],
    lines: {
      'export const imageLimitMs = 14 * 24': 'export const imageLimitMs = 15 * 24',
      'return now >= verified_at - aheadMs && now < verified_at + imageLimitMs;':
        'return now >= verified_at - 9000 * aheadMs && now < verified_at + imageLimitMs;',
    },
  },
  {
    promise: 8,
    file: '/schema/mirror/views.sql',
    tests: ['mirror/images', 'storefronts/images', 'sync/images', 'mirror/views'],
    lines: {
      '  AND unixepoch()*1000 + 999 < images_verified_at + 1209600000;\n\nCREATE VIEW experience_images':
        ';\n\nCREATE VIEW experience_images',
      '  AND (doubted_at IS NULL OR doubted_at < images_verified_at)\n': '',
      '  AND i.withdrawn_at IS NULL\n  AND (doubted_at': '  AND (doubted_at',
    },
  },
  // Readers never see half an update.
  {
    promise: 9,
    file: 'sqlite/statements.ts',
    tests: ['mirror/statements', 'storage', 'storefronts/readers-under-load'],
    lines: {
      "if (!db.inTransaction) throw new Error('a write outside a transaction');": '',
      'inTransaction.immediate(work) as Result':
        '(db.inTransaction ? inTransaction.immediate(work) : work()) as Result',
    },
  },
  {
    promise: 9,
    file: 'sqlite/database-file.ts',
    tests: ['mirror/opening', 'mirror/next-version', 'mirror/views', 'backup/upgrade'],
    lines: {
      "if (db.inTransaction) db.exec('ROLLBACK');": "if (db.inTransaction) db.exec('COMMIT');",
      'dropForeignViews(db, views);': 'if (version > 1000) dropForeignViews(db, views);',
      'replaceViews(db, views);': 'if (version === 0) replaceViews(db, views);',
    },
  },
  // A storefront that only reads cannot break the daemon.
  {
    promise: 10,
    file: 'sqlite/database-file.ts',
    tests: ['mirror/opening', 'doctor-reader', 'mirror/views'],
    lines: {
      "closeSync(openSync(path, 'wx', mode));":
        "closeSync(openSync(path, 'wx', 0o640));\n    mode satisfies number;\n    return;",
      'readonly: true, fileMustExist: true, timeout: 2000': 'fileMustExist: true, timeout: 2000',
    },
  },
  {
    promise: 10,
    file: 'sqlite/directory.ts',
    tests: ['mirror/opening', 'doctor-reader', 'commands/bad-input', 'mirror/views'],
    lines: {
      'mode & 0o777, make)) setMode(path, mode);': 'mode & 0o777, make)) setMode(path, mode & 0o777);',
      'const kind = networkFileSystem(path, fileSystemType);':
        'const kind = path === "" ? networkFileSystem(path, fileSystemType) : null;',
    },
  },
  {
    promise: 10,
    file: 'sqlite/lock.ts',
    tests: ['mirror/opening', 'doctor-reader', 'commands/bad-input', 'file-watch'],
    lines: { 'chmodSync(path, 0o600);': 'chmodSync(path, 0o666);' },
  },
  // We never start on a database that we do not understand; two daemons never run on one mirror.
  {
    promise: 11,
    file: 'sqlite/look.ts',
    tests: ['commands/bad-input', 'commands/lost-files'],
    lines: { 'if (version > newest)': 'if (version < 0)', 'if (id !== kind.application_id)': 'if (id === 1)' },
  },
  {
    promise: 11,
    file: 'domain/files/files.ts',
    tests: ['commands/bad-input', 'commands/lost-files', 'mirror/feed-id'],
    lines: {
      "return paired === false && expects !== 'any' ? 'foreign-pair' : null;":
        "return paired === true && expects === 'none' ? 'foreign-pair' : null;",
      "if (mirror === 'empty' && backup) return 'mirror-empty';": 'if (backup) return null;',
    },
  },
  {
    promise: 11,
    file: 'sqlite/lock.ts',
    tests: ['commands/bad-input', 'reload', 'file-watch'],
    lines: { "lock.exec('BEGIN EXCLUSIVE');": "lock.exec('BEGIN');" },
  },
  // Secrets reach no log, metric, error or database.
  {
    promise: 12,
    file: 'log.ts',
    tests: ['log', 'sync/subscriptions'],
    lines: {
      '  /(?<=\\/)[\\w-]{43}(?![\\w-])/g,\n': '',
      '  /\\beyJ[\\w-]+\\.[\\w-]+\\.[\\w-]*/g,\n': '',
    },
  },
  {
    promise: 12,
    file: 'upstream/http.ts',
    tests: ['upstream/http', 'config/secrets'],
    lines: {
      'if (status >= 300 && status < 400) {': 'if (status >= 300 && status < 302) {',
    },
  },
  {
    promise: 12,
    file: 'upstream/adapter/service-asker.ts',
    tests: ['adapter/faults', 'upstream/http'],
    lines: {
      'return refusal(status, refused, this.#key);': 'return refusal(status, refused, null);',
      'key: key === null ? null : keyPlaceholder,': 'key: key?.reveal() ?? null,',
    },
  },
  {
    promise: 12,
    file: 'inbox/admission.ts',
    tests: ['inbox/receiver', 'inbox/addresses'],
    lines: { "if (found.standing === 'dropped') return refuse('dropped');": '' },
  },
  // Dates are venue dates.
  {
    promise: 13,
    file: 'domain/time/venue.ts',
    tests: ['domain/venue', 'domain/passed-times'],
    lines: {
      "const date = dateIn(timezone ?? 'UTC', now);\n  return timezone === null":
        "const date = dateIn('UTC', now);\n  return timezone === null",
      '? { earliest: addDays(date, -1), latest: addDays(date, 1) }': '? { earliest: date, latest: date }',
      'dates.set(zone, { date, from: now, until: Math.min(midnight, change) });':
        'dates.set(zone, { date, from: now, until: Math.max(midnight, change) });',
    },
  },
  {
    promise: 13,
    file: 'domain/time/venue-clock.ts',
    tests: ['domain/passed-times', 'mirror/passed-times'],
    lines: {
      'minute * 60_000).last': 'minute * 60_000).first',
      'if (end - start === dayMs) return': 'if (end > start) return',
    },
  },
  // Runs non-root, read-only, without capabilities; ends in order.
  {
    promise: 14,
    file: '/Dockerfile',
    tests: ['containers/containers'],
    lines: {
      'USER 10001:10001\n': '',
      'STOPSIGNAL SIGTERM': 'STOPSIGNAL SIGKILL',
      'VOLUME ["/data", "/state"]': 'VOLUME ["/data"]',
    },
  },
  {
    promise: 14,
    file: 'inbox/receiver.ts',
    tests: ['inbox/storing'],
    lines: { 'await accepted.none();\n': '', 'const closed = listener.close();': 'const closed = Promise.resolve();' },
  },
];

const root = join(import.meta.dirname, '../../..');

/** Every line of every promise as a mutation. Throws where a line is not in its file, or more than once. */
export function promised(): Mutation[] {
  return kept.flatMap(({ promise, file, tests, lines }) => {
    const path = file.startsWith('/') ? file.slice(1) : `src/${file}`;
    const source = readFileSync(join(root, path), 'utf8');
    return Object.entries(lines).map(([from, by]): Mutation => {
      const start = source.indexOf(from);
      if (start < 0 || source.includes(from, start + 1)) throw new Error(`${path}: not once: ${from}`);
      const kind = `promise ${promise}`;
      const files = tests.map((name) => `test/${name}.test.ts`);
      return { ...replaced(path, source, { start, end: start + from.length, by, kind }), tests: files };
    });
  });
}
