import { describe, expect, it } from 'vitest';
import { printable, printableLines, printableOutput, short } from '../src/kernel/format.ts';

const hostile = 'Tour\u001b]0;owned\u0007 \u009b31m \u202egnp.exe\u2066 \u061c\u2028 \ud800 \u{e0041}';
const steers = /[\p{Cc}\u061c\u202e\u2028\u2066\u{e0041}]/u;

describe('outside words', () => {
  it('are shown with what steers a terminal or turns a line around as escapes, and otherwise as they are', () => {
    expect(printable(hostile)).not.toMatch(steers);
    expect(printable(hostile)).toContain('Tour\\u001b]0;owned\\u0007 \\u009b31m \\u202egnp.exe\\u2066');
    const honest = 'Søndag ☀ 東京 👩‍👩‍👧 שלום می‌خواهم – “€ 12”';
    expect(printable(honest)).toBe(honest);
  });

  it('are one line, or keep their own lines', () => {
    expect(printable('a\nb\tc')).toBe('a\\u000ab\\u0009c');
    expect(printableLines('a\nb\tc\r')).toBe('a\nb\tc\\u000d');
  });

  it('leave JSON what it is, through the last door', () => {
    const json = `${JSON.stringify({ title: hostile.replace('\ud800', '') }, null, 2)}\n`;
    expect(printableOutput(json)).not.toMatch(/[\u007f-\u009f\u202e\u2066]/u);
    expect(JSON.parse(printableOutput(json))).toEqual(JSON.parse(json));
    expect(printableOutput('a,b\r\n\r\u001b[K12 %')).toBe('a,b\r\n\r\u001b[K12 %');
    expect(printableOutput('over\rwritten')).toBe('over\\u000dwritten');
  });

  it('are cut where they are too long', () => {
    expect(short('x'.repeat(1_000_000), 5)).toBe('xxxx…');
    expect(short('12345', 5)).toBe('12345');
  });
});
