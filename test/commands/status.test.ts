import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { instant } from '../../src/clock.ts';
import { statusText } from '../../src/commands/status/text.ts';
import { known, now } from '../admin/known-status.ts';
import { noteMember } from '../fakes/noted-member.ts';
import { runHere } from '../fakes/run-here.ts';
import { productOf, putProducts } from '../fakes/stored-products.ts';
import { testConfigText } from '../fakes/test-config.ts';
import { testMirror } from '../fakes/test-mirror.ts';

it('status writes each heading once, with all that belongs to it below', async () => {
  using test = testMirror();
  const { mirror } = test;
  const config = join(dirname(dirname(mirror.path)), 'catalogued.yaml');
  writeFileSync(config, testConfigText(dirname(config), 'http://127.0.0.1:1'));
  putProducts({ mirror }, [productOf(701), productOf(702)]);
  noteMember(mirror, instant(Date.now()), 'price (below zero)');
  mirror.transaction(() => {
    const at = instant(Date.now());
    const closure = {
      product_id: 701, delivery_id: 1, notified_at: at, applied_at: at, available_at: null, reason: null,
      expected_reopening: null, alternative_product_id: null,
    }; // biome-ignore format: one row
    for (let false_ones = 0; false_ones < 100; false_ones += 1) {
      mirror.push.closures.put(closure);
      mirror.push.closures.mark(mirror.push.closures.inForce(701)?.closure_id ?? 0, 'ended_at', at);
    }
    mirror.push.closures.put(closure);
    mirror.push.closures.put({ ...closure, product_id: 702, applied_at: null });
  });
  const { stdout } = await runHere(['--config', config, 'status']);
  const [facts = ''] = stdout.split('\n\n');
  const headings = facts.split('\n').flatMap((line) => /^\w+/.exec(line) ?? []);
  expect(headings).toEqual([
    'Mirror',
    'Filled',
    'Products',
    'Bookable',
    'Changed',
    'Outdated',
    'Daemon',
    'Prices',
    'Closures',
    'Backup',
  ]);
  expect(facts).toMatch(/^Closures {2}too many .*\n {10}most announced .*\n {10}1 product off sale until .*\nBackup/m);
});

it('status says why jobs do nothing, once for each reason, and how old the figures of a large mirror are', () => {
  const [job] = known.jobs;
  if (job === undefined) throw new Error('no job is known');
  const lost = { ...job, failure: null, kept_from: 'the mirror is lost' };
  const jobs = [
    lost,
    { ...lost, name: 'b' },
    { ...lost, name: 'c', kept_from: 'no key' },
    { ...lost, kept_from: null },
  ];
  const shown = { ...known, as_of: now - 8000, jobs, conditions: [], daemon_answers: true };
  const text = statusText(shown, now);
  expect(text).toMatch(/^Mirror .*; as of 8 s ago$/m);
  expect(text).toMatch(/^Jobs {6}2 wait: the mirror is lost\n {10}1 waits: no key\n\w/m);
  expect(statusText({ ...shown, as_of: now, jobs: [] }, now)).not.toMatch(/as of|^Jobs/m);
});
