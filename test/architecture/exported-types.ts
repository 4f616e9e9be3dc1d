/** A type that a file exports under a name of its own making; what it passes on from another file is no second one. */
export interface ExportedType {
  readonly file: string;
  readonly name: string;
}

/** The types that the text of a file exports. */
export function exportedTypesIn(file: string, text: string): ExportedType[] {
  const found = text.matchAll(/^export (?:declare |abstract )*(?:type|interface|class|enum) (\w+)/gm);
  return [...found].map(([, name = '']) => ({ file, name }));
}

/** Names that two files give to a type of their own, with the files: whoever imports by name alone mixes them up. */
export function homonyms(types: readonly ExportedType[]): string[] {
  const byName = Map.groupBy(types, ({ name }) => name);
  return [...byName]
    .filter(([, own]) => own.length > 1)
    .map(([name, own]) => `${name}: ${own.map(({ file }) => file).join(', ')}`)
    .sort();
}
