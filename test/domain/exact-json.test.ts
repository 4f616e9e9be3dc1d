import fc from 'fast-check';
import { expect, it } from 'vitest';
import { decimalText, lacksMembers, mergeDocuments, parseExact } from '../../src/domain/values/exact-json.ts';

it('prints numbers back as the service wrote them', () => {
  const text = '{"a":17.0,"b":1.50,"c":12345678901234567890,"d":1e400,"e":[0.1,-0.0],"f":"17.0"}';
  expect(JSON.stringify(parseExact(text))).toBe(text);
});

it('any JSON value survives the round trip', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      expect(JSON.parse(JSON.stringify(parseExact(JSON.stringify(value))))).toEqual(JSON.parse(JSON.stringify(value)));
    }),
  );
});

it('gives the decimal text of what was parsed, exact or not', () => {
  const [a, b, c] = parseExact('[17.0, 18.5, "9.99"]') as unknown[];
  expect([a, b, c, null, true].map(decimalText)).toEqual(['17.0', '18.5', '9.99', null, null]);
});

it('merging keeps what only one side has, nulls included, and lets the upper side win', () => {
  expect(mergeDocuments('{"a":1,"b":null,"n":17.0}', '{"a":2,"c":null}')).toBe('{"a":2,"b":null,"n":17.0,"c":null}');
  expect(lacksMembers('{"a":2}', '{"a":1,"b":null}')).toBe(true);
  expect(lacksMembers('{"a":2,"b":3}', '{"a":1,"b":null}')).toBe(false);
});

it('a member named __proto__ stays a member', () => {
  const merged = mergeDocuments('{"__proto__":{"polluted":1}}', '{"a":1}');
  expect(merged).toBe('{"__proto__":{"polluted":1},"a":1}');
  expect(({} as Record<string, unknown>).polluted).toBeUndefined();
});
