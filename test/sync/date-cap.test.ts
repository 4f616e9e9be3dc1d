import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
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
