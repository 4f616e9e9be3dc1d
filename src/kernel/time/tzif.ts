import { dayMs } from '../clock.ts';
import type { ZoneRules } from './zone-rules.ts';

/* Compiled time zones in files of the operating system: TZif, RFC 9636. */

const headerBytes = 44;

/**
 * Reads the rules of a zone from a TZif file of version 2 or later. Returns null for anything else, also for a file that
 * counts leap seconds: its instants are not those of other programs.
 */
export function readTzif(bytes: Uint8Array): ZoneRules | null {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  try {
    const old = header(view, 0);
    return old === null ? null : rulesAt(view, headerBytes + old.lengthWith(4));
  } catch (error) {
    // It ends too early.
    if (error instanceof RangeError) return null;
    throw error;
  }
}

function header(view: DataView, start: number) {
  const isTzif = [0x54, 0x5a, 0x69, 0x66].every((byte, index) => view.getUint8(start + index) === byte);
  if (!isTzif || view.getUint8(start + 4) < 0x32) return null;
  const [utc = 0, std = 0, leaps = 0, times = 0, types = 0, letters = 0] = [0, 1, 2, 3, 4, 5].map((index) =>
    view.getUint32(start + 20 + 4 * index),
  );
  const lengthWith = (size: number) => times * (size + 1) + types * 6 + letters + leaps * (size + 4) + std + utc;
  return { leaps, times, types, lengthWith };
}

function rulesAt(view: DataView, start: number): ZoneRules | null {
  const found = header(view, start);
  if (found === null || found.leaps > 0) return null;
  const { times: count, types, lengthWith } = found;
  const data = start + headerBytes;
  const times = Array.from({ length: count }, (_, index) => Number(view.getBigInt64(data + 8 * index)) * 1000);
  const offsetOf = (type: number) => view.getInt32(data + 9 * count + 6 * type) / 60;
  const indexes = times.map((_, index) => view.getUint8(data + 8 * count + index));
  if (types === 0 || indexes.some((type) => type >= types)) return null;
  const offsets = indexes.map(offsetOf);
  const first = offsetOf(0);
  const footer = data + lengthWith(8);
  const length = Math.max(0, view.byteLength - footer);
  const text = new TextDecoder().decode(new Uint8Array(view.buffer, view.byteOffset + footer, length));
  const after = rulesOfText(/^\n([^\n]+)\n/.exec(text)?.[1] ?? '');
  if (after === null) return null;
  const last = times.at(-1) ?? Number.NEGATIVE_INFINITY;
  return {
    offsetAt: (at) => (at >= last ? after.offsetAt(at) : (offsets[times.findLastIndex((each) => each <= at)] ?? first)),
    next: (at) => times.find((each) => each > at) ?? after.next(at),
  };
}

const name = '(?:[A-Za-z]{3,}|<[A-Za-z0-9+-]{3,}>)';
const clock = String.raw`([+-]?\d{1,3}(?::\d\d){0,2})`;
const day = String.raw`(M\d+\.\d\.\d|J?\d+)(?:/${clock})?`;
const textForm = new RegExp(`^${name}${clock}(?:${name}${clock}?,${day},${day})?$`);

/** Reads the rules that hold after all listed changes: `CST6CDT,M3.2.0,M11.1.0` as in the variable TZ. */
function rulesOfText(text: string): ZoneRules | null {
  const [whole, std, dst, from, fromTime, to, toTime] = textForm.exec(text) ?? [];
  if (whole === undefined || std === undefined) return null;
  // The text counts westwards.
  const winter = 0 - secondsOf(std) / 60;
  if (from === undefined || to === undefined) return { offsetAt: () => winter, next: () => null };
  const summer = dst === undefined ? winter + 60 : 0 - secondsOf(dst) / 60;
  const changesOf = (year: number) => [
    { at: dayOf(from, year) + 1000 * secondsOf(fromTime ?? '2') - 60_000 * winter, offset: summer },
    { at: dayOf(to, year) + 1000 * secondsOf(toTime ?? '2') - 60_000 * summer, offset: winter },
  ];
  const around = (at: number) => {
    const year = new Date(at).getUTCFullYear();
    return [-1, 0, 1].flatMap((each) => changesOf(year + each)).sort((a, b) => a.at - b.at);
  };
  return {
    offsetAt: (at) => around(at).findLast((each) => each.at <= at)?.offset ?? winter,
    next: (at) => around(at).find((each) => each.at > at)?.at ?? null,
  };
}

function secondsOf(text: string): number {
  const [hours = 0, minutes = 0, seconds = 0] = text.replace(/^[+-]/, '').split(':').map(Number);
  return (text.startsWith('-') ? -1 : 1) * (3600 * hours + 60 * minutes + seconds);
}

/** Returns the midnight, as of UTC, that begins a day of a year: `M3.2.0` is the second Sunday of March. */
function dayOf(rule: string, year: number): number {
  const midnight = (month: number, date: number) => Date.UTC(year, month, date);
  if (rule.startsWith('M')) {
    const [month = 0, week = 0, weekday = 0] = rule.slice(1).split('.').map(Number);
    const first = midnight(month - 1, 1);
    const date = 1 + ((weekday - new Date(first).getUTCDay() + 7) % 7) + 7 * (week - 1);
    const length = new Date(midnight(month, 0)).getUTCDate();
    return midnight(month - 1, date > length ? date - 7 : date);
  }
  if (!rule.startsWith('J')) return midnight(0, 1) + Number(rule) * dayMs;
  // 29 February is not counted.
  const isLeap = new Date(midnight(1, 29)).getUTCMonth() === 1;
  const date = Number(rule.slice(1));
  return midnight(0, isLeap && date >= 60 ? date + 1 : date);
}
