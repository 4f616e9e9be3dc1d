/** Formats a whole number like `38,000`. Intl's formatter takes longer to load than `status` may take. */
export function number(value: number): string {
  return String(value).replace(/\B(?=(\d{3})+$)/g, ',');
}

/** Returns a number with its noun, like `1 call` or `2,000 calls`. `many`: a plural that does not just end in "s". */
export function counted(value: number, one: string, many = `${one}s`): string {
  return `${number(value)} ${value === 1 ? one : many}`;
}

/** Formats a duration like `45 s`, `12 min`, `3 h 20 min` or `6 d`. */
export function duration(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return minutes % 60 === 0 ? `${hours} h` : `${hours} h ${minutes % 60} min`;
  return `${Math.round(hours / 24)} d`;
}

const spelledUnits = [
  ['day', 24 * 3_600_000, 48 * 3_600_000],
  ['hour', 3_600_000, 3_600_000],
  ['minute', 60_000, 60_000],
  ['second', 1000, 0],
] as const;

/** Formats a duration for a headline, in the largest unit that fits: `4 minutes`, `1 hour`, `2 days`. */
export function spelled(ms: number): string {
  const rounded = Math.max(0, Math.round(ms / 1000)) * 1000;
  const [unit, unitMs] = spelledUnits.find(([, , from]) => rounded >= from) ?? spelledUnits[3];
  const count = Math.floor(rounded / unitMs);
  return `${number(count)} ${unit}${count === 1 ? '' : 's'}`;
}

/** Formats how long work takes that is still to be done: not less than a second, unless there is none. */
export function remaining(ms: number): string {
  return duration(ms > 0 ? Math.max(ms, 1000) : 0);
}

/** Formats a share like `1.2 %`. */
export function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}

/** Formats an instant like `2026-11-21 08:00`, in UTC. */
export function minuteText(at: number): string {
  return new Date(at).toISOString().slice(0, 16).replace('T', ' ');
}

/** Formats an instant like `2026-11-21T08:00:00Z`. */
export function secondText(at: number): string {
  return `${new Date(at).toISOString().slice(0, 19)}Z`;
}

/** Formats the day of an instant like `2026-11-21`, in UTC. */
export function dayText(at: number): string {
  return new Date(at).toISOString().slice(0, 10);
}

/** Formats a size like `20.7 MiB`. */
export function megabytes(bytes: number): string {
  return `${(bytes / 1024 / 1024).toFixed(1)} MiB`;
}

/** Formats an instant in the past like `45 s ago`. */
export function ago(at: number, now: number): string {
  return `${duration(now - at)} ago`;
}

/*
 * Text of the service, and of anybody who posts to the receiver, reaches terminals, pages and logs. Characters that a
 * terminal obeys (controls, C1 too), that reverse a line (right-to-left overrides and isolates) or that are invisible
 * (tags) are shown as escapes. Facts in the mirror, and so in JSON, stay what the service sent.
 */
const steering = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\u{e0000}-\u{e007f}]/gu;

/** Returns outside text for one line: control characters, line ends too, become escapes like `\u001b`. */
export function printable(text: string): string {
  return text.replace(steering, escaped);
}

/** Does the same for text of several lines: line ends and tabs stay. */
export function printableLines(text: string): string {
  return text.replace(steering, (each) => (each === '\n' || each === '\t' ? each : escaped(each)));
}

/**
 * Escapes everything a command prints, as a last net for outside text that was not escaped before. Uses the escapes of
 * JSON, so that JSON keeps its meaning. Lets the sequence pass with which progress erases a line.
 */
export function printableOutput(text: string): string {
  return text.replace(steering, (each, at: number) => {
    const end = each === '\n' || each === '\t' || text.startsWith('\r\n', at);
    return end || text.startsWith(eraseLine, at) || text.startsWith(`\r${eraseLine}`, at) ? each : escaped(each);
  });
}

/** The sequence with which progress erases its last line. */
const eraseLine = '\u001b[K';

/** Cuts text to `most` characters, for a cell of a table. */
export function short(text: string, most = 120): string {
  return text.length <= most ? text : `${text.slice(0, most - 1).replace(/\p{Cs}$/u, '')}…`;
}

function escaped(each: string): string {
  return Array.from({ length: each.length }, (_, at) => `\\u${each.charCodeAt(at).toString(16).padStart(4, '0')}`).join(
    '',
  );
}

/** Formats the name of a resource for people: `Checkout information`. */
export function resourceLabel(resource: string): string {
  const spaced = resource.replaceAll('_', ' ');
  return `${spaced.charAt(0).toUpperCase()}${spaced.slice(1)}`;
}
