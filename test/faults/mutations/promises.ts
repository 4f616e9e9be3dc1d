import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { document } from '../../documents.ts';
import { type Declared, declaredBelow } from './declared.ts';
import { type Mutation, replaced } from './mutation.ts';
import { namedTests } from './named-tests.ts';
import type { Tests } from './scratch.ts';

/** A guarantee, and what shows it. */
export interface Guarantee {
  readonly promise: string;
  /** Test files below test/, without `.test.ts`, or arguments of `npm run`. */
  readonly shown: readonly string[];
}

export const guarantees = parse(document('test/faults/mutations/promises.yaml')) as readonly Guarantee[];

/** Lines that keep a guarantee, by its beginning. */
interface Kept {
  /** Test files below test/, without `.test.ts`, or `FILE > TITLE`: those that notice each of the changes. */
  readonly tests: readonly string[];
  /** By the name of what they stand in (a path, where it is not below src/), each with what it becomes. */
  readonly lines: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

const kept: Readonly<Record<string, Kept>> = {
  'After a fill the mirror equals the service': {
    tests: ['service/decode', 'cycle/fill', 'catalogue/editions'],
    lines: {
      said: { "large_url: 'large'": "large_url: 'medium'" },
      coveredTo: { 'if (covers_to == null) return to;': 'if (covers_to == null) return addDays(to, -1);' },
      rated: { 'rating_count: total }': 'rating_count: total + 1 }' },
    },
  },
  'A kill at any moment': {
    tests: ['cycle/resync', 'commands/kill', 'commands/resync'],
    lines: {
      ResyncTable: { ".where('j.finished_at', 'is', null)": ".where('j.finished_at', 'is not', null)" },
      JobTies: {
        ".set({ job_id: null }).where('job_id', '=', bound.job_id)": ".set({ job_id: null }).where('job_id', '=', 0)",
      },
      resume: { 'state.next_page > 0 &&': 'state.next_page > 1000 &&' },
    },
  },
  'If the service answers for other dates': {
    tests: ['dates/answered-span.rules', 'dates/answer-lengths.rules', 'dates/other-dates'],
    lines: {
      answeredSpan: { 'return days.size === 0 ? null : inCommon(all, named);': 'return all;' },
      namesOtherDates: { 'named.to > asked.to': 'named.to > addDays(asked.to, 400)' },
      windowRequests: {
        ': lengths.coveredTo(asked, answer);': ': answer.covered_to;',
        "if (why === 'left-out' && sameDates(named, astray)) trust = 'own-dates-only';": '',
      },
    },
  },
  'Dates that contradict their product': {
    tests: ['dates/off-sale-answers'],
    lines: {
      judgeOffSale: {
        "return product.sellable ? 'contradicted' : 'undecided';":
          "return product.sellable ? 'undecided' : 'contradicted';",
      },
      contradictedReread: { 'sent_at + waitOf(': 'sent_at + 60 * waitOf(' },
      settleStored: { 'off_sale_at: read.off_sale_at ?? null,': 'off_sale_at: null,' },
    },
  },
  'No view sells a time that has begun': {
    tests: ['kernel/venue', 'dates/passed-times.rules', 'dates/passed-times.store'],
    lines: {
      hasPassed: { 'time <= minute': 'time < minute' },
      venueToday: {
        "const date = dateIn(timezone ?? 'UTC', now);\n  return timezone === null":
          "const date = dateIn('UTC', now);\n  return timezone === null",
        '? { earliest: addDays(date, -1), latest: addDays(date, 1) }': '? { earliest: date, latest: date }',
      },
      dateIn: {
        'dates.set(zone, { date, from: now, until: Math.min(midnight, change) });':
          'dates.set(zone, { date, from: now, until: Math.max(midnight, change) });',
      },
      venueInstants: {
        'minute * 60_000).last': 'minute * 60_000).first',
        'if (end - start === dayMs) return': 'if (end > start) return',
      },
    },
  },
  'An unusable answer changes no cell': {
    tests: ['cycle/failed-reads', 'service/decode', 'service/http'],
    lines: {
      decodeProductDetail: { 'if (entry.product_id !== product_id)': 'if (entry.product_id !== entry.product_id)' },
      read: { 'if (!isUtf8(body))': 'if (body.length < 0)' },
      decodeDay: {
        "if (slot.time === null) throw new WrongShape('a timeslot has no time');": 'if (slot.time === null) continue;',
      },
    },
  },
  'A list that is shorter than its count': {
    tests: ['trust/short-lists'],
    lines: {
      metAll: { 'return met + unusable >= (counted ?? 0);': 'return met + unusable >= 0 * (counted ?? 0);' },
      isSettled: { 'lists >= listsAgreeing': 'lists >= 1' },
      'Walk.#end': { 'if ((!complete && !together) || unusable > 0)': 'if (!complete && !together)' },
    },
  },
  'The catalogue is never emptied by a bad list': {
    tests: ['trust/absence.rules', 'trust/absence', 'catalogue/rough-lists', 'trust/absence-worlds.store'],
    lines: {
      withdrawal: { "if (answer === 'gone' && missing_walks >= listsWithout) return": "if (answer === 'gone') return" },
      answerSince: {
        "const since = answer === 'gone' ? last_missing_at : first_missing_at;":
          'const since = 0 * first_missing_at * last_missing_at;',
      },
      'Walk.#end': {
        'const complete = repeated === 0 && metAll(this.#count(rows.attempt));': 'const complete = true;',
      },
      walkAgainAfter: { '? listsApartMs : null': '? 24 * listsApartMs : null' },
    },
  },
  'What most answers take away at once': {
    tests: ['trust/claims.rules', 'says/conditions/conditions.rules', 'trust/held', 'trust/absence', 'worlds/lies'],
    lines: {
      judgeClaim: {
        "if (standing === 'held') return { kind: 'keep', because: 'held' };": '',
        'whole.claiming > limitOf(whole.able)': 'whole.claiming > whole.able',
      },
      isFar: {
        'return Math.max(one, other) > mostFactor * Math.min(one, other);': 'return one > other * 1e6;',
      },
      judgeHold: { 'return agreed && !isWhole &&': 'return agreed &&' },
      heldClaims: { "? 'error' : 'warning'": "? 'warning' : 'error'" },
    },
  },
  'Images that all vanish at once': {
    tests: ['catalogue/lists', 'catalogue/images'],
    lines: {
      holdVanishedImages: {
        'if (some || entries.length < massLoss) return entries;': 'if (some || entries.length > 0) return entries;',
        'return entries.map((entry) => ({ ...entry, images: null }));':
          'return entries.map((entry) => ({ ...entry, images: [] }));',
      },
      areVanished: { "'image-list') !== null": "'image-list') === null" },
    },
  },
  'Nothing calls an endpoint that told us to wait': {
    tests: ['service/budget.rules', 'service/rests.rules', 'service/rates.rules', 'service/limiter'],
    lines: {
      asked: {
        'return Math.max(Math.min(wait, longestWaitMs), 1000 / rate);':
          'return Math.max(Math.min(0 * wait, longestWaitMs), 1000 / rate);',
      },
      reduced: {
        'const rate = Math.max(limit * (crowd ? cut.many : cut.single), lowest(budget.ceiling));':
          'const rate = Math.max(budget.rate, lowest(budget.ceiling));',
      },
      afterMiss: { 'if (pauseLeft(budget, now) > 0) return missed;': '' },
      resumeBudget: {
        'const within = (rate: number) => Math.max(Math.min(rate, ceiling), lowest(ceiling));':
          'const within = (rate: number) => Math.max(rate, lowest(ceiling));',
      },
      pauseLeft: {
        'return not_before > now + longestPauseMs ? 0 : Math.max(0, not_before - now);':
          'return Math.max(0 * longestPauseMs, not_before - now);',
      },
    },
  },
  'No image is shown 14 days after': {
    tests: ['catalogue/images', 'catalogue/images.store', 'storefronts/images', 'mirror/views'],
    lines: {
      imageLimitMs: { 'export const imageLimitMs = 14 * 24': 'export const imageLimitMs = 15 * 24' },
      mayShow: {
        'return now >= verified_at - aheadMs && now < verified_at + imageLimitMs;':
          'return now >= verified_at - 9000 * aheadMs && now < verified_at + imageLimitMs;',
      },
      'schema/mirror/views.sql': {
        '  AND (doubted_at IS NULL OR doubted_at < images_verified_at)\n': '',
        '  AND i.withdrawn_at IS NULL\n  AND (doubted_at': '  AND (doubted_at',
      },
    },
  },
  'Expired images stay hidden with the daemon down': {
    tests: [
      'storefront/places.store',
      'catalogue/images.store',
      'mirror/views',
      'storefronts/images',
      'storefronts/readers',
    ],
    lines: {
      'schema/mirror/views.sql': {
        '  AND unixepoch()*1000 + 999 < images_verified_at + 1209600000;\n\nCREATE VIEW experience_images':
          ';\n\nCREATE VIEW experience_images',
        '  AND unixepoch()*1000 >= images_verified_at - 86400000\n  AND unixepoch()*1000 + 999 < images_verified_at + 1209600000;\n\nCREATE VIEW experience_images':
          '  AND unixepoch()*1000 + 999 < images_verified_at + 1209600000;\n\nCREATE VIEW experience_images',
        '  AND unixepoch()*1000 + 999 < images_verified_at + 1209600000;\n\nCREATE VIEW availability_error_rate':
          ';\n\nCREATE VIEW availability_error_rate',
      },
    },
  },
  'Every line of `images audit`': {
    tests: ['commands/images'],
    lines: {
      breachesOf: {
        'if (verified_at === null || !mayShow(verified_at, now))': 'if (verified_at === null)',
        'now >= hidden_at + fileGraceMs': 'now < hidden_at + fileGraceMs',
      },
      hiddenAt: { 'return Math.min(withdrawn_at,': 'return Math.max(withdrawn_at,' },
    },
  },
  'No image file is partial': {
    tests: ['service/image-host', 'push/public-address.rules', 'catalogue/image-files', 'service/pictures'],
    lines: {
      publicOnly: { 'if (inside || first === undefined)': 'if (first === undefined)' },
      'ImageInspection.result': {
        "if (!whole && this.#want !== null) return { kind: 'failed', code: 'half', message: 'the file is incomplete' };":
          '',
      },
      'ImageFiles.sweep': { 'this.#remove([file]);': '' },
      judgeHead: { "if (status === 304 && known !== null) return { kind: 'unchanged', sent_at };": '' },
    },
  },
  'Credits are stored as they are sent': {
    tests: ['service/decode', 'catalogue/images.store', 'feed/changes', 'catalogue/images', 'storefronts/images'],
    lines: {
      'ImageTable.replace': {
        'else if (row.credit !== credit && !hidden)': 'else if (row.credit !== credit && hidden)',
        'if (row !== undefined && row.credit !== credit)\n        this.#ledger.credited(':
          'if (row === undefined) this.#ledger.credited(',
      },
      decodeImages: { 'if (credit === unreadableCredit ||': 'if (' },
    },
  },
  'Four readers in PHP, Python and Node': {
    tests: [
      'mirror/statements',
      'files/storage',
      'mirror/opening',
      'mirror/next-version',
      'mirror/views',
      'files/backup/upgrade',
    ],
    lines: {
      writesTo: {
        "if (depth === 0 && !db.inTransaction) throw new Error('a write outside a transaction');": '',
        'inTransaction.immediate(work) as Result':
          '(db.inTransaction ? inTransaction.immediate(work) : work()) as Result',
      },
      migrate: {
        "if (db.inTransaction) db.exec('ROLLBACK');": "if (db.inTransaction) db.exec('COMMIT');",
        "dropViews(db, missing.length === 0 ? views : '');": "if (missing.length > 0) dropViews(db, '');",
        'replaceViews(db, views);': 'if (version === 0) replaceViews(db, views);',
      },
    },
  },
  'PHP, Python, the sqlite3 shell and Node read the same rows': {
    tests: ['mirror/views', 'mirror/contract/binding', 'storefronts/readers', 'storefront/reader'],
    lines: {
      'schema/mirror/views.sql': {
        "CAST(CASE WHEN shut THEN 'not_on_sale' ELSE state END AS TEXT) AS state":
          "CASE WHEN shut THEN 'not_on_sale' ELSE state END AS state",
        'CAST(o.value ->> 0 AS INTEGER) AS variant_id': 'o.value ->> 0 AS variant_id',
        'CAST(images_verified_at + 1209600000 AS INTEGER) AS expires_at\nFROM image i':
          "unixepoch('now') * 1000 + 1 AS expires_at\nFROM image i",
      },
    },
  },
  'HTTP answers never contain a private column': {
    tests: ['admin/reads', 'admin/doors', 'admin/guard'],
    lines: {
      publicColumns: { "column.public !== false && name !== 'document'": "name !== 'document'" },
      written: { '(published.get(read.rows) ?? [])': '(published.get(read.rows) === null ? [] : null)' },
      storefrontRefusal: { 'if (isFromElsewhere(headers) && !isAllowed)': 'if (isFromElsewhere(headers) && !isRead)' },
    },
  },
  'Over 15 days without a read': {
    tests: ['admin/reads', 'storefront/http-cache'],
    lines: {
      lastEqual: { 'if (at(middle) === body) same = middle;': 'if (at(middle) !== body) same = middle;' },
      readRoute: { ".header('expires', httpDate(holds_until))": ".header('expires', httpDate(holds_until + 600))" },
      represent: { '`${reader.info().feed_id}-${hash(': '`${hash(' },
    },
  },
  'Search finds the texts of visible products': {
    tests: [
      'storefront/search.rules',
      'storefront/exact',
      'storefront/search',
      'storefront/words',
      'storefront/places',
    ],
    lines: {
      filterSql: { 'form.sellable && ': 'false && ' },
      halfWidth: { '/ Math.cos(latitude * radians)) / radians + 1e-9': ') / radians + 1e-9' },
      joined: { 'if (word.length > 3 || /^\\d+$/.test(word)) yield': 'if (word.length > 30) yield' },
    },
  },
  'The reader survives an upgrade': {
    tests: ['storefront/reader', 'storefront/plans'],
    lines: {
      'Connection.#look': {
        'if (file !== null && file !== this.#opened.file) this.#reopen();': 'if (file === null) this.#reopen();',
      },
      'Connection.#attempt': {
        'if (this.#isWithin || !isTransient(causeOf(error)))': 'if (this.#isWithin || isTransient(causeOf(error)))',
      },
      boxes: {
        'WHERE max_latitude >= @south AND min_latitude <= @north AND max_longitude >= @west AND min_longitude <= @east\n':
          'WHERE +max_latitude >= @south AND +min_latitude <= @north AND +max_longitude >= @west AND +min_longitude <= @east\n',
      },
    },
  },
  'Every job of the daemon runs when it should': {
    tests: ['daemon/schedule', 'daemon/jobs'],
    lines: {
      tickAfter: { '(Math.floor(from / job.every) + 1) * job.every': '(Math.floor(from / job.every) + 2) * job.every' },
      firstTick: { 'if (job.at_start === true) return now;': '' },
      passJob: { "needs: [...writes, 'time', 'key']": "needs: [...writes, 'time']" },
    },
  },
  'Both files are checked in full once a day': {
    tests: ['kernel/wall-clock', 'daemon/schedule', 'files/file-watch'],
    lines: {
      firstInstant: {
        'return Math.min(regular, Math.max(soonest, missed + (next(missed) - missed) / 2));': 'return regular;',
      },
      wallClock: { 'if (first > from) return first;': 'return first;' },
      watchFiles: { "await check(name, 'full', signal);": "await check(name, 'quick', signal);" },
    },
  },
  'A late answer never overwrites a newer one': {
    tests: ['dates/availability.store', 'mirror/instants', 'cycle/wrong-clock', 'push/apply'],
    lines: {
      mayReplace: {
        'return stored_at === null || sent_at >= stored_at || stored_at - sent_at > longestReadMs;':
          'return stored_at === null || sent_at > 0 * stored_at;',
      },
      wrong: { "typeof rule === 'object' && 'after' in rule": "rule === 'day'" },
      healedTo: { "if (rule === 'absent') return 'NULL';": "if (rule === 'absent') return '@late';" },
    },
  },
  'The daemon never starts on a file': {
    tests: ['commands/bad-input', 'commands/lost-files', 'files/file-watch'],
    lines: {
      conditionOf: { 'if (version > newest)': 'if (version < 0)', 'if (id !== kind.application_id)': 'if (id === 1)' },
      held: { "lock.exec('BEGIN EXCLUSIVE');": "lock.exec('BEGIN');" },
    },
  },
  'A lost or damaged file is noticed': {
    tests: ['commands/lost-files', 'files/file-watch', 'commands/bad-input', 'feed/feed-id'],
    lines: {
      troubleOf: {
        "return paired === false && expects !== 'any' ? 'foreign-pair' : null;":
          "return paired === true && expects === 'none' ? 'foreign-pair' : null;",
        "if (mirror === 'empty' && backup) return 'mirror-empty';": 'if (backup) return null;',
      },
      watchFiles: { 'if (problem !== null) return found(name, problem);': '' },
      planRepair: { "restore: mirror !== 'keep' && facts.backup": "restore: mirror === 'keep' && facts.backup" },
    },
  },
  'No number of the change feed is used twice': {
    tests: ['feed/feed-id', 'feed/change-feed', 'feed/changes'],
    lines: {
      judgeFeed: {
        'const above = ceiling > newest ? ceiling : null;': 'const above = ceiling > newest ? newest : null;',
        "if (newest < witnessed || !same_file) return { feed: 'new', reason: 'older-copy', above };": '',
      },
      ChangeTable: { 'if (seq > this.#feed.ceiling()) this.#feed.reserve(seq + block);': '' },
    },
  },
  'Every freshness target is met': {
    tests: ['schedule/cadence.rules', 'schedule/plan.rules', 'schedule/settle'],
    lines: {
      dueByCadence: { 'end - Math.min(beyond, cadence * pullBack)': 'end + Math.min(beyond, cadence * pullBack)' },
      dueAfterNewCadence: { 'return due.at >= now ? due :': 'return due.at >= 0 * now ? due :' },
      settleStored: { 'stale_at: instant(sent_at + cadence),': 'stale_at: sent_at + 2 * cadence,' },
    },
  },
  'Nothing that is still offered is withdrawn': {
    tests: ['trust/absence.rules', 'trust/absence', 'trust/absence-worlds.store'],
    lines: {
      isThere: { "answerSince(facts) === 'there'": "answerSince(facts) === 'gone'" },
      mustBeAsked: { "return (answer === null || answer === 'there') &&": "return answer === 'there' &&" },
      isGoneBy: { 'facts.missing_walks >= lists': 'facts.missing_walks >= 0 * lists' },
    },
  },
  'Each lane gets its reserved share': {
    tests: ['service/limiter', 'service/budget.rules'],
    lines: {
      afterTurn: {
        'Math.min(mostOwed, credit[lane] + shares[lane])': 'Math.min(mostOwed, credit[lane])',
        'next[taken] = Math.max(0, next[taken] - 1);': '',
      },
      'Limiter.constructor': {
        ': resumeBudget(learned, requests_per_second);': ': startBudget(requests_per_second, this.#started.at);',
      },
    },
  },
  'Old and new values in the change feed': {
    tests: ['feed/feed-and-views', 'feed/changes', 'dates/availability.store'],
    lines: {
      dayChange: {
        "return isAvailable && was.lowest_price !== is.lowest_price ? 'price_changed' : null;":
          "return isAvailable && was.lowest_price === is.lowest_price ? 'price_changed' : null;",
        "if (was === undefined) return isAvailable ? 'date_added' : null;":
          "if (was === undefined) return isAvailable ? null : 'date_added';",
      },
      stateOf: { 'lowest_price: shown.lowest_price }': 'lowest_price: null }' },
    },
  },
  'The change feed has no gaps': {
    tests: ['feed/changes', 'feed/change-feed'],
    lines: {
      ChangeTable: {
        'if (isNewer(kind) && !this.tellsFirstReads()) return;': '',
        'if (dropped > 0) this.#raiseFloor({ last });': '',
        'const from = Math.max(filled.floor, filled.ended) + 1;':
          'const from = Math.max(filled.floor, filled.ended) + 2;',
      },
    },
  },
  'A follower of the feed gets each change once': {
    tests: ['admin/change-stream', 'feed/change-feed'],
    lines: {
      changeStream: {
        'follower.after = next;': '',
        'if (more) makeReady(follower);': '',
        'if (followers.size >= room.streams) {': 'if (followers.size > 2 * room.streams) {',
      },
    },
  },
  'A client that binds text': {
    tests: [
      'mirror/contract/binding',
      'mirror/contract/contract',
      'mirror/contract/models',
      'storefront/documented-binding',
    ],
    lines: {
      'schema/mirror/views.sql': {
        'AS name,\n  CAST(products AS INTEGER) AS products': 'AS name,\n  products',
        "CAST(NULLIF(tier, '') AS TEXT) AS tier": "NULLIF(tier, '') AS tier",
        'CAST(unixepoch()*1000 >= e.stale_at AS INTEGER) AS stale': 'unixepoch()*1000 >= e.stale_at AS stale',
      },
    },
  },
  'An upgrade loses no row of either file': {
    tests: ['mirror/next-version', 'mirror/opening', 'files/backup/upgrade', 'mirror/contract/additive'],
    lines: {
      migrate: { 'replaceViews(db, views);': 'if (views.length === 0) replaceViews(db, views);' },
      dropViews: { 'if (!names.has(name))': 'if (kept.has(name))' },
      refuseUnusable: { 'if (backups.length > 0)': 'if (backups.length < 0)' },
    },
  },
  'Every state of every resource has one action': {
    tests: ['schedule/policies.store', 'mirror/views'],
    lines: {
      'schema/mirror/views.sql': {
        'CROSS JOIN _price_read r ON': 'LEFT JOIN _price_read r ON',
        'WHERE shut < 3 AND from_at <= unixepoch()*1000': 'WHERE from_at <= unixepoch()*1000',
        "WHEN detail_read_at + detail_target_ms IS NULL THEN 'unknown'":
          "WHEN detail_read_at + detail_target_ms IS NULL THEN 'fresh'",
      },
    },
  },
  'A published copy is whole under its name': {
    tests: ['files/snapshot'],
    lines: {
      verify: { 'new Database(copy, { fileMustExist: true })': 'new Database(copy)' },
      publishCopy: {
        'renameSync(temporary, path);': 'writeFileSync(path, readFileSync(temporary));',
        'if (join(realpathSync(dirname(path)), basename(path)) === realpathSync(source))': 'if (path === source)',
      },
      keepSnapshots: { 'if (snapshotDue(facts, every, clock.now()))': 'if (!snapshotDue(facts, every, clock.now()))' },
    },
  },
  'A copy on another host that follows the mirror': {
    tests: ['copies/follow/follow', 'copies/follow/command'],
    lines: {
      tableWriter: { 'if (!isPublished(table) ||': 'if (' },
      'DaemonRows.copy': { 'if (!Number.isSafeInteger(published_at)) throw notOurs(this.#from);': '' },
      'FollowedFile.put': {
        "if (whole) this.#db.exec('COMMIT');": "this.#db.exec('COMMIT');",
        'writer.drop(key);': 'gone.includes(key);',
      },
      RowPages: { 'after < found.floor ||': '' },
    },
  },
  'PostgreSQL shows what the mirror shows': {
    tests: ['copies/postgres/publication', 'copies/postgres/states', 'copies/postgres/beside-readers'],
    lines: {
      'Publication.#putPages': {
        'if (table.gone.length > 0) rows += await dropRows(': 'if (table.gone.length > 9) rows += await dropRows(',
      },
      'Publication.#publishChanges': {
        'const state = rows > 0 ? from.state + 1 : from.state;': 'const state = from.state;',
      },
      'Publication.#copyTable': {
        'if (batch.length === batchRows) await send();\n    }\n    await send();':
          'if (batch.length === batchRows) await send();\n    }',
      },
    },
  },
  'Of several instances one calls the service': {
    tests: ['copies/lease.rules', 'copies/postgres/lease', 'service/limiter'],
    lines: {
      trustedUntil: { 'return attempt_at + lease - margin;': 'return attempt_at + 9 * lease - margin;' },
      claimableIn: {
        'return holder === null ? 0 : Math.max(0, since + lease - now);':
          'return holder === null ? 0 : Math.max(0, since - now) * lease;',
      },
      'Limiter.constructor': { 'mayCall: () => leadership?.trusted() ?? true,': 'mayCall: () => true,' },
    },
  },
  'A backup is whole or absent': {
    tests: ['files/backup/harmed', 'files/backup/backup', 'files/backup/trouble'],
    lines: {
      failureOf: {
        "if (isWithoutRoom(error) || (error instanceof CataloguedError && error.code === 'backup-space')) throw error;":
          '',
      },
      verifyCopy: { 'if (sha256Of(path) !== sha256)': 'if (sha256Of(path) === "")' },
      removeUnfinished: { '!isAlive(Number(pid))': 'isAlive(Number(pid))' },
      compareRows: { 'found[table] !== made[table]': 'found[table] === null' },
      refuseWithoutSpace: { 'if (free >= needed) return;': 'if (free >= 0 * needed) return;' },
    },
  },
  'A clock that jumps either way': {
    tests: ['service/backoff.rules', 'cycle/clock', 'daemon/schedule', 'cycle/resync', 'cycle/failed-reads'],
    lines: {
      recordFailure: {
        'const failures = record.failures + 1;': 'const failures = 1;',
        'if (record.job_id !== null && (final || failures >= quarantineAfter))': 'if (record.job_id !== null && final)',
        'again_ms === undefined ? again(failures, chance(), now) : now + again_ms':
          'Math.min(now, again(failures, chance(), now) + (again_ms ?? 0))',
      },
      jitter: {
        'return chance * firstMs * 2 ** Math.min(failures - 1, 20);':
          'return chance * firstMs * Math.min(failures, 1);',
      },
      inQuarantine: {
        'if (longest >= dayMs) return now + Math.round(dayMs * (0.9 + 0.1 * chance));':
          'if (longest < 0) return now + Math.round(dayMs * chance);',
      },
    },
  },
  'Two minutes after a wrong wall clock': {
    tests: ['kernel/wall-clock', 'daemon/trusted-clock', 'cycle/wrong-clock'],
    lines: {
      judgeJump: { "if (agree(service, boot)) return { believe: 'boot', reason: 'wall-is-wrong' };": '' },
      isImplausible: { 'wall > last + longestDowntimeMs': 'wall > last + 9e15 * longestDowntimeMs' },
      'Belief.look': { 'doubt === null && since >= quietMs': 'doubt === null' },
    },
  },
  'No notification that was answered with 200 is lost': {
    tests: [
      'receiver/receiver',
      'receiver/storing',
      'receiver/deliveries',
      'mirror/views',
      'push/apply',
      'push/notified',
    ],
    lines: {
      Receiver: { 'await desk.keep({ received_at': 'void desk.keep({ received_at' },
      InboxDesk: { 'store(group);': 'store(group.slice(1));' },
      openForWriting: { "db.pragma('synchronous = FULL');": "db.pragma('synchronous = NORMAL');" },
      ByteBudget: { "where state <> 'waiting' and coding is not 0": "where state <> 'x' and coding is not 0" },
      applyDeliveries: {
        'decoded.filter(({ delivery }) => delivery.delivery_id > appliedUpTo),':
          'decoded.filter(({ delivery }) => delivery.delivery_id < appliedUpTo),',
      },
    },
  },
  'When any single write or fsync fails': {
    tests: ['receiver/storing', 'kernel/group-commit', 'files/snapshot', 'receiver/deliveries', 'kernel/fault'],
    lines: {
      Deliveries: { 'if (cause instanceof SyncFailed) this.#broken = cause;': '' },
      'GroupCommit.#failed': { 'if (isNew) for (const { late } of group) late?.();': '' },
      publishCopy: { 'for (const each of [temporary, `${temporary}-journal`]) rmSync(each, { force: true });': '' },
    },
  },
  'A full disk, or another program': {
    tests: ['files/storage', 'cycle/foreign-lock', 'commands/main', 'kernel/fault'],
    lines: {
      'Writer.#isOver': { 'if (this.#isStopped) break;': 'break;' },
      'Writer.#recover': {
        'wait = Math.min(2 * wait, patience[trouble.kind].longest);': 'wait = patience[trouble.kind].longest * 100;',
      },
      'Writer.by': {
        "if (kind === 'disk-full' || this.#clock.monotonic() >= until)":
          "if (kind === 'locked' || this.#clock.monotonic() >= until)",
      },
    },
  },
  '200 only after the delivery is on disk': {
    tests: [
      'receiver/storing',
      'receiver/receiver',
      'receiver/hardness',
      'receiver/deliveries',
      'receiver/failed-start',
    ],
    lines: {
      Receiver: {
        "end('failed', 503);": "end('failed', 200);",
        'await this.#accepted.none();\n': '',
        'const closed = this.#listener?.close();': 'const closed = Promise.resolve();',
      },
      InboxDesk: { 'waited_ms < lockPatience.ms)': 'waited_ms > lockPatience.ms)' },
      LeaderDesk: { 'if (error instanceof SyncFailed) this.#broken(error);': '' },
      Deliveries: { 'if (this.#broken !== null) throw this.#broken;': '' },
      ByteBudget: {
        'if (this.#now() > budget)': 'if (this.#now() > 100 * budget)',
      },
    },
  },
  'A live check answers by its deadline': {
    tests: ['desk/check.rules', 'desk/check'],
    lines: {
      dates: { 'w.shown_stale_at as stale_at': 'w.stale_at' },
      sharedMs: { 'sharedMs = 100;': 'sharedMs = 1e12;' },
      'LiveCall.wait': { 'this.#clock.deadline(deadline_ms, signal)': 'this.#clock.deadline(2 * deadline_ms, signal)' },
      inSlot: { "else if (left < count) reasons.add('not-enough-tickets');": '' },
      'LiveCall.isJoinable': { '!this.#wasSent &&': 'this.#wasSent &&' },
    },
  },
  'No shopper waits for a sweep': {
    tests: ['service/limiter', 'desk/check'],
    lines: {
      connectionsFor: { 'return concurrency + 1;': 'return concurrency;' },
      afterTurn: {
        'const ahead = Math.min(Math.max(seconds * rate, least), most);':
          'const ahead = 0 * seconds * rate * least * most;',
      },
      'Turns.#allowed': {
        "const checkWaits = this.#waiters.waiting('checkout') > 0 &&":
          "const checkWaits = this.#waiters.waiting('checkout') > 9 &&",
      },
    },
  },
  'The result of a failed order counts once': {
    tests: ['desk/orders', 'desk/order-once'],
    lines: {
      reportOrder: { "if (outcome === 'failed' && isGoneCode(code))": "if (outcome !== 'failed' && isGoneCode(code))" },
      recheckOrder: { "return results.every(({ kind }) => kind !== 'unanswered');": 'return results.length > 0;' },
      countOnceAndRecheck: { "if (order.outcome === 'failed' &&": "if (order.outcome === 'confirmed' &&" },
    },
  },
  'A forged notification can at most take': {
    tests: ['trust/absence.rules', 'push/apply', 'push/notified'],
    lines: {
      mayApply: {
        'return unconfirmed < mostMissing(visible);': 'return unconfirmed >= 0 || mostMissing(visible) > 0;',
      },
      judge: {
        "return isSettled && sent_at - closure.available_at >= confirmApartMs ? 'undone' : 'undecided';":
          "return isSettled && sent_at >= closure.available_at ? 'undone' : 'undecided';",
        "if (sent_at <= closure.notified_at || is === 'unknown') return 'undecided';":
          "if (sent_at <= 0 * closure.notified_at || is === 'unknown') return 'undecided';",
      },
      applyNotices: {
        'const known = notices.filter(({ product_id }) => mirror.catalogue.products.isVisible(product_id));':
          'const known = notices;',
        "if (closing.length > 0) askDecidingReads(sync, idsOf(closing), 'closure-unconfirmed');":
          "if (closing.length > 1) askDecidingReads(sync, idsOf(closing), 'closure-unconfirmed');",
      },
    },
  },
  'With only the calls of the specification, a closure is confirmed': {
    tests: ['push/quick-push', 'trust/absence.rules', 'push/apply'],
    lines: {
      saleReads: {
        'return hasOwnReads(policy) ? ownReads(policy) : [walkKinds(policy.extent).primary];':
          'return ownReads(policy);',
      },
      confirmAt: { 'return rereadAfterNews(notified_at, now) ?? now +': 'return now + 9 *' },
      createPlaces: { 'if (fetched_at === null) continue;': 'if (fetched_at !== null) continue;' },
    },
  },
  'A check is answered in the currency that was shown': {
    tests: ['desk/check-meaning', 'desk/check'],
    lines: {
      currencyOf: {
        'if (currencies.includes(wanted)) return wanted;':
          'if (currencies.includes(wanted)) return currencies[0] as typeof wanted;',
      },
      'WindowRead.#store': {
        "if (record.due_reason === 'live-check') this.#applyElsewhere(reading, dates, noticed);": '',
      },
      claimOffSale: { "if (reason === 'live-check' || !isAnswered)": 'if (!isAnswered && isAnswered)' },
    },
  },
  'A receiver that was away, a silent subscription': {
    tests: [
      'push/trust.rules',
      'push/notified',
      'push/subscriptions',
      'push/subscription-step.rules',
      'receiver/receiver',
    ],
    lines: {
      isTrusted: { '(trusted ? distrust : trusts)': '(trusted ? distrust / 4 : trusts)' },
      noteAbsence: {
        'if (last === null || now - last <= policy.notifications.retries) return;':
          'if (last === null || now - last > policy.notifications.retries) return;',
      },
      healGaps: { 'if (mended.length > 0) findClosed(sync);': '' },
      applyNotices: {
        'if (known.length > 0) mirror.schedule.records.notify(idsOf(known), delivery.received_at, clock.now());':
          'if (known.length > 1) mirror.schedule.records.notify(idsOf(known), delivery.received_at, clock.now());',
      },
      CallbackAddresses: { 'if (known === fingerprint) return false;': 'if (known !== fingerprint) return false;' },
    },
  },
  'A rotation that is killed between any two steps': {
    tests: [
      'push/callback-epoch.rules',
      'push/subscription-step.rules',
      'receiver/receiver',
      'push/subscription-rotation',
    ],
    lines: {
      subscriptionStep: {
        "if (rotating && held?.address !== 'current') return { step: 'put', reason: 'rotation' };": '',
      },
      standingOf: { "? 'grace' : 'dropped'": "? 'dropped' : 'grace'" },
      CallbackAddresses: { 'if (last !== null && last.announced_at === null) return last.epoch;': '' },
    },
  },
  'No secret and no callback address in output': {
    tests: ['kernel/log', 'push/subscriptions', 'receiver/receiver'],
    lines: {
      secretForms: {
        '  /(?<=\\/)[\\w-]{43}(?![\\w-])/g,\n': '',
        '  /\\beyJ[\\w-]+\\.[\\w-]+\\.[\\w-]*/g,\n': '',
        '  /-----BEGIN [^-]*-----[^"]*?-----END [^-]*-----/g,\n': '',
      },
      admit: { "if (found.standing === 'dropped') return refuse('dropped');": '' },
    },
  },
  'The page shows the current state': {
    tests: ['admin/page', 'admin/page-product', 'admin/page-search', 'admin/page-changes'],
    lines: {
      markupOf: { 'return escapeHtml(String(value));': 'return String(value);' },
      escapeHtml: { '/[&<>"\']/g': '/[&"\']/g' },
      productRoute: {
        'found.hits.length === 1) return shown(reply, only.product_id)':
          'found.hits.length > 99) return shown(reply, only.product_id)',
      },
    },
  },
  'The reported share of outdated data': {
    tests: ['cycle/outdated-share.rules', 'cycle/audits'],
    lines: {
      outdatedShare: { 'if (audited < fewestAudits)': 'if (audited < 0 * fewestAudits)' },
      alikeness: { 'if (by_chance === 0 || periods.length < 2) return 1;': 'if (by_chance >= 0) return 1;' },
      drawAudits: { 'ahead -= weight;': '' },
    },
  },
  'The weekly report names each event once': {
    tests: ['says/week/week.rules', 'commands/report'],
    lines: {
      turnoverOf: {
        'events.filter(({ at }) => at > filled_at)': 'events.filter(({ at }) => at > 0 * filled_at)',
        'const stillListed = ({ product_id }: Event) => !gone(product_id);':
          'const stillListed = ({ product_id }: Event) => gone(product_id);',
      },
      'WeekReads.read': { 'withdrawn_at < week.to': 'withdrawn_at > 0' },
    },
  },
  'Searches without results identify nobody': {
    tests: ['says/week/week.rules', 'receiver/searches', 'commands/report'],
    lines: {
      fewestSearches: { 'fewestSearches = 5': 'fewestSearches = 1' },
      fruitlessWords: { "words.includes('@') ||": '', '?? []).length > 4': '?? []).length > 40' },
    },
  },
  '`/metrics` reports what `status` reports': {
    tests: ['admin/metrics'],
    lines: {
      metricFamilies: {
        'one(bit(status.daemon.unreachable_since === null))': 'one(bit(status.daemon.unreachable_since !== null))',
        'one(bit(status.daemon.key_refused !== null))': 'one(bit(status.daemon.key_refused === null))',
      },
      exposition: { 'if (options.labelNames.length === 0) metric.remove();': '' },
    },
  },
  '`/openapi.json` names the routes that exist': {
    tests: ['admin/openapi'],
    lines: {
      openApi: { "if (door === 'admin') paths['/resync'] = resyncForms;": '' },
      parametersOf: { "required: place === 'path' || required.includes(name),": "required: place !== 'path'," },
      described: { '...(parameters.length === 0 ? {} : { parameters }),': '' },
    },
  },
  'No spelling of a path, other origin or rebound name': {
    tests: ['admin/guard', 'admin/doors'],
    lines: {
      refusalOf: {
        "if (!isOurs(headers.host, rules)) return refuse(403, 'unknown-host', 'unknown host name: add it to admin.hosts');":
          '',
      },
      isFromElsewhere: { "site !== undefined && site !== 'same-origin'": "site === 'x' && site !== 'same-origin'" },
      isLink: { "return origin === undefined && mode === 'navigate'": "return mode === 'navigate'" },
    },
  },
  "A storefront's token opens the storefront interface": {
    tests: ['admin/reads', 'admin/doors', 'config/secrets'],
    lines: {
      storefrontRefusal: {
        'if (given !== undefined && isRead && public_key !== null': 'if (given !== undefined && public_key !== null',
      },
      guardStorefront: { 'const isRead = readMethods.has(method) &&': 'const isRead =' },
      sharedToken: {
        'admin_token?.reveal() !== storefront_token.reveal()': 'admin_token?.reveal() === storefront_token.reveal()',
      },
    },
  },
  'An order with an id counts once': {
    tests: ['desk/order-once', 'desk/orders'],
    lines: {
      countOnce: {
        'if (known === null) {': 'if (known !== undefined) {',
        'if (known !== contents_sha256)': "if (known === '')",
      },
      ReportedOrders: { 'this.#add({ ...order, order_number });': '' },
    },
  },
  'A storefront that only reads cannot break the daemon': {
    tests: ['mirror/opening', 'says/doctor-reader', 'commands/bad-input', 'mirror/views', 'files/file-watch'],
    lines: {
      createFile: {
        "closeSync(openSync(path, 'wx', mode));":
          "closeSync(openSync(path, 'wx', 0o640));\n    mode satisfies number;\n    return;",
      },
      openForReading: { 'readonly: true, fileMustExist: true, timeout: 2000': 'fileMustExist: true, timeout: 2000' },
      prepareDirectory: {
        'mode & 0o777, make)) setMode(path, mode);': 'mode & 0o777, make)) setMode(path, mode & 0o777);',
        'const kind = networkFileSystem(path, fileSystemType);':
          'const kind = path === "" ? networkFileSystem(path, fileSystemType) : null;',
      },
      held: { 'chmodSync(path, 0o600);': 'chmodSync(path, 0o666);' },
    },
  },
  'No secret is printed, redirects are not followed': {
    tests: ['service/http', 'config/secrets', 'service/adapter/faults'],
    lines: {
      judgeHead: { 'if (status >= 300 && status < 400) {': 'if (status >= 300 && status < 302) {' },
      'ServiceAsker.refusalOf': {
        'return refusal(status, refused, this.#key);': 'return refusal(status, refused, null);',
      },
      'ServiceAsker.constructor': { 'key: key === null ? null : keyPlaceholder,': 'key: key?.reveal() ?? null,' },
    },
  },
};

const root = join(import.meta.dirname, '../../..');

/** The guarantees, each with how many lines of it are changed. */
export function linesOfRows(): { readonly row: string; readonly lines: number }[] {
  return guarantees.map(({ promise }) => {
    const own = Object.entries(kept).filter(([row]) => promise.startsWith(row));
    return { row: promise, lines: own.flatMap(([, { lines }]) => Object.values(lines).flatMap(Object.keys)).length };
  });
}

/** Every line of every promise as a mutation. Throws where a line does not stand in what it is said to stand in, or twice. */
export function promised(): Mutation[] {
  const declared = declaredBelow(root);
  return Object.entries(kept).flatMap(([row, { tests, lines }]) =>
    Object.entries(lines).flatMap(([name, changes]) =>
      Object.entries(changes).map(([from, by]): Mutation => {
        const { file, start } = placeOf(declared, name, from);
        const source = readFileSync(join(root, file), 'utf8');
        const mutation = replaced(file, source, { start, end: start + from.length, by, kind: row });
        return { ...mutation, tests: testsOf(tests) };
      }),
    ),
  );
}

function testsOf(names: readonly string[]): Tests[] {
  return namedTests(names.map((name) => name.replace(/^\S+/, (file) => `test/${file}.test.ts`)));
}

/** The one place of a line within all that has the name. */
function placeOf(
  declared: ReadonlyMap<string, readonly Declared[]>,
  name: string,
  line: string,
): { readonly file: string; readonly start: number } {
  const whole = { file: name, name, start: 0, end: Number.POSITIVE_INFINITY };
  const named = /[/]|^Dockerfile$/.test(name) ? [whole] : (declared.get(name) ?? []);
  if (named.length === 0) throw new Error(`${name} is declared nowhere in src`);
  const places = named.flatMap(({ file, start, end }) => {
    const text = readFileSync(join(root, file), 'utf8').slice(start, end);
    const found = text.split(line).slice(0, -1);
    return found.map((_, index) => ({ file, start: start + found.slice(0, index + 1).join(line).length }));
  });
  const [place, ...others] = places;
  if (place === undefined)
    throw new Error(`${name} in ${named.map(({ file }) => file).join(', ')}: not there: ${line}`);
  if (others.length > 0)
    throw new Error(`${name} in ${places.map(({ file }) => file).join(', ')}: more than once: ${line}`);
  return place;
}
