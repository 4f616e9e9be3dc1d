import { contract, contractVersion } from '../../../src/mirror/contract/contract.ts';
import type { Column, Table } from '../../../src/mirror/contract/table.ts';
import { withParts } from '../../documents.ts';
import { outputs, reader } from './outputs.ts';

/* Texts that are made from the declarations in src/mirror/contract: a test makes each again and holds it equal. */

const tables: readonly Table[] = Object.values(contract);

/** A column as schema/contract.json has it. */
function described({ type, unit, words, from, null: why, byClock, public: shown, means }: Column) {
  return { type, unit, words, from, null: why, clock: byClock, public: shown, means };
}

/** schema/contract.json: a line a column. */
export function contractJson(): string {
  const member = ([name, value]: [string, unknown]) => `${JSON.stringify(name)}: ${JSON.stringify(value)}`;
  const list = (entries: [string, unknown][], indent: string) =>
    entries.map((entry) => `\n${indent}${member(entry)}`).join(',');
  const views = tables.map(
    ({ name, rows, key, columns }) => `
    "${name}": {
      "rows": ${JSON.stringify(rows)},
      "key": ${JSON.stringify(key)},
      "columns": {${list(
        Object.entries(columns).map(([column, declared]) => [column, described(declared)]),
        '        ',
      )}
      }
    }`,
  );
  return `{
  "contract_version": ${contractVersion},
  "views": {${views.join(',')}
  },
  "outputs": {${list(Object.entries(outputs), '    ')}
  },
  "reader": {${list(Object.entries(reader), '    ')}
  }
}
`;
}

/** A cell of a table in Markdown. */
const cell = (text: string) => text.replaceAll('|', '\\|');

function typeCell({ type, unit, words }: Column): string {
  if (words !== undefined) return words.length > 12 ? `${type}, a word of ${words.length}` : words.join(', ');
  return unit === undefined ? type : `${type}, ${unit}`;
}

function meaningCell({ means, null: why, byClock, public: shown }: Column): string {
  const notes = [
    ...(why === undefined ? [] : [`NULL: ${why}.`]),
    ...(byClock ? ['By the clock.'] : []),
    ...(shown === false ? ['Never public.'] : []),
  ];
  return cell([means, ...notes].join(' '));
}

/** The parts of docs/reference/columns.md between `<!-- name -->` and `<!-- end of name -->`. */
const reference: Readonly<Record<string, string>> = {
  views: [
    '| View | One row for |',
    '|---|---|',
    ...tables.map(({ name, rows }) => `| \`${name}\` | ${cell(rows)} |`),
  ].join('\n'),
  columns: tables
    .map(({ name, rows, key, columns }) =>
      [
        `### ${name}`,
        '',
        `One row for ${rows}. Key: ${key.map((column) => `\`${column}\``).join(', ')}.`,
        '',
        '| Column | Type | Meaning |',
        '|---|---|---|',
        ...Object.entries(columns).map(
          ([column, declared]) => `| \`${column}\` | ${cell(typeCell(declared))} | ${meaningCell(declared)} |`,
        ),
      ].join('\n'),
    )
    .join('\n\n'),
};

/** Returns a document with its marked parts made again. */
export const withReference = (text: string): string => withParts(text, reference);
