import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  decimalText,
  lacksMembers,
  mergeDocuments,
  parseExact,
  parseSlowly,
} from '../../src/kernel/values/exact-json.ts';
import { publishable } from '../../src/kernel/values/public-address.ts';
import {
  address,
  amountsIn,
  besideClock,
  count,
  credit,
  currency,
  date,
  flag,
  hidden,
  identifier,
  identifiers,
  integer,
  limit,
  type Member,
  measure,
  money,
  price,
  retailPrice,
  shown,
  stateWord,
  text,
  time,
  unreadable,
  words,
  zone,
} from '../../src/service/member.rules.ts';

const onSale = words({ available: 'enabled', unavailable: 'disabled' });
const raw = (json: string) => parseExact(json);

/** Each spelling of a member, and what it is read as. */
const table: readonly (readonly [name: string, Member<unknown>, readonly (readonly [sent: unknown, is: unknown])[]])[] =
  [
    ['a flag', flag, [
      [true, true], [false, false], [1, true], [0, false], ['true', true], ['FALSE', false], ['Yes', true], ['no', false],
      ['1', true], ['0', false], [' y ', true], ['off', false], [raw('1.0'), true],
      ['maybe', unreadable], ['', unreadable], [2, unreadable], [-1, unreadable], [[], unreadable], [{}, unreadable],
    ]],
    ['a count', count, [
      [7, 7], ['7', 7], [0, 0], ['0', 0], [-2, 0], ['-2', 0], [raw('7.0'), 7], ['7.0', 7], [' 7 ', 7],
      ['many', unreadable], ['', unreadable], [7.5, unreadable], [true, unreadable], [[7], unreadable], [{ n: 7 }, unreadable],
      ['7+', unreadable], ['0x7', unreadable], ['1e3', unreadable], [raw('9007199254740993'), unreadable],
    ]],
    ['a limit', limit, [[4, 4], ['4', 4], ['0', 0], [0, 0], [-1, unreadable], ['-1', unreadable], ['none', unreadable]]],
    ['a number', measure, [[1.5, 1.5], ['1.5', 1.5], ['-0.25', -0.25], ['x', unreadable], [[], unreadable], [false, unreadable]]],
    ['an integer', integer, [[3, 3], ['3', 3], [-3, -3], [3.5, unreadable], ['3.5', unreadable]]],
    ['an amount', money, [
      [39.99, 3999], ['39.99', 3999], [' 39.99 ', 3999], [39.989999999999995, 3999], [raw('39.989999999999995'), 3999],
      [raw('39.90'), 3990], ['39', 3900], [0, 0], [-5, -500],
      [39.994, unreadable], ['39.994', unreadable], ['free', unreadable], ['39,99', unreadable], ['€39.99', unreadable],
      ['', unreadable], [true, unreadable], [[39.99], unreadable], [{ amount: 39.99 }, unreadable], [raw('1e400'), unreadable],
    ]],
    ['a currency', currency, [['EUR', 'EUR'], ['eur', 'EUR'], [' EUR ', 'EUR'], ['€', unreadable], [978, unreadable], ['', unreadable]]],
    ['a time', time, [
      ['09:30', 570], ['9:05', 545], ['09:30:00', 570], ['09:30:00.000', 570], ['00:00', 0], ['23:59', 1439],
      ['24:00', 1440], ['24:00:00', 1440], ['12:01 AM', 1], ['11:59 PM', 1439], ['12:00 PM', 720], ['12:00 am', 0],
      ['9:30pm', 1290], ['9:30 p.m.', 1290], ['9 PM', 1260], ['09:30+02:00', 570], ['09:30Z', 570], ['T09:30', 570],
      ['2026-12-01T09:30:00+01:00', 570], ['2026-12-01 09:30', 570], [' 09:30 ', 570],
      ['whole_day', -1], ['WHOLE_DAY', -1], ['whole day', -1], ['All-day', -1],
      ['25:30', unreadable], ['24:01', unreadable], ['09:60', unreadable], ['13:30 PM', unreadable], ['00:30 PM', unreadable],
      ['noon', unreadable], ['9', unreadable], ['', unreadable], [930, unreadable], [570, unreadable], [[], unreadable],
      [{}, unreadable], [true, unreadable], ['0930', unreadable],
    ]],
    ['a zone', zone, [
      ['Europe/Rome', 'Europe/Rome'], ['europe/rome', 'Europe/Rome'], [' EUROPE/ROME ', 'Europe/Rome'], ['', null], ['  ', null],
      ['Mars/Phobos', unreadable], ['+02:00', unreadable], [2, unreadable], [{}, unreadable],
    ]],
    ['a date', date, [
      ['2026-12-01', '2026-12-01'], ['2026-12-01T00:00:00Z', '2026-12-01'], ['2026-12-01 00:00', '2026-12-01'],
      ['2026-02-30', unreadable], ['2026-12-01T09:30', unreadable], ['01/12/2026', unreadable], [20261201, unreadable],
    ]],
    ['text', text, [['x', 'x'], ['', ''], [1984, unreadable], [['a', 'b'], unreadable], [true, unreadable], [{}, unreadable]]],
    ['an id', identifier, [[7, 7], ['7', 7], [raw('7.0'), 7], [0, unreadable], [-7, unreadable], ['x', unreadable], [{}, unreadable]]],
    ['ids', identifiers, [[[1, '2', 2], [1, 2]], [[], []], [[1, 'x'], [1]], [['x'], unreadable], ['1', unreadable], [{}, unreadable]]],
    ['a word', onSale, [['available', 'enabled'], ['AVAILABLE', 'enabled'], [' unavailable', 'disabled'], ['open', unreadable], [true, unreadable]]],
    ['a state', stateWord, [['DEGRADED', 'degraded'], ['on hold!', 'on hold'], ['', unreadable], [1, unreadable], [{}, unreadable]]],
    ['a credit', credit, [
      ['A. Example', 'A. Example'], [' ', null], ['', null], [{ name: 'A. Example', license: 'CC BY 4.0' }, 'A. Example'],
      [{ author: 'A' }, 'A'], [['A. Example', 'B. Example'], 'A. Example, B. Example'], [[{ name: 'A' }, 'B'], 'A, B'], [[], null],
      [{ name: null }, unreadable], [{ id: 7 }, unreadable], [7, unreadable], [false, unreadable], [['A', 7], unreadable],
      [[[['A']]], unreadable],
    ]],
    ['what may be shown', shown, [
      [true, true], [false, false], ['no', false], [0, false], ['unpublished', false], ['HIDDEN', false], ['Taken down', false],
      ['published', true], ['featured', 'unknown'], [{}, unreadable], [[], unreadable], ['', unreadable],
    ]],
    ['what is hidden', hidden, [[true, false], ['yes', false], [false, true], [0, true], ['2026-12-01', unreadable], [{}, unreadable]]],
  ]; // biome-ignore format: a table

describe.each(table)('%s', (_, member, spellings) => {
  it.each(spellings)('written %j is read as %s', (sent, is) => {
    expect(member.read(sent, { amount: amountsIn('EUR'), mayPublish: () => false })).toEqual(is);
  });

  it.each([null, undefined])('is absent where it is %s', (sent) => {
    expect(member.read(sent, { amount: amountsIn('EUR'), mayPublish: () => false })).toBeNull();
  });
});

it.each([
  ['a price', price, -5, 'below zero'],
  ['a price', price, 0, null],
  ['the price of an offer', retailPrice, -0.01, 'below zero'],
  ['an address', address, 'http://10.0.0.1/a.jpg', 'not public'],
  ['an address', address, 'https://images.example.com/a.jpg', null],
  ['what is shown', shown, 'featured', 'unknown word'],
  ['what is shown', shown, 'hidden', null],
] as [string, Member<unknown>, unknown, string | null][])('%s of %3$j has the remark %4$s', (_, member, sent, why) => {
  const reader = { amount: amountsIn('EUR'), mayPublish: publishable([]) };
  const value = member.read(sent, reader);
  expect(member.remarkOn(value, reader)?.why ?? null).toBe(why);
});

describe('a time', () => {
  it.each([
    ['09:30+02:00', { date: null, offset: 120 }],
    ['09:30-0330', { date: null, offset: -210 }],
    ['09:30Z', { date: null, offset: 0 }],
    ['2026-12-01T09:30:00+01', { date: '2026-12-01', offset: 60 }],
    ['09:30', { date: null, offset: null }],
  ])('written %s says %j beside the clock', (sent, says) => {
    expect(besideClock(sent)).toEqual(says);
  });
});

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
