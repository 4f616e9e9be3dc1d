import { describe, expect, it } from 'vitest';
import { instant } from '../../../src/kernel/clock.ts';
import type { ListQuestion } from '../../../src/service/adapter.rules.ts';
import { ListPages } from '../../../src/service/client.ts';
import type { Page } from '../../../src/service/decode-product.ts';
import type { Reading } from '../../../src/service/reading.ts';

const list = { kind: 'products', page_size: 2, language: 'en', currency: 'EUR', ordered: false } as const;
const refused = { kind: 'refused', status: 400, code: 'bad_cursor', message: 'It has expired.' } as const;

/** A list of so many pages, each of which can only be asked for by what the one before said. */
function chained(pages: number) {
  const asked: (string | null)[] = [];
  const service = { pages, expired: false };
  const ask = async ({ page, after }: ListQuestion): Promise<Reading<Page<number>>> => {
    asked.push(after);
    if (service.expired && after !== null) return refused;
    if (after !== (page === 1 ? null : `after ${page - 1}`)) throw new Error(`page ${page} cannot follow ${after}`);
    const value = {
      entries: [page],
      rejected: [],
      total: null,
      short: false,
      next: page < service.pages ? `after ${page}` : null,
      members: '',
    };
    return { kind: 'read', value, hash: '', sent_at: instant(0), bytes: 0 };
  };
  return { asked, ask, service };
}

async function entries(reading: Promise<Reading<Page<number>>>): Promise<readonly number[] | string> {
  const came = await reading;
  return came.kind === 'read' ? came.value.entries : came.kind;
}

describe('a list whose pages follow from each other', () => {
  it('is read page by page, a call for each', async () => {
    const { ask, asked } = chained(3);
    const pages = new ListPages('perhaps chained');
    for (const page of [1, 2, 3]) expect(await entries(pages.read(list, page, ask))).toEqual([page]);
    expect(asked).toEqual([null, 'after 1', 'after 2']);
  });

  it('is read from its first page on after a start, and only once', async () => {
    const { ask, asked } = chained(4);
    const pages = new ListPages('perhaps chained');
    expect(await entries(pages.read(list, 3, ask))).toEqual([3]);
    expect(asked).toEqual([null, 'after 1', 'after 2']);
    expect(await entries(pages.read(list, 2, ask))).toEqual([2]);
    expect(await entries(pages.read(list, 4, ask))).toEqual([4]);
    expect(asked.slice(3)).toEqual(['after 1', 'after 3']);
  });

  it('has an empty page behind its last one', async () => {
    const { ask, asked } = chained(2);
    const pages = new ListPages('perhaps chained');
    expect(await entries(pages.read(list, 7, ask))).toEqual([]);
    expect(asked).toEqual([null, 'after 1']);
    const single = chained(1);
    expect(await entries(pages.read({ ...list, language: 'nl' }, 2, single.ask))).toEqual([]);
    expect(single.asked).toEqual([null]);
  });

  it('is read from its first page on after a refusal: a cursor may have expired', async () => {
    const { ask, asked, service } = chained(3);
    const pages = new ListPages('perhaps chained');
    await pages.read(list, 1, ask);
    await pages.read(list, 2, ask);
    service.expired = true;
    expect(await entries(pages.read(list, 3, ask))).toBe('refused');
    service.expired = false;
    expect(await entries(pages.read(list, 3, ask))).toEqual([3]);
    expect(asked.slice(3)).toEqual([null, 'after 1', 'after 2']);
  });
});

describe('a list whose pages have numbers', () => {
  const numbered = () => {
    const asked: number[] = [];
    const ask = async ({ page, after }: ListQuestion): Promise<Reading<Page<number>>> => {
      expect(after).toBeNull();
      asked.push(page);
      const value = { entries: [page], rejected: [], total: null, short: false, next: undefined, members: '' };
      return { kind: 'read', value, hash: '', sent_at: instant(0), bytes: 0 };
    };
    return { asked, ask };
  };

  it('takes one call more, once, where its first page has to show that', async () => {
    const { ask, asked } = numbered();
    const pages = new ListPages('perhaps chained');
    expect(await entries(pages.read(list, 7, ask))).toEqual([7]);
    expect(await entries(pages.read(list, 8, ask))).toEqual([8]);
    expect(asked).toEqual([1, 7, 8]);
  });
});
