import { number } from '../../format.ts';
import { type Html, html } from './html.ts';

export interface TableColumn<Row> {
  readonly heading: string;
  /** The kind of its cells; numbers are aligned to the right. */
  readonly kind?: 'number' | 'text';
  readonly cell: (row: Row) => Html | string | number | null;
}

/**
 * Returns a table with a caption, whose first column names the row. On a narrow screen each row becomes a card whose
 * cells repeat their headings. The roles keep it a table for screen readers.
 */
export function tableOf<Row>(caption: string, columns: readonly TableColumn<Row>[], rows: readonly Row[]): Html {
  const heads = columns.map(
    ({ heading, kind }) => html`<th scope="col" role="columnheader" class="${kind ?? 'text'}">${heading}</th>`,
  );
  return html`<table role="table"><caption>${caption}</caption>
<thead role="rowgroup"><tr role="row">${heads}</tr></thead>
<tbody role="rowgroup">${rows.map((row) => line(columns, row))}</tbody></table>
`;
}

function line<Row>(columns: readonly TableColumn<Row>[], row: Row): Html {
  const cells = columns.map(({ heading, kind, cell }, index) =>
    index === 0
      ? html`<th scope="row" role="rowheader">${cell(row)}</th>`
      : html`<td role="cell" class="${kind ?? 'text'}" data-heading="${heading}"><span>${cell(row)}</span></td>`,
  );
  return html`<tr role="row">${cells}</tr>
`;
}

/** Returns a count that stands out unless it is 0. */
export function counted(count: number, kind: 'some' | 'no'): Html {
  return count === 0 ? html`0` : html`<span class="${kind}">${number(count)}</span>`;
}
