import { type Row, type TestName, testOf } from './row.ts';
import { rows } from './rows.ts';
import { trackRecord } from './track-record.ts';

const heading = `| # | Fault, and how it is injected | Expected | Measured | Control | Shown by | Thought through, not run |
|---|---|---|---|---|---|---|`;

const recordHeading = `| Bug | Found by | Mended in | Still wrong at | Held by |
|---|---|---|---|---|`;

const link = (name: TestName) => `[${name.split(' | ')[0]}](../${testOf(name).file})`;
const links = (names: readonly TestName[]) => [...new Set(names.map(link))];

/** The run or the tests that must fail where the rule is broken. */
export function controlOf({ harness, controls = [] }: Row): string {
  return [...(harness ? [harness] : []), ...links(controls)].join(', ') || '–';
}

function shownBy({ id, harness, by, tests = [], command }: Row): string {
  const runs = [...(harness === undefined ? [] : [id]), ...(by === undefined ? [] : [by])];
  return [
    ...runs.map((name) => `\`npm run faults -- --only ${name}\``),
    ...links(tests),
    ...(command === undefined ? [] : [`\`npm run ${command}\``]),
  ].join(', ');
}

function line(row: Row, measured: string): string {
  const { id, fault, injected, expected, open = '' } = row;
  return `| ${id} | ${fault}: ${injected} | ${expected} | ${measured} | ${controlOf(row)} | ${shownBy(row)} | ${open} |`;
}

/** What a document says was measured, by the fault's id. */
function measuredIn(text: string): Map<string, string> {
  return new Map(
    [...text.matchAll(/^\| ([A-Z]\d+|[a-z]+) \|(.*)\|$/gm)].map(([, id = '', cells = '']) => [
      id,
      cells.split(' | ')[2]?.trim() ?? '',
    ]),
  );
}

/** The document with its tables as they have to be: `measured` where it knows the row, and what stood there where not. */
export function withTables(text: string, measured: ReadonlyMap<string, string> = new Map()): string {
  const stood = measuredIn(text);
  const lines = rows.map((row) => line(row, measured.get(row.id) ?? stood.get(row.id) ?? 'not run yet'));
  const found = trackRecord.map(
    ({ bug, by, mended, wrong, test }) => `| ${bug} | ${by} | ${mended ?? '–'} | ${wrong} | ${link(test)} |`,
  );
  return text
    .replace(/\| # \| Fault,[\s\S]*?(?=\n\n)/, () => [heading, ...lines].join('\n'))
    .replace(/\| Bug \|[\s\S]*?(?=\n\n)/, () => [recordHeading, ...found].join('\n'));
}
