import { jobTrouble } from '../../daemon/job-runs.rules.ts';
import { counted, duration, number, printable, resourceLabel } from '../../kernel/format.ts';
import { isClockOff } from '../../schedule/clock-doubt.rules.ts';
import { nameOf } from '../../schedule/offer.rules.ts';
import { blocksFill } from '../../trust/short-list.rules.ts';
import { type ConditionKinds, fails, minute, stopsReads } from './condition.rules.ts';

/** Milliseconds after which an outage is shown: a connection is lost now and then. */
const awayShownMs = 10_000;

/**
 * Number of calls without a record that was read from which it is no accident. Each failing record explains
 * `callsOfFailing` further calls.
 */
const fruitlessCalls = 20;
const callsOfFailing = 12;

/** Jobs whose failures have a condition of their own. */
const toldElsewhere: ReadonlySet<string> = new Set(['snapshot', 'backup', 'restore-drill']);

/** Conditions of the service, the way to it, the clock, and the daemon itself. */
export const ofService = {
  'key-refused': {
    about: 'Key',
    headline: 'The service has refused the key',
    severity: 'error',
    means:
      'the service refused the key for three records, at more than one path. Nothing is read. One small call a minute tests the key',
    todo: 'Compare `service.api_key_file` (or `CATALOGUED_API_KEY`) with the key that the service gave you; ask the service whether it was revoked',
    found: ({ daemon }) =>
      daemon === null || daemon.key_refused === null
        ? null
        : {
            since: daemon.key_refused_since,
            says: `the service refuses it: ${printable(daemon.key_refused).replace(/\.$/, '')}`,
          },
  },
  'not-for-this-key': {
    about: 'Key',
    headline: 'The key has had no access to some resources',
    severity: 'warning',
    means:
      'the service refuses a whole resource to this key (401 or 403) and answers for others. If it was never read, it is requested once a day and has no freshness target; if it was read before, it is requested every ten minutes and keeps it',
    todo: 'Ask the service for access. If you do not need the resource, set its path to null, as the text names it and `catalogued probe` proposes it',
    depends_on: ['key-refused'],
    found: ({ not_offered }) => {
      const refused = not_offered.filter(({ refusal }) => refusal === 'key');
      if (refused.length === 0) return null;
      return {
        since: Math.min(...refused.map(({ since }) => since)),
        says: `this key may not read ${refused.map(({ path, set }) => `${nameOf[path]} (${set})`).join(', ')}`,
      };
    },
  },
  'service-unreachable': {
    about: 'Service',
    headline: 'The service has been away',
    severity: 'warning',
    means: 'the service cannot be reached, or answers no call. Storefronts go on reading',
    todo: 'Check the network and `service.base_url`; if others cannot reach the service either, wait',
    visible_after_ms: awayShownMs,
    depends_on: ['descriptors-low'],
    found: ({ daemon, tried }) => {
      const { unreachable_since = null, away = null } = daemon ?? {};
      if (away?.how === 'unusable') return null;
      const found = away === null ? (tried?.unreachable ?? null) : { since: unreachable_since, says: away.says };
      if (found === null) return null;
      const what = away?.how === 'silent' ? 'it does not answer' : 'it cannot be reached';
      return { since: found.since, says: `${what} (${printable(found.says)}): readers keep what is mirrored` };
    },
  },
  'service-unusable': {
    about: 'Service',
    headline: 'The service has given no usable answer',
    severity: 'warning',
    means:
      'the service answers, but no answer can be used: a login page or a proxy answers in its place, or the service is broken',
    todo: 'Open `service.base_url` from this host. A login page or a redirect comes from the network or a proxy; otherwise tell the service',
    visible_after_ms: awayShownMs,
    found: ({ daemon }) =>
      daemon?.away?.how !== 'unusable'
        ? null
        : { since: daemon.unreachable_since, says: `${printable(daemon.away.says)}: readers keep what is mirrored` },
  },
  'service-pause': {
    about: 'Service',
    headline: 'The service has asked us to wait',
    severity: 'warning',
    means:
      'the service asked for a pause of more than a minute, for maintenance (503) or because it throttles (429). All calls wait. After a minute one call tests whether all have to; after a 429 another one does in 2 to 15 minutes. Live checks share one such test in 30 seconds',
    todo: 'Wait. If it happens often, lower `budget.requests_per_second` and ask the service about its limits',
    visible_after_ms: awayShownMs,
    found: ({ daemon, at: now }) => {
      if (daemon === null || daemon.away !== null || daemon.asked === null) return null;
      const { until, next_try_at } = daemon.asked;
      if (until - now <= minute) return null;
      const attempt =
        next_try_at === null
          ? 'no call is made until then'
          : `all calls wait, and one call is tried ${next_try_at <= now ? 'now' : `in ${duration(next_try_at - now)}`}`;
      return {
        since: null,
        says: `the service asks us to wait another ${duration(until - now)}: ${attempt}; readers keep what is mirrored`,
      };
    },
  },
  'answers-unusable': {
    about: 'Answers',
    headline: 'Answers of the service have been unusable',
    severity: 'error',
    means:
      'answers about a list or about many products cannot be used: other names of rows or ids, no page numbers, another language, no JSON. Such a list does not fill the mirror',
    todo: 'If the text names your adapter, correct it, try it with `catalogued probe --adapter FILE --recorded DIR`, and run `catalogued reload`. Else run `catalogued probe`, and compare its lines with `service.profile`. If no key describes the service, write an adapter (docs/service.md); if it answered otherwise before, tell the service',
    depends_on: ['key-refused', 'service-unreachable', 'service-unusable', 'service-pause'],
    found: ({ unusable }) => {
      if (unusable === null) return null;
      const { resource, failure, records } = unusable;
      const of = records === 1 ? '' : ` (${number(records)} records)`;
      return {
        since: null,
        says: `answers cannot be used, ${resourceLabel(resource).toLowerCase()}${of}: ${printable(failure)}`,
      };
    },
  },
  'dates-capped': {
    about: 'Dates',
    headline: 'The service has answered for few dates at a time',
    severity: 'warning',
    means:
      'the service ends its answers after less than a quarter of the dates asked for, for three windows in a row. Every window is read in many calls, and freshness targets may be missed',
    todo: 'Ask the service why. `catalogued probe` shows how many days one answer covers; `catalogued plan` whether the call budget is enough for so many calls',
    found: fails(
      'date-cap',
      (days) => `one answer covers ${days === 1 ? 'one day' : `${number(days)} days`}: a window takes many calls`,
    ),
  },
  'checks-flood': {
    about: 'Checks',
    headline: 'Live checks have used most of the call budget',
    severity: 'warning',
    means: 'live checks have used more than half of the call budget for a minute; other reads wait',
    todo: 'Check when the shopper looks and at the order, not on every page view. Name each caller (`--caller`), so that none uses the whole budget',
    found: fails(
      'live-checks',
      (calls) =>
        `live checks have used most of the call budget, ${counted(calls, 'call')} in the last minute: other reads wait`,
    ),
  },
  'clock-doubted': {
    about: 'Clock',
    headline: 'The clock has been wrong',
    severity: 'error',
    means:
      'the machine’s clock is wrong or has jumped. Work continues by the time since boot, and nothing is deleted by age',
    todo: 'Set the clock and keep it right: `timedatectl set-ntp true`',
    found: fails(
      'clock',
      () =>
        'the machine’s clock is wrong or has jumped: the daemon uses the time since boot and the service’s time, and deletes nothing by age',
    ),
  },
  'clock-off': {
    about: 'Clock',
    headline: 'Our clock has differed from the service’s',
    severity: 'warning',
    means:
      'our clock and the service’s differ by more than a minute. Usually ours is wrong, and readers judge by it what is stale',
    todo: 'Set the clock and keep it right: `timedatectl set-ntp true`. If it is right, tell the service',
    depends_on: ['clock-doubted'],
    visible_after_ms: 5 * minute,
    found: ({ tried }) => {
      const offset = tried?.clock_offset_ms ?? null;
      // Smaller differences are corrected in tokens, and harm nobody.
      if (!isClockOff(offset)) return null;
      const side = offset > 0 ? 'behind' : 'ahead of';
      return { since: null, says: `it is ${duration(Math.abs(offset))} ${side} the service’s` };
    },
  },
  'zone-rules-differ': {
    about: 'Zones',
    headline: 'The rules of a time zone have differed',
    severity: 'warning',
    means:
      'the zone files of this machine and the rules of Node set the clocks of a zone in use differently within 400 days. The mirror follows the newer release. If it is not known which is newer, a time has passed when it has by either. Other programs follow the files, or rules of their own: Debian’s PHP reads the files for `DateTimeZone`, and not for `IntlDateFormatter`',
    todo: 'Update what is named. Zone files: `apt-get update && apt-get install tzdata`, which the daemon notices within the hour. Node: install its newest release and restart the daemon. In a container: build the image again',
    found: fails('zone-rules', (_, detail) => detail),
  },
  'no-progress': {
    about: 'Progress',
    headline: 'No record has been read',
    severity: 'error',
    means: 'calls are made, but for half an hour no record was read',
    todo: '`catalogued status` shows why reads fail, `catalogued probe` what the service answers. Then restart the daemon and report it',
    depends_on: [...stopsReads, 'clock-doubted'],
    visible_after_ms: 30 * minute,
    found: ({ daemon, watched, short_lists, records: { all, failing } }) => {
      // Reading the pages of an incomplete list does not count as a read. That list has a condition of its own.
      if (short_lists.some(blocksFill)) return null;
      const fruitless = daemon === null || watched === null ? 0 : daemon.calls - watched.reads.calls;
      const explained = failing > all / 2 ? 0 : failing * callsOfFailing;
      return watched === null || fruitless < Math.max(fruitlessCalls, explained)
        ? null
        : {
            since: watched.reads.since,
            says: `${counted(fruitless, 'call')} ${fruitless === 1 ? 'was' : 'were'} made, and no record was read`,
          };
    },
  },
  'fill-endless': {
    about: 'Filling',
    headline: 'The first fill has stood still',
    severity: 'error',
    means: 'the first fill stands still: for an hour no further record was read for the first time',
    todo: '`catalogued status` names records that the service never answers; `catalogued explain PRODUCT` shows why',
    depends_on: ['no-progress', ...stopsReads, 'disk-low', 'clock-doubted'],
    visible_after_ms: 60 * minute,
    found: ({ filled_at, records, watched, short_lists }) =>
      filled_at !== null || watched === null || short_lists.some(blocksFill)
        ? null
        : {
            since: watched.fill.since,
            says: `${number(records.never_fetched)} of ${counted(records.all, 'record')} ${records.never_fetched === 1 ? 'was' : 'were'} never read, and they do not become fewer`,
          },
  },
  'job-failing': {
    about: 'Jobs',
    headline: 'A job has been failing or late',
    severity: 'warning',
    means: 'a job of the daemon failed or is overdue',
    todo: 'See `catalogued jobs` and the log; `catalogued jobs run NAME` tries it now',
    depends_on: [
      'disk-full',
      'file-locked',
      'mirror-lost',
      'mirror-damaged',
      'inbox-lost',
      'inbox-damaged',
      'clock-doubted',
    ],
    visible_after_ms: 15 * minute,
    found: ({ jobs, at: now }) => {
      const failing = (jobs ?? []).filter(({ name }) => !toldElsewhere.has(name));
      const said = failing.flatMap((job) => jobTrouble(job, now) ?? []);
      return said.length === 0 ? null : { since: null, says: said.join('; ') };
    },
  },
  'daemon-silent': {
    about: 'Daemon',
    headline: 'The daemon has not answered',
    severity: 'error',
    means: 'the daemon runs but does not answer: nothing may be refreshed',
    todo: 'Look in its log, then restart it',
    found: ({ daemon_answers }) =>
      daemon_answers === false
        ? { since: null, says: 'running, but not answering: what is shown is read from the file' }
        : null,
  },
  'daemon-stopped': {
    about: 'Daemon',
    headline: 'No daemon has run',
    severity: 'error',
    means: 'no daemon runs, and no command works in its place: nothing is refreshed, and no delivery is received',
    todo: 'Start it: `systemctl start catalogued`, or `catalogued run`. Its log says why it ended',
    found: ({ daemon_answers }) =>
      daemon_answers === null ? { since: null, says: 'not running: nothing is refreshed' } : null,
  },
} satisfies ConditionKinds;
