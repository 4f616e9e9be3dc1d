import { type Document, isMap, isNode, isScalar, LineCounter, parseDocument, stringify } from 'yaml';

/** Something wrong with a configuration, and where: `line` is null for what stands in no file. */
export interface Problem {
  readonly line: number | null;
  readonly text: string;
}

/** A configuration file as it was written, so that a problem can name its line. */
export interface ConfigDocument {
  /** The values; undefined where the text is no YAML. */
  readonly values: unknown;
  /** Problems of the text itself. */
  readonly problems: readonly Problem[];
  /** Returns the line of a key, or of its nearest parent that is written in the text; null if there is none. */
  lineOf(path: readonly PropertyKey[]): number | null;
}

const largest = 1024 * 1024;
const tooLarge: Problem = { line: 1, text: 'the file is larger than 1 MiB; expected a configuration' };

/** Reads YAML 1.2. Aliases are not expanded beyond a few, so that a small file cannot become a large one. */
export function readDocument(text: string): ConfigDocument {
  if (text.length > largest) return unreadable([tooLarge]);
  const lines = new LineCounter();
  const lineAt = (offset: number) => lines.linePos(Math.min(offset, text.length)).line;
  try {
    const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, stringKeys: true });
    const wrong = [...document.errors, ...document.warnings];
    const problems = wrong.map(({ code, message, pos }) => ({
      line: lineAt(pos[0]),
      text: code === 'DUPLICATE_KEY' ? duplicateKey(text, pos[0]) : yamlProblem(message),
    }));
    // A key that stands twice leaves the rest readable: other problems are reported too.
    if (wrong.some(({ code }) => code !== 'DUPLICATE_KEY')) return unreadable(firstOfEachLine(problems));
    const values: unknown = document.toJS({ maxAliasCount: 20 }) ?? {};
    return {
      values,
      problems,
      lineOf: (path) => {
        const offset = offsetOf(document, path);
        return offset === null ? null : lineAt(offset);
      },
    };
  } catch (error) {
    // Too many aliases, an alias of nothing, or nesting deeper than the stack.
    return unreadable([{ line: null, text: yamlProblem(error instanceof Error ? error.message : String(error)) }]);
  }
}

function unreadable(problems: readonly Problem[]): ConfigDocument {
  return { values: undefined, problems, lineOf: () => null };
}

function yamlProblem(message: string): string {
  const [first = ''] = message.split('\n');
  return `not readable as YAML: ${first.charAt(0).toLowerCase()}${first.slice(1)}`;
}

function duplicateKey(text: string, offset: number): string {
  const name = /^["']?([^\s"':,{}]+)/.exec(text.slice(offset))?.[1] ?? 'a key';
  return `${name}: appears twice in the same section; expected it once`;
}

/** One mistake often makes the parser complain several times about the same line. */
function firstOfEachLine(problems: readonly Problem[]): Problem[] {
  return problems.filter(({ line }, index) => problems.findIndex((each) => each.line === line) === index);
}

function offsetOf(document: Document, path: readonly PropertyKey[]): number | null {
  for (let length = path.length; length > 0; length -= 1) {
    const parent = length === 1 ? document.contents : document.getIn(path.slice(0, length - 1), true);
    const name = path[length - 1];
    if (isMap(parent)) {
      const pair = parent.items.findLast(({ key }) => isScalar(key) && key.value === name);
      if (pair !== undefined && isNode(pair.key)) return pair.key.range?.[0] ?? null;
    }
    const node = document.getIn(path.slice(0, length), true);
    if (isNode(node)) return node.range?.[0] ?? null;
  }
  return null;
}

/** Returns a configuration as a person would write it. */
export function documentText(values: object): string {
  return stringify(values);
}
