import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  decimalText,
  lacksMembers,
  mergeDocuments,
  parseExact,
  parseSlowly,
} from '../../src/domain/values/exact-json.ts';

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

/** JSON as text, with numbers in every form that JSON knows, and texts that look like members. */
const written = fc.letrec<{ value: string }>((tie) => {
  const number = fc.stringMatching(/^-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,20})?([eE][-+]?[0-9]{1,3})?$/);
  const text = fc
    .oneof(fc.string(), fc.stringMatching(/^[ ,:0-9."\]}\uE000]{0,12}$/))
    .map((each) => JSON.stringify(each));
  const space = fc.constantFrom('', ' ', '\n\t');
  const list = fc.tuple(space, fc.array(tie('value'), { maxLength: 4 }), space);
  const members = fc.array(fc.tuple(text, space, tie('value')), { maxLength: 4 });
  return {
    value: fc.oneof(
      { depthSize: 'small' },
      number,
      text,
      fc.constantFrom('null', 'true', '0.0000001', '1.50', '-0', '17.0'),
      list.map(([before, values, after]) => `[${before}${values.join(`,${after}`)}${after}]`),
      members.map((each) => `{${each.map(([name, between, value]) => `${name}:${between}${value}`).join()}}`),
    ),
  };
}).value;

it('says the same of any text as the reviver, which is ten times as slow', () => {
  fc.assert(
    fc.property(written, (text) => {
      expect(parseExact(text)).toEqual(parseSlowly(text));
      expect(JSON.stringify(parseExact(text))).toBe(JSON.stringify(parseSlowly(text)));
    }),
    { numRuns: 3000 },
  );
  for (const wrong of ['{"a":1.0', '{"a":01.0}', '{"a, 1.0, b":}', ''])
    expect(() => parseExact(wrong)).toThrow(SyntaxError);
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
