import { z } from 'zod';

const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const unitBytes: Readonly<Record<string, number>> = { B: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 };

/** `6h`, `7d`, `90s`, `500ms` in milliseconds; null for anything else. */
export function parseDuration(text: string): number | null {
  const parts = /^(\d{1,9})(ms|s|m|h|d)$/.exec(text);
  return parts === null ? null : Number(parts[1]) * (unitMs[parts[2] ?? ''] ?? Number.NaN);
}

/** The shortest way to write a duration: 3,600,000 is `1h`. */
export function printDuration(ms: number): string {
  const unit = ['d', 'h', 'm', 's'].find((each) => ms > 0 && ms % (unitMs[each] ?? 1) === 0) ?? 'ms';
  return `${ms / (unitMs[unit] ?? 1)}${unit}`;
}

/** `20MiB` in bytes; null for anything else. */
export function parseSize(text: string): number | null {
  const parts = /^(\d{1,9})(B|KiB|MiB|GiB)$/.exec(text);
  return parts === null ? null : Number(parts[1]) * (unitBytes[parts[2] ?? ''] ?? Number.NaN);
}

interface Limits {
  readonly min?: string;
  readonly max?: string;
}

/** A duration of at least `min` (1s) and at most `max`, in milliseconds once parsed. */
export function duration(fallback: string, { min = '1s', max }: Limits = {}) {
  const expected = `a duration like 6h or 7d${max === undefined ? '' : `, at most ${max}`}${min === '1s' ? '' : `, at least ${min}`}`;
  return z
    .string({ error: `expected ${expected}` })
    .regex(/^\d{1,9}(ms|s|m|h|d)$/, { error: `expected ${expected}`, abort: true })
    .refine((text) => inside(parseDuration(text), parseDuration(min), max === undefined ? null : parseDuration(max)), {
      error: `expected ${expected}`,
    })
    .default(fallback)
    .transform((text) => parseDuration(text) ?? 0);
}

/** A size like `20MiB`, in bytes once parsed. */
export function size(fallback: string) {
  return z
    .string({ error: 'expected a size like 20MiB' })
    .regex(/^\d{1,9}(B|KiB|MiB|GiB)$/, { error: 'expected a size like 20MiB' })
    .default(fallback)
    .transform((text) => parseSize(text) ?? 0);
}

function inside(value: number | null, min: number | null, max: number | null): boolean {
  return value !== null && value >= (min ?? 0) && value <= (max ?? Number.POSITIVE_INFINITY);
}
