import { expect, it } from 'vitest';
import { identifier } from '../../src/kernel/values/identifier.ts';

it.each([
  ['973698', 973698],
  [973698, 973698],
  ['9007199254740991', 9007199254740991],
  ['9007199254740993', null],
  [9007199254740992, null],
  ['', null],
  ['12a', null],
  ['-1', null],
  [0, null],
  [1.5, null],
  [null, null],
  [JSON.rawJSON('12.0'), 12],
  [JSON.rawJSON('12.5'), null],
  [JSON.rawJSON('9007199254740993'), null],
  [{ rawJSON: '9007199254740993' }, null],
])('%j as an identifier is %s', (value, id) => {
  expect(identifier(value)).toBe(id);
});
