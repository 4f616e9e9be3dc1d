import type { Tests } from './scratch.ts';

/** Returns a pattern of a title as it is printed; what a row puts into it may be anything. */
export function patternOf(parts: readonly string[]): string {
  const fixed = parts.flatMap((part) => part.split(/%[a-z]|\$[\w.]+/));
  return `(?:^| )${fixed.map((part) => RegExp.escape(part)).join('.*')}$`;
}

/** The tests of a command line: `test/a.test.ts`, or `test/a.test.ts > a title` once for each title. */
export function namedTests(args: readonly string[]): Tests[] {
  const named = args.map((each) => {
    const [file = '', ...titles] = each.split(' > ');
    return { file, title: titles.length === 0 ? null : patternOf([titles.join(' ')]) };
  });
  return [...Map.groupBy(named, ({ file }) => file)].map(([file, list]) => {
    const titles = list.flatMap(({ title }) => title ?? []);
    return { file, titles: titles.length < list.length ? null : titles };
  });
}
