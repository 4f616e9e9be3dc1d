import type { Bar, Listing, Marked, Section, Words } from '../../kernel/document-section.ts';
import { printableLines } from '../../kernel/format.ts';

/** Markup that is safe to send; only `html` creates it. */
export interface Html {
  readonly markup: string;
}

/** A value that a template or a cell of a table shows. */
export type Value = Html | Words | Bar | Listing<Value> | number | null | readonly Value[];

/** Builds markup from a template. Escapes every value except other markup and lists of it; null becomes nothing. */
export function html(parts: TemplateStringsArray, ...values: readonly Value[]): Html {
  return { markup: parts.reduce((text, part, index) => `${text}${markupOf(values[index - 1] ?? null)}${part}`) };
}

function markupOf(value: Value): string {
  if (value === null) return '';
  if (typeof value === 'string' || typeof value === 'number') return escapeHtml(String(value));
  if ('markup' in value) return value.markup;
  if ('words' in value) return markedPart(value).markup;
  if ('fresh' in value) return barPart(value).markup;
  if ('caption' in value) return tablePart(value).markup;
  return value.map(markupOf).join('');
}

function markedPart({ words, as }: Marked): Html {
  if (as === 'product') return html`<a href="/product?id=${words}">${words}</a>`;
  if (as === 'code') return html`<code>${words}</code>`;
  return as === 'typed' ? html`<code class="typed">${words}</code>` : html`<span class="${as}">${words}</span>`;
}

/** Draws the shares as parts of one bar. Any share above 0 is visible. */
function barPart({ fresh, stale = 0, expired = 0, label }: Bar): Html {
  const width = (share: number, least: number) => (share === 0 ? 0 : Math.max(least, Math.floor(10_000 * share) / 100));
  const [late, gone] = [width(stale, 1.5), width(expired, 1.5)];
  const described = label === null ? html`aria-hidden="true"` : html`role="img" aria-label="${label}"`;
  return html`<svg viewBox="0 0 100 4" preserveAspectRatio="none" ${described}><rect class="fresh" width="${width(fresh, 1)}" height="4"/><rect class="stale" x="${100 - late - gone}" width="${late}" height="4"/><rect class="expired" x="${100 - gone}" width="${gone}" height="4"/></svg>`;
}

/**
 * Returns a table with a caption, whose first column names the row. On a narrow screen each row becomes a card whose
 * cells repeat their headings. The roles keep it a table for screen readers.
 */
function tablePart({ caption, headings, rows }: Listing<Value>): Html {
  const kinds = headings.map((_, index) =>
    index > 0 && rows.every((row) => isNumeric(row[index] ?? null)) ? 'number' : 'text',
  );
  const heads = headings.map(
    (heading, index) => html`<th scope="col" role="columnheader" class="${kinds[index] ?? 'text'}">${heading}</th>`,
  );
  const cells = (row: readonly Value[]) =>
    row.map((cell, index) =>
      index === 0
        ? html`<th scope="row" role="rowheader">${cell}</th>`
        : html`<td role="cell" class="${kinds[index] ?? 'text'}" data-heading="${headings[index] ?? ''}"><span>${cell}</span></td>`,
    );
  return html`<table role="table"><caption>${caption}</caption>
<thead role="rowgroup"><tr role="row">${heads}</tr></thead>
<tbody role="rowgroup">${rows.map((row) => html`<tr role="row">${cells(row)}</tr>\n`)}</tbody></table>
`;
}

/** Returns whether a cell is a number, an amount or a time, which are aligned to the right. */
function isNumeric(cell: Value): boolean {
  const { markup } = html`${cell}`;
  return /^(?:in )?[+-]?\d.{0,24}$|^(?:now|none|never|none yet|-|)$/.test(markup.replaceAll(/<[^>]*>/g, ''));
}

/** Returns a section with its lines as paragraphs, and its tables. */
export function sectionPart(section: Section<Value> | null, width: 'wide' | 'half'): Html | null {
  if (section === null) return null;
  const { title, says, tables = [] } = section;
  return html`<section class="${width}"><h2>${title}</h2>
${says.map((each) => html`<p>${sentence(each)}</p>\n`)}${tables}</section>
`;
}

/** Returns a section with one table, or with the words that nothing is listed. */
export function listPart(title: string, listed: Listing<Value> | string): Html | null {
  const nothing = typeof listed === 'string' ? [{ words: listed, as: 'none' as const }] : [];
  return sectionPart({ title, says: nothing, tables: typeof listed === 'string' ? [] : [listed] }, 'wide');
}

/** Returns a line as a sentence of its own: with a capital, unless it is quoted, and a full stop. */
function sentence(words: Words): Html {
  const { markup } = html`${words}`;
  const begun = markup.replace(
    /^((?:<span[^>]*>)?)(\p{Ll})/u,
    (_, tag: string, first: string) => tag + first.toUpperCase(),
  );
  return { markup: /[.!?…]$/.test(begun) ? begun : begun.replace(/(?:<\/span>)?$/, '.$&') };
}

/** A section whose content is folded below its summary until somebody asks for it. */
export function foldedPart(summary: string, unfolded: boolean, inner: Value): Html {
  return html`<section class="wide folded"><details${unfolded ? html` open` : null}><summary><h2>${summary}</h2></summary>
${inner}</details></section>
`;
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
