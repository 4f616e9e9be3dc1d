/** The values that a setting accepts: as a description, and as a test. */
export interface Values {
  readonly says: string;
  fits(value: unknown): boolean;
}

export const share: Values = { says: 'a share from 0 to 1', fits: (value) => isBetween(value, 0, 1) };

export const milliseconds: Values = {
  says: 'milliseconds from 0 to 3600000',
  fits: (value) => isBetween(value, 0, 3_600_000),
};

export function oneOf(...words: readonly string[]): Values {
  return { says: words.join(' or '), fits: (value) => words.includes(value as string) };
}

export function isBetween(value: unknown, least: number, most: number): boolean {
  return typeof value === 'number' && value >= least && value <= most;
}

/**
 * Returns the reason why a value from outside is not a set of these settings; null: it is one. `called`: the word for
 * one setting.
 */
export function refuseSettings(
  settings: Readonly<Record<string, Values>>,
  called: string,
  given: unknown,
): string | null {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return 'expected names and values';
  for (const [name, value] of Object.entries(given)) {
    const values = Object.hasOwn(settings, name) ? settings[name] : undefined;
    if (values === undefined) return `there is no ${called} ${name}; there are ${Object.keys(settings).join(', ')}`;
    if (!values.fits(value)) return `${name} is ${JSON.stringify(value)}; expected ${values.says}`;
  }
  return null;
}
