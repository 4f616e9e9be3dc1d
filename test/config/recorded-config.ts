import { fileURLToPath } from 'node:url';
import type { Config } from '../../src/config/load.ts';

const source = fileURLToPath(new URL('../../src/', import.meta.url));

/** The file of src that first reads a key, by the key: what stands in lists is `subscriptions.0.id`. */
export interface KeyReaders {
  /** By its name. */
  readonly read: Map<string, string>;
  /** With everything beside it, by a spread or `Object.entries`: whether anybody looks at the copy is not known. */
  readonly copied: Map<string, string>;
}

/** Returns the configuration with every read of a key noted in `readers`; the checks of src/config and tests count for nothing. */
export function recorded(config: Config, readers: KeyReaders): Config {
  return noted(config, '', readers);
}

function noted<Node extends object>(node: Node, name: string, readers: KeyReaders): Node {
  let enumerated: PropertyKey | null = null;
  const isList = Array.isArray(node);
  return new Proxy(node, {
    // Who copies everything asks for each key whether it is enumerable, and then reads it.
    getOwnPropertyDescriptor: (target, property) => {
      enumerated = property;
      return Reflect.getOwnPropertyDescriptor(target, property);
    },
    get: (target, property, receiver) => {
      const copied = enumerated === property;
      enumerated = null;
      const value: unknown = Reflect.get(target, property, receiver);
      if (isList) note(readers.read, name);
      if (typeof value === 'object' && value !== null) return noted(value, under(name, isList, property), readers);
      if (!isList && typeof property === 'string')
        note(copied ? readers.copied : readers.read, under(name, false, property));
      return value;
    },
  });
}

/** Notes the nearest caller in src, unless src/config asks: secrets.ts is its only file that a key can be meant for. */
function note(found: Map<string, string>, key: string): void {
  if (found.has(key)) return;
  const files = callers().flatMap((frame) => frame.split(source)[1]?.replace(/:.*/s, '') ?? []);
  const isChecked = files.some((file) => file.startsWith('config/') && file !== 'config/secrets.ts');
  if (files[0] !== undefined && !isChecked) found.set(key, files[0]);
}

function callers(): string[] {
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = 40;
  const { stack = '' } = new Error();
  Error.stackTraceLimit = limit;
  return stack.split('\n');
}

function under(name: string, isList: boolean, property: PropertyKey): string {
  return `${name === '' ? '' : `${name}.`}${isList ? '0' : String(property)}`;
}
