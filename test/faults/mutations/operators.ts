import { parseAst } from 'vitest/node';
import { type Mutation, replaced } from './mutation.ts';

/** What operators look at in a node of the parsed program. */
interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly operator?: string;
  readonly value?: unknown;
  readonly left?: Node;
  readonly right?: Node;
  readonly test?: Node;
  readonly alternate?: Node | null;
  readonly expression?: Node;
}

const flipped: Record<string, string> = {
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
  '===': '!==',
  '!==': '===',
  '&&': '||',
  '||': '&&',
  '+': '-',
  '-': '+',
};

/** Types, and what only names things: nothing in them is done. */
const notCode = /^TS(?!As|NonNull|Satisfies)|^Import|^ExportNamed$/;

/** Every mutation of a file: a comparison, a sign or a junction flipped, a condition negated, a constant changed, a statement or a guard left out. */
export function mutationsOf(file: string, source: string): Mutation[] {
  const found: Mutation[] = [];
  const add = (at: { start: number; end: number }, by: string, kind: string) =>
    found.push(replaced(file, source, { start: at.start, end: at.end, by, kind }));
  const visit = (node: Node) => {
    if (notCode.test(node.type)) return;
    mutate(node, source, add);
    for (const child of Object.values(node).flat()) if (isNode(child)) visit(child);
  };
  visit(parseAst(source, { lang: 'ts' }) as unknown as Node);
  return found;
}

function mutate(node: Node, source: string, add: (at: Node, by: string, kind: string) => void) {
  const text = (of: Node) => source.slice(of.start, of.end);
  const { type, operator = '', left, right, test, value } = node;
  const other = flipped[operator];
  if ((type === 'BinaryExpression' || type === 'LogicalExpression') && other !== undefined && left && right) {
    const between = { ...node, start: left.end, end: right.start };
    add(between, text(between).replace(operator, other), 'flips');
  }
  if ((type === 'IfStatement' || type === 'ConditionalExpression') && test) add(test, `!(${text(test)})`, 'negates');
  if (type === 'IfStatement' && !node.alternate) add(node, ';', 'leaves out a guard');
  if (type === 'ExpressionStatement' && node.expression?.type !== 'Literal') add(node, ';', 'leaves out a statement');
  if (type === 'Literal' && typeof value === 'number')
    add(node, String(value === 0 ? 1 : 2 * value), 'changes a constant');
  if (type === 'Literal' && typeof value === 'boolean') add(node, String(!value), 'changes a constant');
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string';
}
