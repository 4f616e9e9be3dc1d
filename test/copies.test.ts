import { describe, expect, it } from 'vitest';
import type { ChangeKind } from '../src/domain/changes/change.ts';
import { needs } from './fakes/needs.ts';
import { thorough } from './fakes/thorough.ts';
import { type Followed, follow } from './worlds/copies/follow.ts';
import { announced, announcedViews } from './worlds/copies/importer.ts';

/** Total: the compiler asks for a kind that is new. */
const all: Readonly<Record<ChangeKind, true>> = {
  product_added: true,
  product_changed: true,
  product_withdrawn: true,
  product_returned: true,
  sale_disabled: true,
  sale_enabled: true,
  dates_withheld: true,
  dates_released: true,
  price_changed: true,
  date_added: true,
  date_sold_out: true,
  date_back: true,
  image_added: true,
  image_credit_changed: true,
  image_withdrawn: true,
  checkout_changed: true,
  variants_changed: true,
  slots_changed: true,
  images_changed: true,
  prices_changed: true,
  experience_changed: true,
  tags_changed: true,
  held: true,
  pass_completed: true,
};
const kinds = Object.keys(all);
/** `held` moves only columns that are marked `clock: true`, which a copy leaves out. */
const copiedKinds = kinds.filter((kind) => kind !== 'held');

describe('a copy kept by the script of docs/copies.md', () => {
  let followed: Followed | null = null;
  const once = async () =>
    (followed ??= await follow({ changes: thorough ? 600 : 120, seed: 4, without: copiedKinds }));

  it('equals the views, cell by cell, at the end of every pass', async () => {
    const { wrong, passes } = await once();
    expect(wrong).toEqual([]);
    expect(passes).toBeGreaterThan(thorough ? 100 : 20);
  });

  const many = needs('time');

  it('differs once it passes over one kind of change, whichever it is (control)', many, async () => {
    expect((await once()).needless).toEqual([]);
  });

  it(
    'has seen every kind, and every column change that schema/contract.json does not mark clock: true',
    many,
    async () => {
      const { seen, lines } = await once();
      expect(Object.keys(lines).sort()).toEqual([...kinds].sort());
      const expected = announcedViews.flatMap((view) => announced(view).map((name) => `${view}.${name}`));
      expect(expected.filter((name) => !seen.has(name))).toEqual([]);
      expect(expected.length).toBeGreaterThan(100);
    },
  );
});
