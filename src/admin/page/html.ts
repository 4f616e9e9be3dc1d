import { printableLines } from '../../format.ts';

/** Markup that is safe to send; only `html` creates it. */
export interface Html {
  readonly markup: string;
}

type Value = Html | string | number | null | readonly Html[];

/** Builds markup from a template. Escapes every value except other markup and lists of it; null becomes nothing. */
export function html(parts: TemplateStringsArray, ...values: readonly Value[]): Html {
  return { markup: parts.reduce((text, part, index) => `${text}${markupOf(values[index - 1] ?? null)}${part}`) };
}

function markupOf(value: Value): string {
  if (value === null) return '';
  if (typeof value === 'string' || typeof value === 'number') return escapeHtml(String(value));
  return 'markup' in value ? value.markup : value.map(({ markup }) => markup).join('');
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function escapeHtml(text: string): string {
  return printableLines(text).replace(/[&<>"']/g, (character) => entities[character] ?? '');
}
