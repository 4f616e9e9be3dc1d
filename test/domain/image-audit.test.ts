import { describe, expect, it } from 'vitest';
import { imageLimitMs } from '../../src/domain/catalogue/image.ts';
import {
  type Breach,
  breachesOf,
  hiddenAt,
  type ImageStanding,
  type KeptFile,
  type PublishedImage,
  shownAfterChange,
  type Takedown,
} from '../../src/domain/catalogue/image-audit.ts';

const now = Date.parse('2026-11-21T12:00:00Z');
const minute = 60_000;
const day = 24 * 60 * minute;

const image: PublishedImage & ImageStanding = {
  product_id: 7,
  title: null,
  image_key: 'a',
  url: null,
  credit: null,
  first_confirmed_at: now - 30 * day,
  last_confirmed_at: now - day,
  hidden_from: now + 13 * day,
  file: null,
  checksum: null,
  verified_at: now - day,
  withdrawn: 0,
};
const file: KeptFile = { product_id: 7, image_key: 'a', file: 'aa/1.jpg', shown: 0, hidden_at: now - day };

describe('an image is in breach', () => {
  const check = (of: Partial<ImageStanding>, wanted: Breach['reason'][]) =>
    expect(breachesOf([{ ...image, ...of }], [], now).map(({ reason }) => reason)).toEqual(wanted);

  it('where it is shown fourteen days after its confirmation, to the millisecond', () => {
    check({}, []);
    check({ verified_at: now - imageLimitMs + 1 }, []);
    check({ verified_at: now - imageLimitMs }, ['not-confirmed']);
    check({ verified_at: null }, ['not-confirmed']);
  });

  it('where its stamp is a day ahead: a clock was wrong', () => {
    check({ verified_at: now + day }, []);
    check({ verified_at: now + day + 1 }, ['not-confirmed']);
  });

  it('where it is shown although it or its product was withdrawn', () => {
    check({ withdrawn: 1 }, ['withdrawn']);
  });

  it('where its file is there two minutes after it was hidden, unless another image shows the same', () => {
    const kept = (...files: Partial<KeptFile>[]) =>
      breachesOf(
        [],
        files.map((each) => ({ ...file, ...each })),
        now,
      ).length;
    expect(kept({})).toBe(1);
    expect(kept({ hidden_at: now - minute })).toBe(0);
    expect(kept({ shown: 1 })).toBe(0);
    expect(kept({}, { image_key: 'b', shown: 1 })).toBe(0);
    expect(kept({}, { image_key: 'b', file: 'bb/2.jpg', shown: 1 })).toBe(1);
  });
});

describe('a takedown', () => {
  const takedown: Takedown = {
    product_id: 7,
    title: null,
    image_key: 'a',
    credit: null,
    last_confirmed_at: now - 6 * day,
    withdrawn_at: now,
    cause: 'image',
    returned_at: null,
  };

  it('was shown at most as long after the change as lies between the two reads', () => {
    expect(shownAfterChange(takedown)).toBe(6 * day);
    expect(shownAfterChange({ ...takedown, last_confirmed_at: null })).toBeNull();
    expect(shownAfterChange({ ...takedown, last_confirmed_at: now + 1 })).toBe(0);
  });

  it('was hidden after fourteen days, however late the read without it came', () => {
    const late = { ...takedown, last_confirmed_at: now - 20 * day };
    expect(hiddenAt(late)).toBe(now - 6 * day);
    expect(shownAfterChange(late)).toBe(14 * day);
  });
});
