/** 38,000, of a whole number. The language's own formatter takes longer to load than `status` may take. */
export function number(value: number): string {
  return String(value).replace(/\B(?=(\d{3})+$)/g, ',');
}

/** A span of time as a person says it: `45 s`, `12 min`, `3 h 20 min`, `6 d`. */
export function duration(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return minutes % 60 === 0 ? `${hours} h` : `${hours} h ${minutes % 60} min`;
  return `${Math.round(hours / 24)} d`;
}

/** 20.7 MiB */
export function megabytes(bytes: number): string {
  return `${(bytes / 1024 / 1024).toFixed(1)} MiB`;
}

/** `45 s ago` */
export function ago(at: number, now: number): string {
  return `${duration(now - at)} ago`;
}

/*
 * Words of the service, and of whoever posts to the receiver, end up on terminals, pages and in logs. What a terminal
 * obeys (controls, C1 too), what turns a line around (right-to-left overrides and isolates) and what hides (tags) is
 * shown as an escape. Facts in the mirror, and so in JSON, stay what the service sent.
 */
const steering = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\u{e0000}-\u{e007f}]/gu;

/** Outside words for one line: with everything that steers, a line's end too, as an escape like `\u001b`. */
export function printable(text: string): string {
  return text.replace(steering, escaped);
}

/** The same for text of several lines: their ends and tabs stay. */
export function printableLines(text: string): string {
  return text.replace(steering, (each) => (each === '\n' || each === '\t' ? each : escaped(each)));
}

/**
 * The last door before a terminal or a file: what a command prints, where outside words were forgotten on the way.
 * Escapes are those of JSON, so that JSON stays what it is. Erasing a line is our own progress.
 */
export function printableOutput(text: string): string {
  return text.replace(steering, (each, at: number) => {
    const end = each === '\n' || each === '\t' || text.startsWith('\r\n', at);
    return end || text.startsWith(eraseLine, at) || text.startsWith(`\r${eraseLine}`, at) ? each : escaped(each);
  });
}

/** What progress is written over the last with. */
const eraseLine = '\u001b[K';

/** Text of any length, cut for a cell of a table. */
export function short(text: string, most = 120): string {
  return text.length <= most ? text : `${text.slice(0, most - 1).replace(/\p{Cs}$/u, '')}…`;
}

function escaped(each: string): string {
  return Array.from({ length: each.length }, (_, at) => `\\u${each.charCodeAt(at).toString(16).padStart(4, '0')}`).join(
    '',
  );
}

/** A resource as a person writes it: `Checkout information`. */
export function resourceLabel(resource: string): string {
  const spaced = resource.replaceAll('_', ' ');
  return `${spaced.charAt(0).toUpperCase()}${spaced.slice(1)}`;
}
