import { describe, expect, it } from 'vitest';
import { afterPage } from '../../src/catalogue/list-page.rules.ts';
import { requestResync, resyncResources } from '../../src/cycle/request-resync.ts';
import { needs } from '../fakes/needs.ts';
import { type VirtualHarness, virtualHarness } from '../fakes/virtual-harness.ts';

const hour = 3_600_000;
const day = 24 * hour;
const walk = { resource: 'products', edition: 'en/EUR' } as const;
const everything = { resources: resyncResources, product_ids: [], from: null, to: null };

const isFilled = ({ isFilled }: VirtualHarness) => isFilled;

describe('a list', () => {
  it(
    'without an end is left after a few pages without a new row: incomplete, with a failure that says so',
    needs('time'),
    async () => {
      await using harness = await virtualHarness({ lean: true, products: 57, quirks: { list_end: 'never' } });
      const job = requestResync(harness.daemon.sync, everything);
      const ended = () => harness.job(job.job_id).left === 0;
      await harness.runUntil(() => ended() && isFilled(harness)());
      const { requests } = { requests: harness.sandbox.calls.counts().calls };
      expect(requests).toBeLessThan(2000);
      expect(harness.daemon.mirror.schedule.walks.find(walk)?.completed_at).toBeNull();
      expect(harness.products().length).toBe(57);
      expect(harness.daemon.mirror.catalogue.removals.absent()).toEqual([]);
      const [failing] = harness.rows<{ failure: string }>(
        "SELECT failure FROM _record WHERE resource = 'products' AND failures > 0",
      );
      expect(failing?.failure).toContain('endless-list: the list does not end');
      // The service mends itself: the next walk is complete.
      harness.sandbox.setQuirks({ list_end: 'ends' });
      await harness.live(day);
      expect(harness.daemon.mirror.schedule.walks.find(walk)?.completed_at).not.toBeNull();
      expect(harness.status().records.failing).toBe(0);
    },
  );
});

describe('a row', () => {
  it(
    'whose images are null keeps its product, and the images that are known until their 14 days are over',
    needs('time'),
    async () => {
      const seldom = { near: { days: 1, every: '7d' }, middle: { days: 2, every: '7d' }, far: { every: '7d' } };
      await using harness = await virtualHarness(
        { products: 12, lean: true },
        { scheduling: 'fixed', cadence: { availability: { horizon: 3, ...seldom } } },
      );
      await harness.runUntil(isFilled(harness));
      const before = harness.rows('SELECT product_id, image_key FROM images');
      expect(before.length).toBeGreaterThan(5);
      harness.sandbox.setQuirks({ images_null: 1 });
      await harness.live(8 * day);
      expect(harness.products().length).toBe(12);
      expect(harness.daemon.mirror.catalogue.removals.absent()).toEqual([]);
      expect(harness.rows('SELECT product_id, image_key FROM images')).toEqual(before);
      await harness.live(7 * day);
      expect(harness.rows('SELECT * FROM images')).toEqual([]);
      expect(harness.products().length).toBe(12);
    },
  );
});

describe('after a page', () => {
  const page = { rows: 100, short: false, next: undefined, total: 250, served: 100, barren: 0 };
  it.each([
    ['the list goes on while rows are announced', page, 'more'],
    ['a short page is no end while rows are announced', { ...page, rows: 10, short: true, served: 10 }, 'more'],
    ['the list ends when as many came as announced', { ...page, rows: 50, short: true, served: 250 }, 'end'],
    ['a full page beyond what was announced proves it wrong', { ...page, total: 250, served: 300 }, 'more'],
    ['a short page beyond it is the end', { ...page, rows: 50, short: true, total: 250, served: 350 }, 'end'],
    ['an empty page is the end', { ...page, rows: 0, served: 100 }, 'end'],
    ['a short page is the end where nothing is announced', { ...page, rows: 99, short: true, total: null }, 'end'],
    ['a full page is none where nothing is announced', { ...page, total: null }, 'more'],
    ['an answer that has a next page goes on, whatever it counts', { ...page, next: 'more', served: 250 }, 'more'],
    ['an answer that has none is the last', { ...page, next: null }, 'end'],
    ['an empty page that has a next page goes on', { ...page, rows: 0, next: 'more' }, 'more'],
    ['next pages that bring nothing are a list without an end', { ...page, next: 'more', barren: 3 }, 'endless'],
    ['two pages without a new row may be drift', { ...page, total: 1e6, barren: 2 }, 'more'],
    ['three are a list without an end', { ...page, total: 1e6, barren: 3 }, 'endless'],
    ['a million rows are more than anybody offers', { ...page, total: null, served: 1_000_001 }, 'endless'],
  ] as const)('%s', (_, facts, expected) => {
    expect(afterPage(facts)).toBe(expected);
  });
});
