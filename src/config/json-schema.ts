import { z } from 'zod';
import { configSchema } from './schema.ts';
import { durationPattern, sizePattern } from './units.ts';

/** As much of JSON Schema as the configuration's own schema uses. */
export interface SchemaNode {
  readonly type?: string;
  readonly pattern?: string;
  readonly properties?: Readonly<Record<string, SchemaNode>>;
  readonly items?: SchemaNode;
  readonly anyOf?: readonly SchemaNode[];
}

/** Kind of value that a key holds: decides how a variable is read, and how a value is shown. */
export type SettingKind = 'text' | 'number' | 'flag' | 'duration' | 'size' | 'list' | 'structure';

export interface Key {
  /** `cadence.availability.near.every` */
  readonly name: string;
  readonly kind: SettingKind;
  readonly nullable: boolean;
}

/** Returns the JSON Schema of a configuration file. */
export function jsonSchema(): Record<string, unknown> {
  const { $schema, ...schema } = z.toJSONSchema(configSchema, { io: 'input', unrepresentable: 'any' });
  return { $schema, title: 'Configuration of catalogued', ...schema };
}

/** Returns every key that holds a value, in the order of the schema; what stands inside lists has none. */
export function configKeys(): Key[] {
  return leaves(jsonSchema() as SchemaNode, '');
}

/**
 * Returns every name that may stand in a file, sections and keys inside lists too: `cadence`, `subscriptions.0.type`.
 */
export function knownNames(): string[] {
  return names(jsonSchema() as SchemaNode, '');
}

function leaves(node: SchemaNode, name: string): Key[] {
  if (node.properties === undefined) return [{ name, kind: kindOf(node), nullable: isNullable(node) }];
  return Object.entries(node.properties).flatMap(([each, child]) => leaves(child, under(name, each)));
}

function names(node: SchemaNode, name: string): string[] {
  const inside = Object.entries(node.properties ?? {}).flatMap(([each, child]) => names(child, under(name, each)));
  const items = node.items?.properties === undefined ? [] : names(node.items, `${name}.0`);
  return name === '' ? inside : [name, ...inside, ...items];
}

function under(parent: string, name: string): string {
  return parent === '' ? name : `${parent}.${name}`;
}

function kindOf(node: SchemaNode): SettingKind {
  const { type, pattern, items } = node.anyOf?.find((each) => each.type !== 'null') ?? node;
  if (pattern === durationPattern.source) return 'duration';
  if (pattern === sizePattern.source) return 'size';
  if (type === 'array') return items?.type === 'object' ? 'structure' : 'list';
  if (type === 'object') return 'structure';
  if (type === 'boolean') return 'flag';
  return type === 'integer' || type === 'number' ? 'number' : 'text';
}

function isNullable({ type, anyOf }: SchemaNode): boolean {
  return type === 'null' || (anyOf?.some((each) => each.type === 'null') ?? false);
}
