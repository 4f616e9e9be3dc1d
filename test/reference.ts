import { jsonSchema, type SchemaNode } from '../src/config/json-schema.ts';
import { durationPattern, printDuration, printSize, sizePattern } from '../src/config/units.ts';
import { metricFamilies } from '../src/says/metrics/metric-families.ts';
import type { Member } from '../src/service/member.rules.ts';
import { rowShapes } from '../src/service/shapes.rules.ts';
import { document } from './documents.ts';
import { everyCommand } from './fakes/every-command.ts';
import { runHere } from './fakes/run-here.ts';
import { guarantees } from './faults/mutations/promises.ts';

/* The parts of docs/reference/ that are made from the code, but for columns and conditions: a test holds them equal. */

function table(head: string, rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map((each) => each.replaceAll('|', '\\|')).join(' | ')} |`;
  const names = head.split(', ');
  return [line(names), `|${names.map(() => '---|').join('')}`, ...rows.map(line)].join('\n');
}

const code = (text: string) => `\`${text}\``;

/** As much of the schema as the page shows. */
interface Node extends SchemaNode {
  readonly properties?: Readonly<Record<string, Node>>;
  readonly items?: Node;
  readonly anyOf?: readonly Node[];
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly string[];
  readonly const?: string;
  readonly minimum?: number;
  readonly exclusiveMinimum?: number;
  readonly maximum?: number;
}

function allowed(node: Node): string {
  if (node.anyOf !== undefined) return node.anyOf.map(allowed).join(' or ');
  if (node.const !== undefined) return node.const;
  if (node.enum !== undefined) return node.enum.join(', ');
  if (node.pattern === durationPattern.source) return 'duration';
  if (node.pattern === sizePattern.source) return 'size';
  if (node.type === 'array') return node.items?.properties === undefined ? 'list' : 'list of entries';
  if (node.type === 'boolean') return 'true, false';
  if (node.type === 'null') return 'null';
  if (node.maximum === undefined || node.maximum > 1e9)
    return typeof node.type === 'string' ? node.type : 'string or null';
  return `${node.exclusiveMinimum === undefined ? (node.minimum ?? 0) : `above ${node.exclusiveMinimum}`} to ${node.maximum}`;
}

function keyRows(node: Node, name: string): string[][] {
  const inside = Object.entries(node.properties ?? {}).flatMap(([each, child]) => keyRows(child, `${name}.${each}`));
  const entries = Object.entries(node.items?.properties ?? {});
  const listed = entries.flatMap(([each, child]) => keyRows(child, `${name}[].${each}`));
  const isSection = node.properties !== undefined;
  const usual = isSection || node.default === undefined ? '' : code(JSON.stringify(node.default).replaceAll('"', ''));
  if (isSection && node.description === undefined) return inside;
  return [[code(name), usual, isSection ? '' : allowed(node), node.description ?? ''], ...inside, ...listed];
}

/** The tables of docs/reference/keys.md. */
export function keys(): string {
  return Object.entries((jsonSchema() as Node).properties ?? {})
    .map(([name, node]) => `## ${name}\n\n${table('Key, Default, Allowed, Meaning', keyRows(node, name))}`)
    .join('\n\n');
}

/** Labels of each metric as docs/reference/metrics.md has them: test/admin/metrics.test.ts compares them with `/metrics`. */
export const labels = new Map(
  [...document('docs/reference/metrics.md').matchAll(/^\| `(\w+)` \| (.*?) \|/gm)].map(([, name, of = '']) => [
    name,
    of,
  ]),
);

/** The table of docs/reference/metrics.md. */
export const metrics = (): string =>
  table(
    'Metric, Labels, Meaning',
    metricFamilies.map(({ name, help }) => [code(name), labels.get(name) ?? '', help]),
  );

/** The help of each command without its examples, below the table of all, as docs/reference/commands.md has them. */
export async function commands(): Promise<string> {
  const helpOf = async (args: readonly string[]) => {
    const { stdout } = await runHere([...args, '--help'], { env: { COLUMNS: '120' } });
    const [text = ''] = stdout.replace(/^Usage: /, '').split(/\n(?:Examples|Commands):\n/);
    const rest = text.replace(/^ {2}(-h, --help|--json) .*\n( {10}.*\n)*/gm, '');
    return rest.replace(/\nOptions:\n(?=\n|$)/g, '').trimEnd();
  };
  const [, ...all] = await everyCommand();
  const top = (await runHere(['--help'], { env: { COLUMNS: '500' } })).stdout.split('\nCommands:')[0] ?? '';
  let group = '';
  const rows = top.split('\n').flatMap((line) => {
    group = /^(\w.*):$/.exec(line)?.[1] ?? group;
    const [, name = '', summary = ''] = /^ {2}(\w+) {2,}(.*)$/.exec(line) ?? [];
    return name === '' ? [] : [{ name, cells: [`[\`${name}\`](#catalogued-${name})`, group, summary] }];
  });
  const texts = rows.map(async ({ name }) => {
    const own = all.filter(([first]) => first === name);
    return `## catalogued ${name}\n\n\`\`\`text\n${(await Promise.all(own.map(helpOf))).join('\n\n')}\n\`\`\``;
  });
  return [
    table(
      'Command, Group, Does',
      rows.map(({ cells }) => cells),
    ),
    ...(await Promise.all(texts)),
  ].join('\n\n');
}

/** The members of a row of each kind, as docs/reference/members.md lists them. */
export const members = (): string =>
  table(
    'Rows of, Members',
    Object.entries(rowShapes).map(([kind, shape]) => {
      const [of = '', ...rest] = kind.split(' ');
      const names = Object.entries<Member<unknown, null>>(shape.members).map(([name, { terms }]) => {
        const written = [name, ...terms.aliases].map(code).join(' or ');
        return `${written} (${terms.form}${terms.expected ? '' : ', optional'})`;
      });
      return [[of === 'products' ? '`products`, `product`' : code(of), ...rest].join(' '), names.join(', ')];
    }),
  );

/** The list of docs/reference/promises.md. */
export const promises = (): string => guarantees.map(({ promise }) => `- ${promise}.\n`).join('');

/** Returns the number with which a constant or member is declared in a source file: the first of its name. */
function declared(path: string, name: string): string {
  const [, product = ''] =
    new RegExp(`\\b${name}(?: =|:) ([\\d_ *]+\\b)`).exec(document(path).replaceAll('mebibyte', '1024 ** 2')) ?? [];
  if (product === '') throw new Error(`${path} declares no number ${name}`);
  const powers = product
    .replaceAll('_', '')
    .split(' * ')
    .map((each) => each.split(' ** ').map(Number));
  const value = powers.reduce((all, [base = 1, power = 1]) => all * base ** power, 1);
  if (/Ms$/.test(name)) return printDuration(value).replace('d', ' days').replace('h', ' h').replace('m', ' min');
  return value >= 2 ** 15 && value % 2 ** 15 === 0
    ? printSize(value).replace(/(?=[KM]iB)/, ' ')
    : value.toLocaleString('en');
}

/** docs/reference/limits.md, with each number as the source declares it that a comment behind it names. */
export const withLimits = (text: string): string =>
  text.replace(/(?<=\| )[^|]*(?=<!--([\w/.-]+):(\w+)-->)/g, (_, path: string, name: string) =>
    declared(`src/${path}`, name),
  );
