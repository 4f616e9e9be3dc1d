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

/** Words of the service that end up on a terminal: without what a terminal obeys, or what turns a line around. */
export function printable(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, '?');
}

/** A resource as a person writes it: `Checkout information`. */
export function inWords(resource: string): string {
  const spaced = resource.replaceAll('_', ' ');
  return `${spaced.charAt(0).toUpperCase()}${spaced.slice(1)}`;
}
