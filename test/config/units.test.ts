import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseDuration, parseSize, printDuration, printSize } from '../../src/config/units.ts';

describe('a duration in milliseconds', () => {
  const cases: [text: string, ms: number | null][] = [
    ['500ms', 500],
    ['90s', 90_000],
    ['30m', 1_800_000],
    ['6h', 21_600_000],
    ['7d', 604_800_000],
    ['0s', 0],
    ['007d', 604_800_000],
    ['7', null],
    ['7 d', null],
    ['1.5h', null],
    ['-1h', null],
    ['1h30m', null],
    ['7D', null],
    ['1w', null],
    ['', null],
    ['d', null],
    ['1h\n', null],
    ['9999999999d', null],
  ];
  test.each(cases)('%j is %s', (text, ms) => {
    expect(parseDuration(text)).toBe(ms);
  });
});

test('any duration survives being printed and read again', () => {
  const shortest = fc.nat({ max: 999_999_999 });
  const unit = fc.constantFrom(1, 1000, 60_000, 3_600_000, 86_400_000);
  fc.assert(
    fc.property(shortest, unit, (count, factor) => {
      expect(parseDuration(printDuration(count * factor))).toBe(count * factor);
    }),
  );
});

test('any size survives being printed and read again', () => {
  fc.assert(
    fc.property(fc.nat({ max: 8_000_000 }), fc.constantFrom(1, 1024, 1024 ** 2, 1024 ** 3), (count, factor) => {
      expect(parseSize(printSize(count * factor))).toBe(count * factor);
    }),
  );
  expect([parseSize('20MiB'), parseSize('20MB'), parseSize('20')]).toEqual([20_971_520, null, null]);
});
