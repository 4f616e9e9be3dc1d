import { describe, expect, it } from 'vitest';
import { conditionsOf, metSince, noMemory } from '../../src/domain/conditions/decide.ts';
import type { ConditionFacts } from '../../src/domain/conditions/facts.ts';
import { type ConditionCode, conditionCodes, conditionTable } from '../../src/domain/conditions/table.ts';
import { verdictOf } from '../../src/status/verdict.ts';

const now = Date.parse('2026-11-21T12:00:00Z');
const minute = 60_000;

/** A mirror of which nothing is wrong. */
const healthy: ConditionFacts = {
  filled_at: 0,
  wal_bytes: 0,
  freshness: [
    { resource: 'availability', tier: 'near', records: 12, stale: 0, expired: 0, promise_ms: 360 * minute, kept: 1 },
  ],
  removals: null,
  contradicted: null,
  error_rate: { checks: 100, wrong: 1, orders: 0, orders_wrong: 0, rate: 0.01 },
  alarms: [],
  snapshot: null,
  backup: { late: 0, failure: null, made_at: now, directory: '/b' },
  daemon: { unreachable_since: null, key_refused: null },
  storage: { trouble: null, directories: [] },
  jobs: [],
};
const stale: ConditionFacts = {
  ...healthy,
  freshness: healthy.freshness.map((line) => ({ ...line, stale: 3, kept: 0 as const })),
};
const away = (since: number) => ({ unreachable_since: since, key_refused: null });

function check(facts: ConditionFacts, expected: readonly ConditionCode[], memory = noMemory): void {
  expect(conditionsOf(facts, now, memory).map(({ code }) => code)).toEqual(expected);
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
    for (const { todo, means, about } of Object.values(conditionTable)) {
      expect(todo).toMatch(/^[A-Z`].{15,}[^.]$/);
      expect(means).toMatch(/^[a-z0-9`].{15,}[^.]$/);
      expect(about).toMatch(/^[A-Z][a-z]{1,8}$/);
    }
  });
});

describe('a condition', () => {
  it('is none where nothing is wrong', () => check(healthy, []));

  it('is shown as soon as it has lasted long enough, and not before', () => {
    check({ ...healthy, daemon: away(now - minute + 1) }, []);
    check({ ...healthy, daemon: away(now - minute) }, ['service-unreachable']);
  });

  it('of which the facts do not say since when lasts from the look that met it first', () => {
    const long = { ...healthy, wal_bytes: 300 * 1024 * 1024 };
    check(long, []);
    const met = metSince(long, now - 10 * minute, noMemory);
    check(long, ['wal-held'], { ...noMemory, met });
    expect(metSince(long, now, { met })).toEqual(new Map([['wal-held', now - 10 * minute]]));
    expect(metSince(healthy, now, { met })).toEqual(new Map());
  });

  it('that has a cause is folded into it, which becomes as severe', () => {
    check(stale, ['promise-broken']);
    check({ ...stale, daemon: away(now - 1000) }, ['promise-broken']);
    const [root, ...others] = conditionsOf({ ...stale, daemon: away(now - 2 * minute) }, now);
    expect(others).toEqual([]);
    expect(root).toMatchObject({ code: 'service-unreachable', severity: 'error', explains: ['promise-broken'] });
  });

  it('that is the consequence of a consequence is folded into the root', () => {
    const full = { kind: 'disk-full', path: '/m', since: now, missing_bytes: null } as const;
    const noted = (kind: string) => ({ kind, raised_at: now, products: 0 });
    const facts: ConditionFacts = {
      ...healthy,
      storage: { trouble: full, directories: [] },
      backup: { ...healthy.backup, late: 1 },
      alarms: [noted('backup-failing'), noted('disk-low')],
    };
    expect(conditionsOf(facts, now)).toMatchObject([
      { code: 'disk-full', explains: ['backup-failing', 'backup-late'] },
    ]);
  });

  it('that is only a warning and acknowledged leaves the verdict true; an error does not', () => {
    const verdict = (facts: ConditionFacts, code: ConditionCode) => {
      const conditions = conditionsOf(facts, now, { ...noMemory, acknowledged: new Map([[code, 'we know']]) });
      expect(conditions.map(({ acknowledged }) => acknowledged)).toEqual(['we know']);
      return verdictOf({ filled_at: 0, records: { all: 1, never_fetched: 0 }, conditions }, now).state;
    };
    expect(verdict({ ...healthy, removals: { held: 9, since: now } }, 'removals-held')).toBe('true');
    expect(verdict(stale, 'promise-broken')).toBe('broken');
  });
});
