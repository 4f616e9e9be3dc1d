import { describe, expect, it } from 'vitest';
import { table, widthOf } from '../../src/commands/terminal/table.ts';
import { capturedIo } from '../fakes/captured-io.ts';

const rows = [
  ['https://example.com/a/very/long/address', 'it was refused, and is tried again in an hour', '12'],
  ['short', 'no', '3,000'],
];

describe('a table', () => {
  it('is as wide as it needs where nobody says how wide it may be', () => {
    expect(table(['what', 'why', 'calls'], rows).split('\n')).toHaveLength(3);
  });

  it.each([40, 60, 80])('fits into %i columns, and loses nothing', (width) => {
    const lines = table(['what', 'why', 'calls'], rows, width).split('\n');
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(width);
    const shown = (text: string) => text.replaceAll(/\s/g, '').split('').sort().join('');
    expect(shown(lines.join(''))).toBe(shown(['what', 'why', 'calls', ...rows.flat()].join('')));
  });

  it('keeps numbers whole, and runs over where the rest cannot be narrower', () => {
    const lines = table(['what', 'why', 'calls'], rows, 5).split('\n');
    expect(lines.join('\n')).toMatch(/3,000/);
    expect(lines.every((line) => line.length <= 14 + 2 + 14 + 2 + 5)).toBe(true);
  });
});

it('the width is what COLUMNS says, through a pipe too, else the terminal has, else any', () => {
  const terminal = { isTTY: true, columns: 120 } as const;
  const ask = (env: Record<string, string>, more: object) => {
    const io = capturedIo();
    return widthOf({ ...io, env, stdout: Object.assign(io.stdout, more) });
  };
  expect(ask({ COLUMNS: '72' }, {})).toBe(72);
  expect(ask({ COLUMNS: '72' }, terminal)).toBe(72);
  expect(ask({}, terminal)).toBe(120);
  expect(ask({}, {})).toBe(Number.POSITIVE_INFINITY);
  for (const nonsense of ['', '0', '-3', 'wide', '1.5'])
    expect(ask({ COLUMNS: nonsense }, {})).toBe(Number.POSITIVE_INFINITY);
});

it('a name that is too long for its column is broken where it has a joint, and a heading stays whole', () => {
  expect(
    table(
      ['subscription', 'resource'],
      [
        ['demo', 'checkout_information'],
        ['d', 'x'.repeat(15)],
      ],
      24,
    ),
  ).toBe(
    'subscription  resource\ndemo          checkout_\n              information\nd             xxxxxxxxxxx\n              xxxx',
  );
});
