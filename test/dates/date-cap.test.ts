import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { policyOf } from '../../src/daemon/policy.ts';
import { refuseDates } from '../../src/schedule/date-reach.ts';
import { testConfig } from '../fakes/test-config.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';
import { virtualHarness } from '../fakes/virtual-harness.ts';

/** Fills a mirror from a service that ends each answer of availability at its first date. Returns calls and conditions. */
async function filled(answers: 'whole' | 'end and more dates' | 'one date') {
  using directory = temporaryDirectory();
  const file = join(directory.path, 'adapter.mjs');
  writeFileSync(
    file,
    `export function answer(question, status, body, standard) {
      const said = standard.answer(question, status, body, standard);
      if (question.kind !== 'availability' || status !== 200) return said;
      const dates = ${answers === 'one date'} ? said.row.dates.filter(({ date }) => date === question.from) : said.row.dates;
      return { row: { ...said.row, dates }, covers_to: ${answers === 'whole'} ? null : question.from };
    }`,
  );
  await using harness = await virtualHarness({ products: 8 }, { service: { adapter: file } });
  await harness.fill();
  const { daemon, drive } = harness;
  const { conditions } = await drive(daemon.status.counted());
  const found = await harness.compare();
  return {
    calls: daemon.limiter.state().calls,
    capped: conditions.find(({ code }) => code === 'dates-capped')?.says ?? null,
    differences: found.differences,
  };
}

it('an end at the first date beyond which dates are named is learned, and a service that means it is told of', async () => {
  const usual = await filled('whole');
  const wrong = await filled('end and more dates');
  const meant = await filled('one date');
  expect(usual).toMatchObject({ capped: null, differences: 0 });
  expect(wrong.calls).toBeLessThan(usual.calls * 1.1 + 3);
  expect(wrong).toMatchObject({ capped: null, differences: 0 });
  expect(meant.calls).toBeGreaterThan(usual.calls * 5);
  expect(meant.capped).toBe('one answer covers one day: a window takes many calls');
});

const { config } = testConfig('/nowhere', 'http://127.0.0.1:1', {
  categories: [{ name: 'long', match: { product_ids: [1] }, horizon: 120 }],
});
const clock = { now: () => Date.parse('2026-11-21T12:00:00Z') };
const sync = { clock, policy: policyOf(config, () => true) } as unknown as Parameters<typeof refuseDates>[0];
const day = 86_400_000;

it.each<[string, Record<string, string | null>, string | null]>([
  ['today', { date: '2026-11-21' }, null],
  ['nothing asked', { from: null, to: null }, null],
  ['the last date of the longest horizon, at the venue that is furthest ahead', { date: '2027-03-21' }, null],
  ['the day after', { date: '2027-03-22' }, 'date 2027-03-22 is beyond the horizon'],
  ['long past', { from: '2020-01-01' }, 'from 2020-01-01 is in the past'],
  ['none of the calendar', { to: '9999-99-99' }, 'to 9999-99-99 is not a calendar date'],
  ['turned around', { from: '2026-12-02', to: '2026-12-01' }, 'from 2026-12-02 is after to 2026-12-01'],
])('a date is asked about where somebody can say something: %s', (_, dates, message) => {
  if (message === null) expect(() => refuseDates(sync, dates)).not.toThrow();
  else expect(() => refuseDates(sync, dates)).toThrow(expect.objectContaining({ code: 'date-out-of-reach', message }));
});

it('the refusal names the limit, and history reaches as far as it is kept', () => {
  const limit = { hint: expect.stringContaining('2026-11-20') };
  expect(() => refuseDates(sync, { date: '2020-01-01' })).toThrow(expect.objectContaining(limit));
  expect(() => refuseDates(sync, { date: '2026-09-01' }, { history_ms: 90 * day })).not.toThrow();
  const kept = { hint: 'the earliest date is 2026-08-22, 90 days back' };
  expect(() => refuseDates(sync, { date: '2020-01-01' }, { history_ms: 90 * day })).toThrow(
    expect.objectContaining(kept),
  );
});
