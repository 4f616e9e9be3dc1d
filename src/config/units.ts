import { z } from 'zod';

const unitMs = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
const unitBytes = { B: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 } as const;

/** Format of durations in the file; also the `pattern` of its JSON Schema. */
export const durationPattern = /^\d{1,9}(ms|s|m|h|d)$/;
/** Format of sizes in the file; also the `pattern` of its JSON Schema. */
export const sizePattern = /^\d{1,9}(B|KiB|MiB|GiB)$/;

/** `6h`, `7d`, `90s`, `500ms` in milliseconds; null for anything else. */
export function parseDuration(text: string): number | null {
  return durationPattern.test(text) ? scaled(text, unitMs) : null;
}

/** The shortest way to write a duration: 3,600,000 is `1h`. */
export function printDuration(ms: number): string {
  return unscaled(ms, unitMs);
}

/** `20MiB` in bytes; null for anything else. */
export function parseSize(text: string): number | null {
  return sizePattern.test(text) ? scaled(text, unitBytes) : null;
}

/** The shortest way to write a size: 20,971,520 is `20MiB`. */
export function printSize(bytes: number): string {
  return unscaled(bytes, unitBytes);
}

interface Limits {
  readonly min?: string;
  readonly max?: string;
  /** Words for `max` in the error message; absent: "the longest that is supported". */
  readonly maxIs?: string;
}

/** A duration of at least `min` (1s) and at most `max` (ten years); milliseconds once parsed. */
export function duration(fallback: string, limits: Limits = {}) {
  return durationText(limits).default(fallback).transform(toMs);
}

/** A duration that is null unless it is set: nothing happens at all then. */
export function optionalDuration(limits: Limits = {}) {
  return durationText(limits).transform(toMs).nullable().prefault(null);
}

/** A duration without a default, for keys that may be left out. */
export function durationIfSet(limits: Limits = {}) {
  return durationText(limits).transform(toMs).optional();
}

/** A size like `20MiB`; bytes once parsed. */
export function size(fallback: string) {
  const error = 'expected a size like 20MiB';
  return z
    .string({ error })
    .regex(sizePattern, { error })
    .refine((text) => inside(parseSize(text), 1, Number.MAX_SAFE_INTEGER), {
      error: 'is out of range; expected a size like 20MiB',
    })
    .default(fallback)
    .transform((text) => parseSize(text) ?? 0);
}

function durationText({ min = '1s', max = '3650d', maxIs = 'the longest that is supported' }: Limits) {
  const error = 'expected a duration like 90s, 6h or 7d';
  return z
    .string({ error })
    .regex(durationPattern, { error })
    .refine((text) => inside(parseDuration(text), toMs(min), Number.POSITIVE_INFINITY), {
      error: `is too short; expected at least ${min}`,
    })
    .refine((text) => inside(parseDuration(text), 0, toMs(max)), {
      error: `is longer than ${maxIs}; expected at most ${max}`,
    });
}

function toMs(text: string): number {
  return parseDuration(text) ?? 0;
}

/** Null, which is no number at all, has its own message. */
function inside(value: number | null, min: number, max: number): boolean {
  return value === null || (value >= min && value <= max);
}

function scaled(text: string, units: Readonly<Record<string, number>>): number {
  const digits = text.replace(/\D+$/, '');
  return Number(digits) * (units[text.slice(digits.length)] ?? Number.NaN);
}

function unscaled(value: number, units: Readonly<Record<string, number>>): string {
  const largestFirst = Object.entries(units).reverse();
  const [unit, factor] = largestFirst.find(([, each]) => value > 0 && value % each === 0) ??
    largestFirst.at(-1) ?? ['', 1];
  return `${value / factor}${unit}`;
}
