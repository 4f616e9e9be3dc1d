import { describe, expect, it } from 'vitest';
import type { JobRuns } from '../../../src/daemon/job-runs.rules.ts';
import { conditionsOf, metSince, noPeriods } from '../../../src/says/conditions/decide.rules.ts';
import type { ConditionFacts, Watched } from '../../../src/says/conditions/facts.rules.ts';
import type { OperationKind, OperationOutcome } from '../../../src/says/conditions/outcome.rules.ts';
import { type ConditionCode, conditionCodes, conditionTable } from '../../../src/says/conditions/table.rules.ts';
import { reachedFromOutside, watchedNow } from '../../../src/says/conditions/watched.rules.ts';
import { verdictOf } from '../../../src/says/status/verdict.ts';
import type { HeldClaims } from '../../../src/trust/hold.rules.ts';
import { emptyInbox, healthy, now } from './healthy-facts.ts';

const minute = 60_000;

const stale: ConditionFacts = {
  ...healthy,
  freshness: healthy.freshness.map((line) => ({ ...line, stale: 3, met: 0 as const })),
};
const refused = { how: 'unreachable', says: 'the connection was refused' } as const;
const away = (since: number) => ({
  unreachable_since: since,
  away: refused,
  key_refused: null,
  key_refused_since: null,
  asked: null,
  calls: 0,
});

/** Most products answered as off sale, which is held. */
const heldSale = (more: Partial<HeldClaims> = {}): HeldClaims => ({
  subject: 'sale-status',
  since: now - 3 * 60 * minute,
  state: 'held',
  able: 242,
  claiming: 40,
  decision: null,
  decided_until: null,
  ended_at: null,
  likeness: null,
  examples: [7, 8, 9].map((product_id) => ({
    product_id,
    title: null,
    edition: 'en/EUR',
    part: 0,
    shown: 1,
    said: 0,
    shown_as: null,
    said_as: null,
  })),
  ...more,
});

function check(facts: ConditionFacts, expected: readonly ConditionCode[], periods = noPeriods): void {
  expect(conditionsOf(facts, periods).map(({ code }) => code)).toEqual(expected);
}

describe('the table of conditions', () => {
  it('names as causes only conditions that it has, and none is its own cause', () => {
    for (const code of conditionCodes) {
      const seen = new Set<string>();
      for (const causes = [code as string]; ; ) {
        const next = causes.pop();
        if (next === undefined) break;
        expect(conditionCodes).toContain(next);
        for (const cause of conditionTable[next as ConditionCode].depends_on ?? []) {
          expect(cause, `${code} is a cause of itself`).not.toBe(code);
          if (!seen.has(cause)) causes.push(cause);
          seen.add(cause);
        }
      }
    }
  });

  it('says what to do about each in a sentence that begins so, and ends without a full stop', () => {
    for (const { todo, means, about, headline } of Object.values(conditionTable)) {
      expect(todo).toMatch(/^[A-Z`].{15,}[^.]$/);
      expect(means).toMatch(/^[a-z0-9`].{15,}[^.]$/);
      expect(about).toMatch(/^[A-Z][a-z]{1,8}$/);
      // A duration follows.
      expect(headline).toMatch(/^[A-Z].* (?:has|have) .*[^.]$/);
    }
  });
});

describe('a fact of the status', () => {
  const file = { name: 'mirror', lost_since: null, damaged_since: null } as const;
  const since = now - 60 * minute;
  const snapshot = { published_at: null, late: 0, failure: null, failing_since: null } as const;
  const directory = { path: '/m', free_bytes: 1, low_below_bytes: 2, low: 1 } as const;
  const job: JobRuns = {
    name: 'pass',
    every_ms: 1000,
    at: null,
    zone: null,
    next_at: now,
    running: 0,
    overdue: 0,
    runs: 9,
    failures: 1,
    last_run_at: since,
    last_ms: 1,
    failure: 'no',
    kept_from: null,
  };
  const tried = {
    ...{ unreachable: null, unshown: null, mute: null, shut_out: null, descriptors: null, crowded: null },
    public_address: null,
    clock_offset_ms: 2 * minute,
  };
  const failed = (operation: OperationKind): OperationOutcome => ({
    operation,
    last_ok_at: null,
    failed_at: since,
    noticed_at: now,
    affected: 7,
    detail: null,
  });
  const unreadable = {
    ...{ resource: 'availability', member: 'dates[].availability', example: '"many"', id: 7, since },
    ...{ records: 9, kept: 0, able: 700 },
  };
  const remarked = (member: string) => ({ ...unreadable, resource: 'products', member, example: '-5', records: 1 });
  const subscription = {
    status: 'active',
    covered_products: 12,
    trusted: 1,
    broken: 0,
    failing: 0,
    not_understood_since: null,
  } as const;
  const facts: readonly (readonly [ConditionCode, Partial<ConditionFacts>])[] = [
    ['mirror-lost', { files: [{ ...file, lost_since: since }] }],
    ['mirror-damaged', { files: [{ ...file, damaged_since: since }] }],
    ['inbox-lost', { files: [file, { ...file, name: 'inbox', lost_since: since }] }],
    ['inbox-damaged', { files: [file, { ...file, name: 'inbox', damaged_since: since }] }],
    ['disk-low', { storage: { trouble: null, directories: [directory], low_since: since } }],
    ['database-behind', { database: { standbys: 1, unsynchronised: 0, vacuum_held_ms: 0, failing_since: since } }],
    ['snapshot-failing', { snapshot: { ...snapshot, failure: 'no', failing_since: since } }],
    ['snapshot-late', { snapshot: { ...snapshot, late: 1 } }],
    ['backup-failing', { backup: { ...healthy.backup, failure: 'no', failing_since: since } }],
    ['backup-unusable', { backup: { ...healthy.backup, tried_at: since, tried_failure: 'no' } }],
    ['deliveries-not-understood', { subscriptions: [{ ...subscription, not_understood_since: since }] }],
    ['closures-held', { closures: { held: 3, mostly_false: 0 } }],
    ['hints-not-confirmed', { closures: { held: 0, mostly_false: 1 } }],
    ['clock-off', { tried }],
    ['dates-capped', { outcomes: [failed('date-cap')] }],
    ['crowded', { tried: { ...tried, clock_offset_ms: null, crowded: { since, says: 'no room' } } }],
    ['job-failing', { jobs: [job] }],
    ['images-unverified', { images_unconfirmed: { products: 7, since } }],
    ['other-dates', { records: { ...healthy.records, unanswered: 5, unanswered_products: 5 } }],
    ['members-unreadable', { unreadable: [unreadable] }],
    ['subscription-silent', { subscriptions: [{ ...subscription, trusted: 0 }] }],
    ['subscription-broken', { subscriptions: [subscription, { ...subscription, broken: 1 }] }],
    ['subscription-failing', { subscriptions: [{ ...subscription, failing: 1 }] }],
    ['images-vanished', { outcomes: [failed('image-list')] }],
    ['images-disk', { outcomes: [failed('image-disk')] }],
    ['images-refused', { unreadable: [remarked('images[].large (not public)')] }],
    ['images-expire', { unreadable: [remarked('images[] (ends too soon)')] }],
    ['prices-refused', { unreadable: [remarked('price (below zero)')] }],
    ['checks-flood', { outcomes: [failed('live-checks')] }],
    ['clock-doubted', { outcomes: [failed('clock')] }],
    [
      'not-for-this-key',
      {
        not_offered: [
          { path: 'variants', since: 0, refusal: 'key', set: 'service.profile.paths.variants: null' },
          { path: 'tags', since: 0, refusal: 'path', set: 'service.profile.paths.tags: null' },
        ],
      },
    ],
    ['zone-rules-differ', { outcomes: [failed('zone-rules')] }],
    ['old-address-used', { outcomes: [failed('callback-address')] }],
    ['subscription-taken', { outcomes: [failed('subscription-address')] }],
  ];

  it('is none: operations that work again, fewer than five products with other dates, an address unused for a day', () => {
    const worked = { last_ok_at: now, failed_at: null, noticed_at: null, affected: 0 };
    const outcomes = facts.flatMap(([, fact]) => fact.outcomes ?? []).map((each) => ({ ...each, ...worked }));
    expect(outcomes).toHaveLength(8);
    check({ ...healthy, outcomes }, []);
    check({ ...healthy, records: { ...healthy.records, unanswered: 9, unanswered_products: 4 } }, []);
    const used = failed('callback-address');
    check({ ...healthy, outcomes: [{ ...used, noticed_at: now - 25 * 60 * minute }] }, []);
    check({ ...healthy, subscriptions: [subscription] }, []);
  });

  it('has since when an operation fails, and what that concerns', () => {
    expect(conditionsOf({ ...healthy, outcomes: [failed('image-disk')] })).toMatchObject([
      { since, says: expect.stringContaining('image files of 7 products') },
    ]);
    const silent = [1, 2].map(() => ({ ...subscription, trusted: 0 as const }));
    expect(conditionsOf({ ...healthy, subscriptions: silent })).toMatchObject([
      { says: expect.stringContaining('24 products') },
    ]);
  });

  it.each(facts)('is a condition: %s', (code, fact) => {
    const met = new Map([[code, since]]);
    check({ ...healthy, ...fact }, [code], { ...noPeriods, met });
  });
});

describe('what is held', () => {
  const day = 24 * 60 * minute;
  const found = (more: Partial<HeldClaims>) => conditionsOf({ ...healthy, held: [heldSale(more)] })[0] ?? null;

  it('is told with its kind, its share, three examples and what to type', () => {
    expect(found({})).toMatchObject({
      code: 'held',
      severity: 'warning',
      since: now - 3 * 60 * minute,
      says: 'sale-status, products off sale: 40 of 242 records (17 %, the limit is 24), such as product 7, 8, 9; the mirror shows what it had',
      todo: expect.stringContaining('type catalogued held approve KIND to believe it, or catalogued held reject KIND'),
    });
  });

  it('is told without a share, once no record claims it', () => {
    expect(found({ state: 'ended', claiming: 0, able: 192, examples: [], ended_at: now - minute })?.says).toBe(
      'sale-status, products off sale: believed less than a day ago, because the service insisted',
    );
  });

  it('is an error after a day, unless a person has decided', () => {
    const since = now - day;
    expect(found({ since })).toMatchObject({ severity: 'error' });
    expect(found({ since: since + 1 })).toMatchObject({ severity: 'warning' });
    const rejected = { since, decision: 'rejected', decided_until: now + 1 } as const;
    expect(found(rejected)).toMatchObject({ severity: 'warning', says: expect.stringContaining('; rejected: ') });
    expect(found({ ...rejected, decided_until: now })).toMatchObject({ severity: 'error' });
  });

  it('that is shown and only reported is a warning that says so', () => {
    expect(found({ state: 'reported', since: now - 2 * day })).toMatchObject({
      severity: 'warning',
      says: expect.stringMatching(/; shown, and reported for a day$/),
    });
  });

  it('is a warning after an agreement, and nothing once what a person approved is claimed no more', () => {
    expect(found({ state: 'ended', since: now - 2 * day, claiming: 0 })).toMatchObject({
      severity: 'warning',
      says: expect.stringMatching(/: believed less than a day ago, because the service insisted$/),
    });
    const approved = { state: 'asking', decision: 'approved', decided_until: now + day } as const;
    expect(found({ ...approved, claiming: 3 })?.says).toMatch(/; approved: each is asked once more, and believed$/);
    expect(found({ ...approved, claiming: 0 })).toBeNull();
  });
});

describe('what a daemon has watched', () => {
  /** The conditions after a status for each minute. */
  const shownAfter = (...statuses: Partial<ConditionFacts>[]) => {
    let watched: Watched | null = null;
    let periods = noPeriods;
    let at = now - statuses.length * minute;
    let facts = healthy;
    for (const status of statuses) {
      at += minute;
      watched = watchedNow(watched, { ...healthy, ...status, at });
      facts = { ...healthy, ...status, at, watched };
      periods = { ...periods, met: metSince(facts, periods) };
    }
    return conditionsOf(facts, periods).map(({ code }) => code);
  };
  const repeated = (status: (each: number) => Partial<ConditionFacts>, times: number) =>
    Array.from({ length: times }, (_, each) => status(each));
  const calling = (calls: number) => ({ daemon: { ...away(0), unreachable_since: null, away: null, calls } });
  const waiting = (applied: number) => ({ inbox: { ...emptyInbox, waiting: 3, applied } });
  const filling = (never_fetched: number) => ({
    filled_at: null,
    records: { ...healthy.records, never_fetched },
  });

  it('calls without a record that is read are no progress after half an hour; with one they are, and idle they are none', () => {
    expect(shownAfter(...repeated((each) => calling(each), 30))).toEqual([]);
    expect(shownAfter(...repeated((each) => calling(each), 31))).toEqual(['no-progress']);
    const read = (each: number) => ({ records: { ...healthy.records, last_read_at: now - each } });
    expect(shownAfter(...repeated((each) => ({ ...calling(each), ...read(each) }), 60))).toEqual([]);
    expect(shownAfter(...repeated(() => calling(7), 600), calling(30))).toEqual([]);
    // Fewer than twenty calls prove nothing.
    expect(shownAfter(calling(0), ...repeated(() => calling(19), 31))).toEqual([]);
    expect(shownAfter(calling(0), ...repeated(() => calling(20), 31))).toEqual(['no-progress']);
  });

  it('deliveries that wait are stuck when none was applied for ten minutes', () => {
    expect(shownAfter(...repeated(() => waiting(7), 11))).toEqual(['deliveries-stuck']);
    expect(shownAfter(...repeated((each) => waiting(each), 60))).toEqual([]);
  });

  it('a fill does not end when no further record was read for the first time within an hour', () => {
    expect(shownAfter(...repeated((each) => filling(100 - each), 60))).toEqual([]);
    expect(shownAfter(...repeated(() => filling(2), 60))).toEqual([]);
    expect(shownAfter(...repeated(() => filling(2), 61))).toEqual(['fill-endless']);
  });

  it('a delivery that could not be stored is told of for a quarter of an hour', () => {
    const failing = (failed: number) => ({ inbox: { ...emptyInbox, receiver: { failed } } });
    expect(shownAfter(failing(0), failing(1))).toEqual(['deliveries-refused']);
    expect(shownAfter(failing(0), ...repeated(() => failing(1), 16))).toEqual(['deliveries-refused']);
    expect(shownAfter(failing(0), ...repeated(() => failing(1), 17))).toEqual([]);
  });
});

describe('our own public address', () => {
  const silent = { result: 'failed', answered: false, message: '', since: now } as const;
  const nothing = { subscriptions: [{ status: 'active' }], last_delivery_at: now - 1 };
  it.each([
    ['is reached where the test passes', { ...silent, result: 'passed' } as const, nothing, 'yes'],
    ['is not where another program answers', { ...silent, answered: true }, nothing, 'no'],
    ['cannot be told where nobody answers, as without a hairpin', silent, nothing, 'cannot-tell'],
    [
      'is not where the service calls a subscription degraded, too',
      silent,
      { ...nothing, subscriptions: [{ status: 'degraded' }] },
      'no',
    ],
    ['is reached where a delivery came since', silent, { ...nothing, last_delivery_at: now }, 'yes'],
  ])('%s', (_, test, heard, expected) => {
    expect(reachedFromOutside(test, heard)).toBe(expected);
  });
});

describe('a condition', () => {
  it('is none where nothing is wrong', () => check(healthy, []));

  it('is shown as soon as it has lasted long enough, and not before', () => {
    check({ ...healthy, daemon: away(now - 9_999) }, []);
    check({ ...healthy, daemon: away(now - 10_000) }, ['service-unreachable']);
  });

  it('of which the facts do not say since when lasts from the look that met it first', () => {
    const long = { ...healthy, wal_bytes: 300 * 1024 * 1024 };
    check(long, []);
    const met = metSince({ ...long, at: now - 10 * minute }, noPeriods);
    check(long, ['wal-held'], { ...noPeriods, met });
    expect(metSince(long, { ...noPeriods, met })).toEqual(new Map([['wal-held', now - 10 * minute]]));
    expect(metSince(healthy, { ...noPeriods, met })).toEqual(new Map());
  });

  it('that has a cause is folded into it, which becomes as severe', () => {
    check(stale, ['freshness-missed']);
    check({ ...stale, daemon: away(now - 1000) }, ['freshness-missed']);
    const [root, ...others] = conditionsOf({ ...stale, daemon: away(now - 2 * minute) });
    expect(others).toEqual([]);
    expect(root).toMatchObject({ code: 'service-unreachable', severity: 'error', explains: ['freshness-missed'] });
  });

  it('that began before another condition is not caused by it', () => {
    const met = (ago: number) => ({ ...noPeriods, met: new Map([['freshness-missed', now - ago] as const]) });
    const facts = { ...stale, daemon: away(now - 2 * minute) };
    check(facts, ['service-unreachable', 'freshness-missed'], met(10 * minute));
    // Both were seen at inspections, a minute apart.
    check(facts, ['service-unreachable'], met(3 * minute));
    check(facts, ['service-unreachable'], met(minute));
    // A subscription that is mute is so since its last delivery, which came before any cause.
    const tried = {
      ...{ unreachable: null, unshown: null, shut_out: null, descriptors: null, crowded: null },
      clock_offset_ms: null,
    };
    const mute = { subscriptions: ['all'], since: now - 60 * minute };
    const unreached = { result: 'failed', answered: true, message: 'no', since: now - 20 * minute } as const;
    const silent = { ...healthy, inbox: emptyInbox, tried: { ...tried, mute, public_address: unreached } };
    check(silent, ['receiver-unreachable']);
  });

  it('of a refused key holds since the first refusal, and not since it was seen', () => {
    const daemon = {
      ...away(now),
      away: null,
      unreachable_since: null,
      key_refused: 'no',
      key_refused_since: now - 39_000,
    };
    expect(conditionsOf({ ...healthy, daemon })).toMatchObject([{ code: 'key-refused', since: now - 39_000 }]);
  });

  it('that no backup can be made says why', () => {
    const facts: ConditionFacts = {
      ...healthy,
      backup: { ...healthy.backup, failure: 'the disk filled up', failing_since: now },
    };
    expect(conditionsOf(facts)).toMatchObject([
      { code: 'backup-failing', says: 'none can be made; the last one grows old: the disk filled up' },
    ]);
  });

  it('that few file descriptors are left is the cause of a service that cannot be reached', () => {
    const tried = {
      ...{ clock_offset_ms: null, unshown: null, mute: null, shut_out: null, crowded: null, public_address: null },
      unreachable: { since: now - 2 * minute, says: 'connect EMFILE' },
    };
    const of = (used: number | null) =>
      conditionsOf({ ...healthy, tried: { ...tried, descriptors: { used, limit: 64 } } });
    expect(of(57)).toMatchObject([{ code: 'service-unreachable' }]);
    for (const used of [58, null])
      expect(of(used)).toMatchObject([{ code: 'descriptors-low', explains: ['service-unreachable'] }]);
    expect(of(58)[0]?.todo).toContain('LimitNOFILE=65536');
  });

  it('that is the consequence of a consequence is folded into the root', () => {
    const full = { kind: 'disk-full', path: '/m', since: now, missing_bytes: null } as const;
    const facts: ConditionFacts = {
      ...healthy,
      storage: { trouble: full, directories: [], low_since: now },
      backup: { ...healthy.backup, late: 1, failure: 'no room', failing_since: now },
    };
    expect(conditionsOf(facts)).toMatchObject([{ code: 'disk-full', explains: ['backup-failing', 'backup-late'] }]);
  });

  it('that is only a warning and acknowledged leaves the verdict true; an error does not', () => {
    const verdict = (facts: ConditionFacts, code: ConditionCode) => {
      const conditions = conditionsOf(facts, { ...noPeriods, acknowledged: new Map([[code, 'we know']]) });
      expect(conditions.map(({ acknowledged }) => acknowledged)).toEqual(['we know']);
      return verdictOf({ filled_at: 0, records: { all: 1, never_fetched: 0 }, conditions }, now).state;
    };
    expect(verdict({ ...healthy, held: [heldSale()] }, 'held')).toBe('true');
    expect(verdict(stale, 'freshness-missed')).toBe('broken');
  });
});
