import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { minorUnitExponent, minorUnits, minorUnitsIn } from '../../src/kernel/values/money.ts';

describe('minor units', () => {
  it.each([
    ['18.5', 'EUR', 1850],
    ['17.0', 'EUR', 1700],
    ['9', 'EUR', 900],
    ['0', 'EUR', 0],
    ['0.1', 'EUR', 10],
    ['33.62', 'EUR', 3362],
    ['232.89', 'USD', 23289],
    ['1200', 'JPY', 1200],
    ['1200.0', 'JPY', 1200],
    ['1.234', 'KWD', 1234],
    ['1.2340', 'TND', 1234],
    ['100', 'HUF', 10000],
    ['-2.5', 'EUR', -250],
    ['18.505', 'EUR', null],
    ['1200.5', 'JPY', null],
    ['1e3', 'EUR', 100000],
    ['1.85E+1', 'EUR', 1850],
    ['1850e-2', 'EUR', 1850],
    ['12000.0e-1', 'JPY', 1200],
    ['5e-2', 'EUR', 5],
    ['0e-9', 'EUR', 0],
    ['5e-3', 'EUR', null],
    ['1e-99', 'EUR', null],
    ['1e99', 'EUR', null],
    ['1e400', 'EUR', null],
    ['Infinity', 'EUR', null],
    ['', 'EUR', null],
    ['12', 'XXY', null],
    ['90071992547409.92', 'EUR', null],
  ])('%s %s is %s', (text, currency, amount) => {
    expect(minorUnits(text, currency)).toBe(amount);
  });

  it('has the exponents that the runtime gets wrong', () => {
    expect(['HUF', 'COP', 'IQD', 'LBP', 'XYZ'].map(minorUnitExponent)).toEqual([2, 2, 3, 2, null]);
  });

  it('is exact for every amount, however it is written', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 1e12 }),
        fc.constantFrom('EUR', 'JPY', 'KWD'),
        fc.nat(3),
        (amount, currency, zeros) => {
          const exponent = minorUnitExponent(currency) ?? 0;
          const digits = String(amount).padStart(exponent + 1, '0');
          const text =
            exponent === 0 ? digits : `${digits.slice(0, -exponent)}.${digits.slice(-exponent)}${'0'.repeat(zeros)}`;
          expect(minorUnits(text, currency)).toBe(amount);
        },
      ),
    );
  });

  it('is the same of a number as of what is printed of it, or the one within double precision', () => {
    const cents = fc.integer({ min: -1e16, max: 1e16 }).map((amount) => amount / 100);
    const numbers = fc.oneof(fc.double(), fc.integer(), cents, fc.constantFrom(-0, 1e21, 5e-324, 18.505, 0.1 + 0.2));
    fc.assert(
      fc.property(numbers, fc.constantFrom('EUR', 'JPY', 'KWD', 'CLF', 'XXY'), (number, currency) => {
        const [ofNumber, printed] = [minorUnitsIn(currency)(number), minorUnits(String(number), currency)];
        if (printed !== null || ofNumber === null) expect(ofNumber).toBe(printed);
        else expect(Math.abs(number * 10 ** (minorUnitExponent(currency) ?? 0) - ofNumber)).toBeLessThan(1e-5);
      }),
      { numRuns: 2000 },
    );
  });

  it.each([
    [39.989999999999995, 3999],
    [0.1 + 0.2, 30],
    [1.1 * 3, 330],
    [39.994, null],
    [39.9900001, null],
  ])('of the number %d is %s', (number, amount) => {
    expect(minorUnitsIn('EUR')(number)).toBe(amount);
  });
});
