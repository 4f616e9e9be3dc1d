/** What reads the time or draws chance in a program. */
const inPrograms = [
  /\bDate\.now\b|new Date\(\)|\bTemporal\.Now|\bperformance\.now\b|\bhrtime\b/,
  /AbortSignal\.timeout|(?<!\.)\bsetTimeout\(|\bsetInterval\(/,
  /\bMath\.random\b|\brandomUUID\b|\brandomBytes\b|\brandomInt\b|\brandomFill|\bgetRandomValues\b/,
];

/** The same in SQL. */
const inSql = [
  /\b(?:date|time|datetime|julianday|unixepoch|strftime|timediff)\([^()]*'now'|\bunixepoch\(\)/i,
  /\brandom\(\)|\brandomblob\(|\bCURRENT_(?:TIMESTAMP|TIME|DATE)\b/i,
];

const allowed: Readonly<Record<string, readonly RegExp[]>> = {
  'kernel/clock.ts': [...inPrograms, ...inSql],
  // A script that runs in the browser.
  'commands/sandbox/shop/script.ts': inPrograms,
};

/** Files that read a clock or draw chance, in their own words or by SQLite's, and are not allowed to. */
export function readingClockOrChance(files: readonly (readonly [file: string, text: string])[]): string[] {
  const breaks = (file: string, text: string) =>
    [...inPrograms, ...inSql].some((pattern) => !allowed[file]?.includes(pattern) && pattern.test(text));
  return files.filter(([file, text]) => breaks(file, text)).map(([file]) => file);
}

/** Statements of migrations that ask SQLite for the time or for chance and are no view: a view has its reader's clock. */
export function statementsWithClock(migrations: readonly string[]): string[] {
  return migrations
    .flatMap((text) => text.replaceAll(/--.*$/gm, '').split(/(?<=;)\s*(?=CREATE|DROP|ALTER|INSERT|UPDATE|DELETE|$)/))
    .filter((statement) => !/^\s*CREATE VIEW\b/.test(statement) && inSql.some((pattern) => pattern.test(statement)))
    .map((statement) => statement.trim());
}

/** A cast to an instant, or to a type that names one. */
const cast = /\bas (?:unknown as )?[^;\n]*\bInstant\b|(?<![\w>])<Instant>\(/;

/** Files that make an instant of a number without `clock.ts`. An import that renames one is no cast. */
export function castingInstants(files: readonly (readonly [file: string, text: string])[]): string[] {
  return files
    .filter(
      ([file, text]) => file !== 'kernel/clock.ts' && text.split('\n').some((line) => isCode(line) && cast.test(line)),
    )
    .map(([file]) => file);
}

function isCode(line: string): boolean {
  return !/^\s*(?:\*|\/\/|\/\*|import\b|export \{)/.test(line);
}

/** Files of the rooms that decide and store that take more of the clock than instants. */
export function takingMoreThanInstants(files: readonly (readonly [file: string, text: string])[]): string[] {
  return files
    .filter(([file]) => /\.(?:rules|store)\.ts$|^mirror\//.test(file))
    .filter(([, text]) => {
      const all = text.match(/'[\w./]*\/clock\.ts'/g) ?? [];
      const instants =
        text.match(
          /^import (?:type )?\{(?: ?(?:type Instant|Instant|instant|\w+Ms),?)+ \} from '[\w./]*\/clock\.ts';$/gm,
        ) ?? [];
      return instants.length < all.length;
    })
    .map(([file]) => file);
}
