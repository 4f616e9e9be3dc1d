type Texts = readonly (readonly [file: string, text: string])[];

/** The builders of the statements of mirror.db and inbox.db; types alone build nothing. */
const builder = /^import \{(?! type )[^}]*\} from '[\w./]*(?:sql\/sql|(?<!postgres)\/tables)\.ts';$/m;

/** Files that build statements of the two files, and are no `.store.ts`. */
export function buildingStatements(files: Texts): string[] {
  return named(
    files,
    (file, text) => !/\.store\.ts$|^(?:mirror|copies)\/|^receiver\/inbox\.ts$/.test(file) && builder.test(text),
  );
}

/** A question to the service, to the host of an image, or to a subscription. */
const question =
  /\b(?:upstream|reads)\.(?:[a-z]+Page|product|checkoutInformation|variants|availability)\(|\bhost\.get\(/;

/** Files that ask the service, and are no `.ask.ts`. */
export function asking(files: Texts): string[] {
  return named(files, (file, text) => !/\.ask\.ts$|^(?:service|sandbox)\//.test(file) && question.test(text));
}

function named(files: Texts, breaks: (file: string, text: string) => boolean): string[] {
  return files.filter(([file, text]) => breaks(file, text)).map(([file]) => file);
}
