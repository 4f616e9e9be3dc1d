import { type Node, SyntaxKind } from 'typescript/unstable/ast';
import { type Checker, type Project, SignatureKind, type Type } from 'typescript/unstable/sync';

/** A line of a test that holds a store of the mirror or of the inbox, or names a table of theirs that is not published. */
export interface StorePlace {
  readonly by: 'type' | 'table';
  readonly file: string;
  /** Counted from 1. */
  readonly line: number;
  readonly text: string;
}

/** The tests whose subject the stores and rules are. */
const rooms = /^test\/(?:feed|mirror|receiver)\/|\.(?:rules|store)\.test\.ts$/;

/** Declared in the folders of the stores, and none: a read-only connection as a shop opens it, and options. */
const others: ReadonlySet<string> = new Set(['openMirrorForReading', 'MirrorOptions']);

/** A store is held by a name, or handed on by `parts['mirror']` or a call. */
const named: ReadonlySet<SyntaxKind> = new Set([
  SyntaxKind.Identifier,
  SyntaxKind.ElementAccessExpression,
  SyntaxKind.CallExpression,
]);

const unpublishedTable = /\b(?:FROM|INTO|UPDATE|JOIN|TABLE) (?:mirror\.|main\.)?_[a-z]/i;

/** Finds stores by their types, so that no other name and no destructuring hides one. */
export class StoreSearch {
  readonly #checker: Checker;
  readonly #project: Project;
  readonly #root: string;
  /** Answers by the number of a symbol: a store is met thousands of times. */
  readonly #known = new Map<number, boolean>();

  constructor(project: Project, root: string) {
    this.#checker = project.checker;
    this.#project = project;
    this.#root = root;
  }

  /** Returns the places outside those tests, file by file. */
  places(): StorePlace[] {
    return this.#project.program
      .getSourceFileNames()
      .filter((path) => path.startsWith(`${this.#root}/test/`))
      .map((path) => path.slice(this.#root.length + 1))
      .filter((file) => !rooms.test(file))
      .sort()
      .flatMap((file) => this.#inFile(file));
  }

  #inFile(file: string): StorePlace[] {
    const source = this.#project.program.getSourceFile(`${this.#root}/${file}`);
    if (source === undefined) throw new Error(`${file} is no file of ${this.#project.configFileName}`);
    const names: Node[] = [];
    const collect = (node: Node): void => {
      if (node.kind === SyntaxKind.ImportDeclaration) return;
      if (named.has(node.kind)) names.push(node);
      node.forEachChild(collect);
    };
    collect(source);
    const types = this.#typesOf(names);
    const lines = new Set<number>();
    for (const [index, name] of names.entries())
      if (this.#isStore(types[index])) lines.add(source.text.slice(0, name.getStart(source)).split('\n').length);
    return source.text.split('\n').flatMap((text, index): StorePlace[] => {
      const line = index + 1;
      const by = lines.has(line) ? 'type' : unpublishedTable.test(text) ? 'table' : null;
      return by === null ? [] : [{ by, file, line, text: text.trim() }];
    });
  }

  /** TypeScript 7.0.2 cannot hand out the type of some tuples: that of a tuple alone is left out, and no store. */
  #typesOf(names: readonly Node[]): (Type | undefined)[] {
    if (names.length === 0) return [];
    try {
      return this.#checker.getTypeAtLocation(names);
    } catch (error) {
      if (!isOfTuple(error)) throw error;
      if (names.length === 1) return [undefined];
      const half = names.length >> 1;
      return [...this.#typesOf(names.slice(0, half)), ...this.#typesOf(names.slice(half))];
    }
  }

  #isStore(type: Type | undefined): boolean {
    if (type === undefined) return false;
    if (type.isUnionType() || type.isIntersectionType()) return this.#parts(type).some((part) => this.#isStore(part));
    const symbol = type.getSymbol();
    if (symbol === undefined) return false;
    return this.#known.getOrInsertComputed(symbol.id, () => {
      const isDeclaredThere = symbol.declarations.some(({ path }) =>
        /\/src\/(?:mirror|receiver)\/|\/src\/.*\.store\.ts$/.test(path),
      );
      return isDeclaredThere && !others.has(symbol.name) && (this.#isCallable(type) || this.#hasMethod(type));
    });
  }

  #parts(type: Type & { getTypes(): readonly Type[] }): readonly Type[] {
    try {
      return type.getTypes();
    } catch (error) {
      if (isOfTuple(error)) return [];
      throw error;
    }
  }

  #isCallable(type: Type): boolean {
    return this.#checker.getSignaturesOfType(type, SignatureKind.Call).length > 0;
  }

  /** Rows and facts have none: those may be read everywhere. */
  #hasMethod(type: Type): boolean {
    return this.#checker.getPropertiesOfType(type).some((property) => {
      const own = this.#checker.getTypeOfSymbol(property);
      return own !== undefined && this.#isCallable(own);
    });
  }
}

const isOfTuple = (error: unknown) => error instanceof Error && error.message.includes('not *checker.TupleType');
